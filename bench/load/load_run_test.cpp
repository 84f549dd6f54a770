// Short runs of lockstep-load on real servers: what it counts makes sense. How fast anything was is nobody's business here.
#include <gtest/gtest.h>
#include <signal.h>

#include <cerrno>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bench/load/redis_reader.h"
#include "fakes/testing/server_lines.h"
#include "fakes/testing/server_process.h"
#include "prod/integration/program.h"

namespace lockstep::bench {
namespace {

using nlohmann::json;
using prod::testing::Program;

constexpr int kJobs = 150;

class LoadRun : public ::testing::Test {
protected:
    struct Ended {
        int exit_code = -1;
        std::string text;
    };

    Ended run(std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), LOCKSTEP_LOAD_PROGRAM);
        Program program(std::move(arguments), {}, folder_.path() / std::to_string(++runs_));
        const auto code = program.wait(std::chrono::minutes(5));
        return {code.value_or(-1), program.output()};
    }

    /// The document of a run that measured something; a null value after a failure.
    json measured(std::vector<std::string> arguments) {
        const auto file = folder_.path() / "figures.json";
        arguments.insert(arguments.end(), {"--json", file.string()});
        const Ended ended = run(std::move(arguments));
        EXPECT_EQ(ended.exit_code, 0) << ended.text;
        std::ifstream in(file);
        return json::parse(in, nullptr, false);
    }

    void need_servers() {
        for (const char* server : {"redis-server", "nats-server"})
            if (!fakes::testing::find_program(server)) GTEST_SKIP() << server << " is not installed";
    }

    [[nodiscard]] std::filesystem::path folder() const { return folder_.path(); }

private:
    fakes::testing::TemporaryFolder folder_;
    int runs_ = 0;
};

double sum(const json& numbers) {
    double all = 0;
    for (const json& number : numbers) all += number.get<double>();
    return all;
}

void expect_sensible(const json& loop) {
    EXPECT_EQ(loop["jobs"], kJobs);
    EXPECT_EQ(loop["succeeded"], kJobs);
    EXPECT_GT(loop["jobs_per_second"], 0);
    const json& redis = loop["redis_per_job"];
    // Taken up, decided, sent, and its end recorded: no job does with one script, none with a hundred.
    EXPECT_GT(redis["evalsha"], 1);
    EXPECT_LT(redis["evalsha"], 100);
    EXPECT_EQ(redis["command"]["evalsha"], redis["evalsha"]);
    EXPECT_GT(redis["commands"], redis["evalsha"]);
    EXPECT_GT(redis["reads"], 0);
    EXPECT_GT(redis["bytes_in"], 500);
    EXPECT_GT(redis["bytes_out"], 100);
    EXPECT_GT(redis["script_us"], 0);
    for (const char* kind : {"scheduler", "redis-server", "nats-server", "lockstep-kernel", "workers", "submitter"})
        EXPECT_TRUE(loop["cpu_us_per_job"].contains(kind)) << kind;
    EXPECT_GT(sum(loop["cpu_us_per_job"]), 0);
    EXPECT_GT(loop["cpu_us_per_job"]["submitter"], 0);
    EXPECT_GT(loop["memory"]["peak_rss_of_scheduler_mib"], 1);
}

TEST_F(LoadRun, CountsNothingThatItAsksItself) {
    need_servers();
    if (IsSkipped()) return;
    const fakes::testing::ServerProcess server(
        [](int port, const std::filesystem::path& folder) { return fakes::testing::redis_server_line(port, folder); });
    RedisReader reader(server.port());
    const RedisCounts before = reader.counts();
    for (int i = 0; i < 100; ++i) EXPECT_EQ(reader.ended(), 0);
    EXPECT_EQ(reader.histories("none", 1000).size(), 1000);
    EXPECT_EQ(reader.text_at("none"), "");
    const RedisCounts after = reader.counts();
    for (const auto& [command, calls] : after.calls)
        EXPECT_EQ(calls, before.calls.contains(command) ? before.calls.at(command) : 0) << command;
    EXPECT_EQ(after.bytes_in, before.bytes_in);
    EXPECT_EQ(after.bytes_out, before.bytes_out);
}

TEST_F(LoadRun, TellsWhatJobsCostInBothLoops) {
    need_servers();
    if (IsSkipped()) return;
    const json document = measured({std::to_string(kJobs), "--rate", "half"});
    ASSERT_TRUE(document.is_object());
    ASSERT_EQ(document["variants"].size(), 1);
    ASSERT_EQ(document["variants"][0]["rounds"].size(), 1);
    EXPECT_FALSE(document.contains("ratios"));
    const json& round = document["variants"][0]["rounds"][0];
    const json& closed = round["closed_loop"];
    expect_sensible(closed);
    EXPECT_GT(closed["bound"]["jobs_per_second"], 0);
    EXPECT_GT(closed["bound"]["reached"], 0);
    const json& open = round["open_loop"];
    expect_sensible(open);
    EXPECT_DOUBLE_EQ(open["planned_per_second"].get<double>(), closed["jobs_per_second"].get<double>() / 2);
    for (const char* latency : {"planned_to_dispatched_ms", "planned_to_submitted_ms"}) {
        const json& quantiles = open[latency];
        EXPECT_GE(quantiles["p50"], 0) << latency;
        EXPECT_LE(quantiles["p50"], quantiles["p99"]) << latency;
        EXPECT_LE(quantiles["p99"], quantiles["max"]) << latency;
    }
    EXPECT_GT(open["planned_to_dispatched_ms"]["p50"], open["planned_to_submitted_ms"]["p50"]);
}

TEST_F(LoadRun, ABurstOnFewSlotsIsRelatedToBusyWorkers) {
    need_servers();
    if (IsSkipped()) return;
    const json document = measured({"40", "--slots", "8", "--service-time", "100ms", "--replicas", "2"});
    ASSERT_TRUE(document.is_object());
    const json& closed = document["variants"][0]["rounds"][0]["closed_loop"];
    EXPECT_EQ(closed["succeeded"], 40);
    EXPECT_DOUBLE_EQ(closed["ideal_seconds"].get<double>(), 0.5);
    EXPECT_GE(closed["times_the_ideal"], 1) << "no worker takes more at once than it was given slots";
}

TEST_F(LoadRun, ComparesInTurnWaitingForAReplicaOfRedis) {
    need_servers();
    if (IsSkipped()) return;
    const json document = measured({std::to_string(kJobs), "--compare", "--rounds", "2", "--redis-replicas", "1"});
    ASSERT_TRUE(document.is_object());
    ASSERT_EQ(document["variants"].size(), 2);
    for (const json& variant : document["variants"]) {
        ASSERT_EQ(variant["rounds"].size(), 2);
        const bool waits = variant["name"] == "B";
        EXPECT_EQ(variant["environment"]["LOCKSTEP_REDIS_REPLICAS"], waits ? "1" : "0");
        for (const json& round : variant["rounds"]) {
            expect_sensible(round["closed_loop"]);
            EXPECT_FALSE(round.contains("open_loop"));
            const json& redis = round["closed_loop"]["redis_per_job"];
            EXPECT_EQ(redis["wait"] > 0, waits);
            EXPECT_GT(redis["replication_bytes"], 0);
        }
    }
    const auto rate = [&](int variant) {
        return document["variants"][variant]["medians"]["closed_loop"]["jobs_per_second"].get<double>();
    };
    EXPECT_DOUBLE_EQ(document["ratios"]["closed_loop"]["jobs_per_second"].get<double>(), rate(1) / rate(0));
}

TEST_F(LoadRun, TakesAnotherSchedulerAndLeavesNothingOfIt) {
    need_servers();
    if (IsSkipped()) return;
    // Whatever a shell has started is its own, and as such it counts and ends.
    const std::string pid_file = folder() / "pid";
    const std::string command = std::string(LOCKSTEP_PROGRAM_FOLDER) + "/lockstepd & echo $! > " + pid_file + "; wait";
    const json document =
        measured({std::to_string(kJobs), "--rate", "1000", "--compare", "--rounds", "1", "--b-scheduler", command});
    ASSERT_TRUE(document.is_object());
    const json& b = document["variants"][1];
    EXPECT_EQ(b["scheduler"], command);
    expect_sensible(b["rounds"][0]["open_loop"]);
    EXPECT_EQ(b["rounds"][0]["open_loop"]["planned_per_second"], 1000);
    EXPECT_FALSE(b["rounds"][0].contains("closed_loop"));
    EXPECT_GT(b["rounds"][0]["open_loop"]["cpu_us_per_job"]["scheduler"], 0);
    pid_t pid = 0;
    std::ifstream(pid_file) >> pid;
    ASSERT_GT(pid, 0);
    std::ifstream status("/proc/" + std::to_string(pid) + "/stat");
    std::string word, name, state;
    status >> word >> name >> state;
    EXPECT_TRUE(name != "(lockstepd)" || state == "Z") << name << " " << state;
}

TEST_F(LoadRun, ASchedulerThatDoesNotRunIsAFailureWithItsOwnWords) {
    need_servers();
    if (IsSkipped()) return;
    const Ended ended =
        run({"10", "--ready-text", "up", "--scheduler", "echo cannot find my configuration >&2; exit 3"});
    EXPECT_EQ(ended.exit_code, 1) << ended.text;
    EXPECT_NE(ended.text.find("A: the scheduler ended by itself"), std::string::npos) << ended.text;
    EXPECT_NE(ended.text.find("cannot find my configuration"), std::string::npos) << ended.text;
}

TEST_F(LoadRun, AnInterruptionIs130) {
    need_servers();
    if (IsSkipped()) return;
    Program program({LOCKSTEP_LOAD_PROGRAM, "1000000"}, {}, folder() / "interrupted");
    ASSERT_TRUE(program.says("round 1 of 1, A"));
    program.signal(SIGINT);
    EXPECT_EQ(program.wait(std::chrono::minutes(2)), 130) << program.output();
}

TEST_F(LoadRun, MistakesNameTheThingAndTheWayOut) {
    const std::vector<std::pair<std::vector<std::string>, std::string>> mistakes{
        {{"0"}, "JOBS"},
        {{"--rate", "fast"}, "--rate: expected jobs a second (0.01 to 1000000), or half"},
        {{"--rate", "0"}, "--rate: expected jobs a second"},
        {{"--slots", "1"}, "--slots"},
        {{"--service-time", "soon"}, "--service-time: expected"},
        {{"--rounds", "0"}, "--rounds"},
        {{"--env", "X"}, "--env: expected NAME=VALUE, got \"X\""},
        {{"--b-env", "X=1"}, "--b-env: there is no second variant; add --compare"},
        {{"--compare"}, "--compare: the variants are the same; say what is different about B"},
        {{"--compare", "--b-programs", "/nowhere"}, "--b-programs: there is no program lockstepd in /nowhere"},
        {{"--ready-text", "up"}, "--ready-text: it is for --scheduler"},
        {{"--json", "/nowhere/at/all.json"}, "--json: nothing can be written into /nowhere/at"},
        {{"--json", "/tmp"}, "--json: /tmp is a folder"},
        {{"5", "--jsn"}, "--jsn"},
    };
    for (const auto& [arguments, expected] : mistakes) {
        const Ended ended = run(arguments);
        EXPECT_EQ(ended.exit_code, 2) << expected << "\n" << ended.text;
        EXPECT_NE(ended.text.find(expected), std::string::npos) << ended.text;
    }
}

TEST_F(LoadRun, HelpShowsExamplesAndExitCodes) {
    const Ended ended = run({"--help"});
    EXPECT_EQ(ended.exit_code, 0);
    EXPECT_NE(ended.text.find("--compare --redis-replicas 1"), std::string::npos) << ended.text;
    EXPECT_NE(ended.text.find("130 interrupted"), std::string::npos) << ended.text;
}

}  // namespace
}  // namespace lockstep::bench
