// Workflows on real servers, as their page has them: runs that outlive the replicas that began them, and what stands in the way of
// a workflow engine at its start.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <fstream>
#include <regex>
#include <sstream>

#include "engine/runs/run_document.h"
#include "engine/wire/rfc3339.h"
#include "prod/integration/deployment_fixture.h"

namespace lockstep::prod::testing {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

/// Jobs of steps that are called `bad` fail for good.
constexpr const char* kScript = R"(case "$CORDUM_JOB_ID" in *:bad@*) exit 65;; esac; cat)";

/// The lines between the first fence of that language in that section of workflow.md and its end.
std::string block_of(const std::string& section, const std::string& fence) {
    std::ifstream in(LOCKSTEP_WORKFLOW_PAGE);
    std::string text;
    bool in_section = false;
    bool in_block = false;
    for (std::string line; std::getline(in, line);) {
        if (line.starts_with("## ")) in_section = line == "## " + section;
        if (in_block && line == "```") return text;
        if (in_block) text += line + "\n";
        if (in_section && line == "```" + fence) in_block = true;
    }
    return {};
}

class WorkflowTest : public DeploymentFixture {
protected:
    void SetUp() override {
        DeploymentFixture::SetUp();
        if (!world) return;
        world->environment.merge(Program::Environment{{"LOCKSTEP_ROLE", "scheduler,workflow"},
                                                      {"WORKFLOW_ENGINE_SCAN_INTERVAL", "500ms"},
                                                      {"LOCKSTEP_DELAY_POLLER_INTERVAL", "500ms"},
                                                      {"LOCKSTEP_DELAY_PERSIST_MIN", "1s"},
                                                      {"LOCKSTEP_RUN_LOCK_TTL", "3s"}});
    }

    /// Stores a definition of these steps, and starts a run of it called `<workflow>-1`.
    void start(const std::string& workflow, const json& steps) {
        const auto file = world->folder() / (workflow + ".json");
        std::ofstream(file) << json{{"id", workflow}, {"steps", steps}}.dump(2);
        const auto put = world->ctl({"workflow", "put", file.string()});
        ASSERT_EQ(put.exit_code, 0) << put.text;
        const auto started = world->ctl({"workflow", "start", workflow, "--run", workflow + "-1"});
        ASSERT_EQ(started.exit_code, 0) << started.text;
    }
    json run(const std::string& id) { return world->ctl_json({"workflow", "status", id}); }
    std::string status(const std::string& id) { return run(id).value("status", "unknown"); }
    std::string step_status(const std::string& id, const std::string& step) {
        const json document = run(id);
        return document.contains("steps") && document["steps"].contains(step)
                   ? document["steps"][step].value("status", "unknown")
                   : "unknown";
    }
    bool step_becomes(const std::string& id, const std::string& step, const std::string& wanted,
                      std::chrono::seconds limit = 20s) {
        return Deployment::until([&] { return step_status(id, step) == wanted; }, limit);
    }
    Deployment::Told await_end(const std::string& id) {
        return world->ctl({"workflow", "status", id, "--wait", "--wait-for", "40s"});
    }
    /// What went from `from` to `to` of two steps, by the run's document.
    static engine::Duration between(const json& document, const std::string& from, const std::string& from_member,
                                    const std::string& to, const std::string& to_member) {
        const auto at = [&](const std::string& step, const std::string& member) {
            return engine::wire::parse_rfc3339(document["steps"][step].value(member, "")).value_or(engine::WallTime{});
        };
        return at(to, to_member) - at(from, from_member);
    }
};

const json kTrip{{"book", {{"topic", "job.default"}}},
                 {"wait", {{"type", "delay"}, {"delay_sec", 3}, {"depends_on", {"book"}}}},
                 {"agree", {{"type", "approval"}, {"depends_on", {"wait"}}}},
                 {"pay", {{"topic", "job.default"}, {"depends_on", {"agree"}}}}};

// H-11
TEST_F(WorkflowTest, ARunOnTwoReplicasWaitsForItsTimeAndForAPersonAndRunsEachJobOnce) {
    for (int i = 0; i < 2; ++i) world->add_scheduler();
    world->add_worker("w1");
    start("trip", kTrip);
    ASSERT_TRUE(step_becomes("trip-1", "agree", "waiting")) << world->ctl({"workflow", "status", "trip-1"}).text;
    EXPECT_EQ(status("trip-1"), "waiting");
    EXPECT_EQ(world->executions(), (std::map<std::string, int>{{"trip-1:book@1", 1}}));
    const auto approved = world->ctl({"workflow", "approve", "trip-1", "agree", "--by", "ann"});
    EXPECT_EQ(approved.exit_code, 0);
    EXPECT_EQ(approved.text, "trip-1 agree approved: succeeded\n");
    const auto ended = await_end("trip-1");
    EXPECT_EQ(ended.exit_code, 0) << ended.text;
    EXPECT_NE(ended.text.find("trip-1  trip  succeeded  took "), std::string::npos) << ended.text;
    EXPECT_EQ(world->executions(), (std::map<std::string, int>{{"trip-1:book@1", 1}, {"trip-1:pay@1", 1}}));
    EXPECT_GE(between(run("trip-1"), "wait", "started_at", "wait", "completed_at"), 3s) << run("trip-1").dump();
    EXPECT_EQ(world->ctl_json({"workflow", "list"})["succeeded"], 1);
    EXPECT_EQ(world->ctl_json({"workflow", "list", "--status", "succeeded"})[0]["run_id"], "trip-1");
}

TEST_F(WorkflowTest, AStepWhoseWorkerIsStoppedIsTriedAgainByItsRetry) {
    world->add_scheduler();
    Program& stopped = world->add_worker("w1", {"--exec", "sleep 60", "--drain", "1s"});
    start("trip", {{"book", {{"topic", "job.default"}, {"retry", {{"max_retries", 2}, {"initial_backoff_sec", 1}}}}}});
    ASSERT_TRUE(Deployment::until([&] { return world->executions().contains("trip-1:book@1"); }, 20s));
    stopped.signal(SIGTERM);
    EXPECT_EQ(stopped.wait(20s), 0);
    world->add_worker("w2");
    const auto ended = await_end("trip-1");
    EXPECT_EQ(ended.exit_code, 0) << ended.text;
    EXPECT_EQ(world->executions()["trip-1:book@2"], 1);
}

TEST_F(WorkflowTest, AStartThatMeetsAFailedRunOfItsKeySaysSo) {
    world->add_scheduler();
    world->add_worker("w1", {"--exec", kScript});
    const auto file = world->folder() / "trip.json";
    std::ofstream(file) << R"({"id": "trip", "steps": {"bad": {"topic": "job.default"}}})";
    ASSERT_EQ(world->ctl({"workflow", "put", file.string()}).exit_code, 0);
    const std::vector<std::string> start{"workflow", "start", "trip", "--run", "trip-1", "--idempotency-key", "k"};
    ASSERT_EQ(world->ctl(start).exit_code, 0);
    ASSERT_EQ(await_end("trip-1").exit_code, 4);
    const auto again = world->ctl(start);
    EXPECT_EQ(again.exit_code, 0);
    EXPECT_NE(again.text.find("trip-1\n"), std::string::npos) << again.text;
    EXPECT_NE(
        again.text.find("run trip-1 was started earlier, failed: it does not start again; `workflow retry trip-1`"),
        std::string::npos)
        << again.text;
    EXPECT_EQ(world->ctl_json(start).value("status", ""), "failed");
    // D-34
    world->redis_set("wf:run:idempotency:other", "trip-1");
    const auto of_another = world->ctl({"workflow", "start", "trip", "--idempotency-key", "other"});
    EXPECT_EQ(of_another.exit_code, 2);
    EXPECT_NE(of_another.text.find("belongs to run trip-1 of another key"), std::string::npos) << of_another.text;
    const auto by_id = world->ctl({"workflow", "start", "trip", "--run", "trip-1"});
    EXPECT_EQ(by_id.exit_code, 2);
    EXPECT_NE(by_id.text.find("there is a run trip-1 already (started earlier, failed"), std::string::npos)
        << by_id.text;
    const auto twice = world->ctl({"workflow", "start", "trip", "--input", R"({"a": {"b": 1, "b": 2}})"});
    EXPECT_EQ(twice.exit_code, 2);
    EXPECT_NE(twice.text.find("--input: /a/b stands twice, at line 1, column 8 and again at line 1, column 16"),
              std::string::npos)
        << twice.text;
}

// H-22, H-43
TEST_F(WorkflowTest, ADelayOutlivesTheReplicaThatBeganIt) {
    auto& victim = world->add_scheduler();
    world->add_worker("w1");
    start("trip", kTrip);
    ASSERT_TRUE(step_becomes("trip-1", "wait", "running"));
    victim.kill();
    world->add_scheduler();
    ASSERT_TRUE(step_becomes("trip-1", "agree", "waiting", 40s)) << world->ctl({"workflow", "status", "trip-1"}).text;
    EXPECT_GE(between(run("trip-1"), "wait", "started_at", "wait", "completed_at"), 3s) << run("trip-1").dump();
    world->ctl({"workflow", "approve", "trip-1", "agree"});
    const auto ended = await_end("trip-1");
    EXPECT_EQ(ended.exit_code, 0) << ended.text;
    EXPECT_EQ(world->executions(), (std::map<std::string, int>{{"trip-1:book@1", 1}, {"trip-1:pay@1", 1}}));
}

TEST_F(WorkflowTest, AnotherReplicaTakesOverTheDelaysOfOneThatIsKilled) {
    std::vector<Program*> replicas{&world->add_scheduler(), &world->add_scheduler()};
    world->add_worker("w1");
    for (const char* workflow : {"a", "b", "c", "d"}) start(workflow, kTrip);
    for (const char* id : {"a-1", "b-1", "c-1", "d-1"}) ASSERT_TRUE(step_becomes(id, "wait", "running")) << id;
    replicas.front()->kill();
    for (const char* id : {"a-1", "b-1", "c-1", "d-1"}) {
        EXPECT_TRUE(step_becomes(id, "agree", "waiting", 40s)) << world->ctl({"workflow", "status", id}).text;
        EXPECT_EQ(world->ctl({"workflow", "approve", id, "agree"}).exit_code, 0);
    }
    for (const char* id : {"a-1", "b-1", "c-1", "d-1"}) EXPECT_EQ(await_end(id).exit_code, 0) << id;
    EXPECT_EQ(world->executions().size(), 8U);
    for (const auto& [job, times] : world->executions()) EXPECT_EQ(times, 1) << job;
}

// H-26
TEST_F(WorkflowTest, AStepThatIsRunningAndWasNeverSubmittedIsSubmittedByWhoeverComesNext) {
    auto& victim = world->add_scheduler();
    world->nats().stop();
    start("trip", kTrip);  // nobody can be told, and nothing be submitted
    ASSERT_TRUE(step_becomes("trip-1", "book", "running", 40s)) << victim.output();
    EXPECT_EQ(world->redis_keys("lockstep:wf:outbox:trip-1"), 1) << "its job is still to be sent";
    victim.kill();
    world->nats().start();
    world->add_scheduler();
    // Not before: a job that is sent to a worker whose connection is still away is lost with its dispatch.
    world->add_worker("w1");
    ASSERT_TRUE(step_becomes("trip-1", "agree", "waiting", 60s)) << world->ctl({"workflow", "status", "trip-1"}).text;
    EXPECT_EQ(world->executions(), (std::map<std::string, int>{{"trip-1:book@1", 1}}));
    EXPECT_EQ(world->redis_keys("lockstep:wf:outbox:trip-1"), 0);
    world->ctl({"workflow", "approve", "trip-1", "agree"});
    EXPECT_EQ(await_end("trip-1").exit_code, 0);
    EXPECT_EQ(world->executions(), (std::map<std::string, int>{{"trip-1:book@1", 1}, {"trip-1:pay@1", 1}}));
}

TEST_F(WorkflowTest, AnEngineBesideASchedulerOfItsOwnProcessNeedsNeitherKernelNorFiles) {
    world->add_scheduler({{"LOCKSTEP_ROLE", "scheduler"}});
    auto& engine = world->add_scheduler({{"LOCKSTEP_ROLE", "workflow"},
                                         {"SAFETY_KERNEL_ADDR", "nowhere:1"},
                                         {"POOL_CONFIG_PATH", "nowhere"},
                                         {"TIMEOUT_CONFIG_PATH", "nowhere"}});
    world->add_worker("w1");
    EXPECT_EQ(world->redis_keys("cordum:instance:workflow-engine:*"), 1);
    const std::string said = engine.output();
    const std::string words = "workflow listener port=";
    ASSERT_NE(said.find(words), std::string::npos) << said;
    const int port = std::stoi(said.substr(said.find(words) + words.size()));
    const std::string health = Deployment::http_get(port, "/health");
    EXPECT_TRUE(health.starts_with("HTTP/1.1 200")) << health;
    EXPECT_TRUE(health.ends_with("\r\n\r\nok")) << health;
    start("one", {{"step", {{"topic", "job.default"}}}});
    EXPECT_EQ(await_end("one-1").exit_code, 0);
    engine.signal(SIGTERM);
    EXPECT_EQ(engine.wait(), 0) << engine.output();
    EXPECT_EQ(world->redis_keys("cordum:instance:workflow-engine:*"), 0);
}

TEST_F(WorkflowTest, AnotherImplementationsEngineIsWaitedForAndThenRefusedUnlessTold) {
    world->redis_set("cordum:instance:workflow-engine:theirs", R"({"id":"theirs","service":"workflow-engine"})");
    Program refused = world->launch("lockstepd", {"--role", "workflow"});
    EXPECT_TRUE(refused.says("waiting for it to go"));
    EXPECT_EQ(refused.wait(40s), 2) << refused.output();
    EXPECT_NE(refused.output().find("LOCKSTEP_WORKFLOW_BESIDE_OTHERS=true"), std::string::npos) << refused.output();
    world->add_scheduler({{"LOCKSTEP_ROLE", "workflow"}, {"LOCKSTEP_WORKFLOW_BESIDE_OTHERS", "true"}});

    Program patient = world->launch("lockstepd", {"--role", "workflow"});
    EXPECT_TRUE(patient.says("waiting for it to go"));
    world->redis_type({"DEL cordum:instance:workflow-engine:theirs"});
    EXPECT_TRUE(patient.says(" ready instance=")) << patient.output();
}

TEST_F(WorkflowTest, MistakesAreSaidBeforeAnythingIsStored) {
    const auto file = world->folder() / "trip.json";
    std::ofstream(file)
        << "{\n  \"id\": \"trip\",\n  \"steps\": {\"pay\": {\"depends_on\": [\"bok\"]}, \"book\": {}}\n}";
    for (const char* command : {"check", "put"}) {
        const auto told = world->ctl({"workflow", command, file.string()});
        EXPECT_EQ(told.exit_code, 2);
        EXPECT_NE(told.text.find(
                      R"(trip.json:3:36: at /steps/pay/depends_on/0: there is no step "bok"; did you mean "book"?)"),
                  std::string::npos)
            << told.text;
    }
    EXPECT_EQ(world->redis_keys("wf:*"), 0);
    const auto nowhere = world->ctl({"workflow", "start", "trip"});
    EXPECT_EQ(nowhere.exit_code, 3);
    EXPECT_NE(nowhere.text.find("there is no workflow trip"), std::string::npos) << nowhere.text;
    EXPECT_EQ(world->ctl({"workflow", "status", "nobody"}).exit_code, 3);
    EXPECT_EQ(world->ctl({"workflow", "cancel", "nobody"}).exit_code, 3);
    EXPECT_EQ(world->ctl({"workflow", "start", "trip", "--run", "a:b"}).exit_code, 2);
    EXPECT_EQ(world->ctl({"workflow", "start", "trip", "--input", "[1]"}).exit_code, 2);
    EXPECT_EQ(world->ctl({"workflow", "list", "--status", "runing"}).exit_code, 2);
}

TEST_F(WorkflowTest, RunsAreStartedOnceForAKeyCancelledAndRunAgain) {
    world->add_scheduler();
    world->add_worker("w1");
    start("trip", kTrip);
    const auto first =
        world->ctl_json({"workflow", "start", "trip", "--idempotency-key", "k", "--input", R"({"seat":7})"});
    const auto second = world->ctl_json({"workflow", "start", "trip", "--idempotency-key", "k"});
    EXPECT_EQ(first["created"], true);
    EXPECT_EQ(second["created"], false);
    ASSERT_EQ(first["run_id"], second["run_id"]);
    EXPECT_EQ(world->ctl({"workflow", "start", "trip", "--run", "trip-1"}).exit_code, 2) << "it is there";
    const std::string id = first["run_id"];
    EXPECT_EQ(world->ctl({"workflow", "approve", id, "agre"}).exit_code, 3);
    EXPECT_TRUE(step_becomes(id, "agree", "pending"));
    const auto early = world->ctl({"workflow", "approve", id, "agree"});
    EXPECT_EQ(early.exit_code, 2) << early.text;
    const auto cancelled = world->ctl({"workflow", "cancel", id, "--reason", "rain"});
    EXPECT_EQ(cancelled.exit_code, 0);
    EXPECT_NE(cancelled.text.find(id + " cancelled (was "), std::string::npos) << cancelled.text;
    EXPECT_NE(world->ctl({"workflow", "cancel", id}).text.find("had ended already: cancelled"), std::string::npos);
    EXPECT_EQ(await_end(id).exit_code, 4);
    const auto again = world->ctl_json({"workflow", "rerun", id, "--run", "again"});
    EXPECT_EQ(again["run_id"], "again");
    EXPECT_EQ(run("again")["rerun_of"], id);
    EXPECT_EQ(run("again")["input"]["seat"], 7);
    ASSERT_TRUE(step_becomes("again", "agree", "waiting"));
    const auto rejected = world->ctl({"workflow", "approve", "again", "agree", "--reject", "--by", "ann"});
    EXPECT_EQ(rejected.text, "again agree rejected: failed\n");
    EXPECT_EQ(await_end("again").exit_code, 4);
}

TEST_F(WorkflowTest, ARunThatHasFailedGoesOnFromThereOnceItIsTriedAgain) {
    world->add_scheduler();
    const auto mended = world->folder() / "mended";
    world->add_worker(
        "w1", {"--exec", fmt::format(R"(case "$CORDUM_JOB_ID" in *:pay@*) test -e {};; esac)", mended.string())});
    start("trip",
          {{"book", {{"topic", "job.default"}}}, {"pay", {{"topic", "job.default"}, {"depends_on", {"book"}}}}});
    ASSERT_EQ(await_end("trip-1").exit_code, 4);
    std::ofstream(mended) << "now";
    const auto retried = world->ctl({"workflow", "retry", "trip-1", "--by", "ann"});
    EXPECT_EQ(retried.exit_code, 0);
    EXPECT_TRUE(retried.text.ends_with(" (was failed)\n")) << retried.text;
    EXPECT_EQ(await_end("trip-1").exit_code, 0);
    const std::map<std::string, int> ran{{"trip-1:book@1", 1}, {"trip-1:pay@1", 1}, {"trip-1:pay@2", 1}};
    EXPECT_EQ(world->executions(), ran);
    const auto again = world->ctl({"workflow", "retry", "trip-1"});
    EXPECT_EQ(again.exit_code, 2);
    EXPECT_NE(again.text.find("run trip-1 cannot be tried again: it has succeeded"), std::string::npos) << again.text;
    EXPECT_EQ(world->ctl({"workflow", "retry", "nobody"}).exit_code, 3);
}

// SAGA-06
TEST_F(WorkflowTest, WhatAFatalStepComesAfterIsUndone) {
    world->add_scheduler();
    world->add_worker("w1", {"--exec", kScript});
    start("trip", {{"book", {{"topic", "job.default"}, {"compensation", {{"topic", "job.default"}}}}},
                   {"bad", {{"topic", "job.default"}, {"depends_on", {"book"}}, {"retry", {{"max_retries", 3}}}}}});
    EXPECT_EQ(await_end("trip-1").exit_code, 4);
    EXPECT_EQ(status("trip-1"), "failed");
    const auto undone = [&] {
        const auto ran = world->executions();
        return std::ranges::count_if(ran, [](const auto& one) { return one.first.starts_with("comp-"); }) == 1;
    };
    EXPECT_TRUE(Deployment::until(undone, 20s)) << json(world->executions()).dump();
    EXPECT_EQ(world->executions().size(), 3U) << json(world->executions()).dump();
    const auto retried = world->ctl({"workflow", "retry", "trip-1"});
    EXPECT_EQ(retried.exit_code, 2);
    EXPECT_NE(retried.text.find("its step bad has failed for good"), std::string::npos) << retried.text;
}

/// With what differs from run to run left out: times, and how long things took.
std::string masked(const std::string& line) {
    static const std::regex kVaries(R"([0-9]+(\.[0-9]+s|m[0-9]+s)|[0-9-]+T[0-9:.]+Z)");
    return std::regex_replace(line, kVaries, "~");
}

TEST_F(WorkflowTest, TheExampleOfThePageDoesWhatIsPrintedThere) {
    const std::string definition = block_of("A first workflow", "json");
    const std::string session = block_of("A first workflow", "console");
    ASSERT_FALSE(definition.empty());
    std::ofstream(world->folder() / "trip.json") << definition;
    world->add_scheduler();
    world->add_worker("w1", {"--service-time", "100ms"});
    const auto output = world->folder() / "shell.log";
    std::istringstream lines(session);
    std::string heard;  // of the last command, what has not been printed in the page yet
    int commands = 0;
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("$ ")) {
            const std::string shell = fmt::format("cd {} && PATH={}:$PATH && {}", world->folder().string(),
                                                  LOCKSTEP_PROGRAM_FOLDER, line.substr(2));
            Program command({"/bin/sh", "-c", shell}, world->environment, output);
            EXPECT_EQ(command.wait(60s), 0) << line << "\n" << command.output();
            heard = masked(command.output());
            ++commands;
        } else if (line != "  ...") {
            const std::size_t at = heard.find(masked(line) + "\n");
            EXPECT_NE(at, std::string::npos) << line << "\nis not what comes:\n" << heard;
            if (at != std::string::npos) heard.erase(0, at + masked(line).size() + 1);
        }
    }
    EXPECT_EQ(commands, 5);
    for (const char* job : {"trip-1:book@1", "trip-1:pay@1"}) EXPECT_EQ(world->executions()[job], 1) << job;
}

}  // namespace
}  // namespace lockstep::prod::testing
