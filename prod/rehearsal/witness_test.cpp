// Recordings made by hand: what breaks an invariant in one is found, and what does not is not.
#include "prod/rehearsal/witness.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "engine/wire/subjects.h"
#include "prod/rehearsal/feasible.h"
#include "sim/judge/judgement.h"
#include "sim/rules/invariants.h"

namespace lockstep::prod::rehearsal {
namespace {

namespace wire = engine::wire;

constexpr std::int64_t kBegan = 1'700'000'000'000'000;
constexpr const char* kScheduler = "127.0.0.1:40000";

engine::WallTime at(std::int64_t us) { return engine::WallTime(std::chrono::microseconds(us)); }

sim::Cluster two_schedulers() {
    sim::Cluster cluster;
    cluster.schedulers = 2;
    sim::WorkerGroup group;
    group.id = "w";
    group.count = 2;
    cluster.workers.push_back(group);
    return cluster;
}

class WitnessTest : public ::testing::Test, private sim::Findings {
protected:
    WitnessTest() {
        sim::add_rules(judgement_, settings_, {}, judged_invariants());
        witness.add_observer(judgement_.model(), sim::Model::kWanted);
        witness.add_observer(judgement_.model(), fakes::redis::changes_heard_by<sim::Model>());
        witness.add_observer(judgement_.model().weather(), sim::Weather::kWanted);
    }

    void redis(std::vector<std::string> words, const std::string& client = kScheduler) {
        ++clock_;
        witness.see(MonitorLine{clock_, client, std::move(words)}, at(clock_));
    }
    /// A script that is called and does these commands.
    void script(const std::string& name, const std::vector<std::vector<std::string>>& commands) {
        redis({"EVAL", "-- name: " + name + "\nreturn 1", "0"});
        for (const auto& command : commands) redis(command, "lua");
    }
    void move(const std::string& job, const std::string& from, const std::string& to) {
        std::string index = to;
        std::ranges::transform(index, index.begin(), [](char c) { return static_cast<char>(std::tolower(c)); });
        std::string old = from;
        std::ranges::transform(old, old.begin(), [](char c) { return static_cast<char>(std::tolower(c)); });
        std::vector<std::vector<std::string>> commands{{"HSET", "job:meta:" + job, "state", to},
                                                       {"SET", "job:state:" + job, to},
                                                       {"RPUSH", "job:events:" + job, "1|" + to},
                                                       {"ZADD", "job:index:" + index, "1", job}};
        if (!from.empty()) commands.push_back({"ZREM", "job:index:" + old, job});
        script("commit", commands);
    }
    void submit(const std::string& job) {
        fakes::Event event;
        event.kind = fakes::EventKind::submit;
        event.when = fakes::When::answered;
        event.job = job;
        event.flag = true;
        witness.emit(event);
    }
    std::set<std::string> broken(bool quiet = true) {
        judgement_.model().at_rest(witness.mirror().keyspace(), quiet);
        return found_;
    }

    const sim::Topology topology{two_schedulers()};
    Witness witness{topology,
                    [this](std::string_view address) {
                        return address == kScheduler ? topology.find("scheduler-0") : fakes::NodeId{};
                    },
                    at(kBegan)};

private:
    void violated(sim::Breach breach) override { found_.emplace(breach.invariant); }
    sim::EventNumber present() override { return witness.events(); }
    const sim::Time& told_at() const override { return witness.told_at(); }

    std::int64_t clock_ = kBegan;
    std::set<std::string> found_;
    sim::Judgement judgement_{*this};
    const engine::Tunables tunables_;  // before the rules, which look at them as long as they live
    sim::TunablesInForce settings_{tunables_};
};

using Names = std::set<std::string>;

TEST_F(WitnessTest, ACleanHistoryBreaksNothing) {
    submit("j");
    redis({"SET", "cordum:scheduler:job:j", "token", "NX", "PX", "60000"});
    move("j", "", "PENDING");
    move("j", "PENDING", "SCHEDULED");
    move("j", "SCHEDULED", "DISPATCHED");
    witness.see_execution("j 1700000000000100 w-1");
    move("j", "DISPATCHED", "SUCCEEDED");
    redis({"DEL", "cordum:scheduler:job:j"});
    EXPECT_EQ(broken(), Names{});
}

TEST_F(WitnessTest, AJobThatIsExecutedTwiceIsFound) {
    witness.see_execution("j 1700000000000100 w-0");
    EXPECT_EQ(broken(), Names{});
    witness.see_execution("j 1700000000000200 w-1");
    EXPECT_EQ(broken(), Names{"no_duplicate_dispatch"});
}

TEST_F(WitnessTest, AFinalStateThatChangesIsFound) {
    move("j", "", "PENDING");
    move("j", "PENDING", "FAILED");
    move("j", "FAILED", "RUNNING");
    EXPECT_EQ(broken(false), (Names{"legal_transitions", "one_terminal_result"}));
}

TEST_F(WitnessTest, AnAcknowledgedJobThatNobodyTookUpIsFound) {
    submit("j");
    EXPECT_EQ(broken(), Names{"no_lost_job"});
}

TEST_F(WitnessTest, AJobThatFailedWithoutADeadLetterIsFound) {
    move("j", "", "PENDING");
    move("j", "PENDING", "FAILED");
    EXPECT_EQ(broken(), Names{"dead_letter_complete"});
}

TEST_F(WitnessTest, ATerminatedMessageWithoutADeadLetterIsFound) {
    witness.see(BusMessage{"$JS.ACK.CORDUM_SYS.dur.1.17.20.1700000000000000000.0", "+ACK", ""}, at(kBegan));
    EXPECT_EQ(broken(), Names{});
    witness.see(BusMessage{"$JS.ACK.CORDUM_SYS.dur.1.17.20.1700000000000000000.0", "+TERM", ""}, at(kBegan));
    EXPECT_EQ(broken(), Names{"dead_letter_complete"});
}

TEST_F(WitnessTest, AResultPointerThatIsNotTheWorkersIsFound) {
    cap::JobResult result;
    result.set_job_id("j");
    result.set_status(cap::JOB_STATUS_SUCCEEDED);
    result.set_result_ptr("redis://res:j");
    const std::string bytes = wire::serialise(wire::make_packet(std::move(result), "", "w-0", at(kBegan)));
    witness.see(BusMessage{std::string(wire::kSubjectResult), bytes, ""}, at(kBegan));
    move("j", "", "RUNNING");
    redis({"HSET", "job:meta:j", "result_ptr", "redis://res:other"});
    move("j", "RUNNING", "SUCCEEDED");
    EXPECT_EQ(broken(), Names{"result_kept"});
}

TEST_F(WitnessTest, AnIndexThatDisagreesIsFound) {
    move("j", "", "PENDING");
    redis({"ZREM", "job:index:pending", "j"});
    EXPECT_EQ(broken(), Names{"indexes_agree"});
}

TEST_F(WitnessTest, ALockThatNobodyReleasesIsFound) {
    redis({"SET", "cordum:scheduler:job:j", "token"});
    EXPECT_EQ(broken(), Names{"nothing_leaks"});
}

TEST_F(WitnessTest, AMirrorThatDiffersFromTheServerIsNoticed) {
    redis({"SET", "a", "1"});
    redis({"SET", "soon", "1", "PX", "100"});
    redis({"HSET", "h", "f", "1"});
    const auto now = at(kBegan + 1000);
    Contents real;
    real.emplace_back("a", fakes::redis::Keyspace::Entry{std::string("1"), fakes::redis::kNever});
    real.emplace_back("h", fakes::redis::Keyspace::Entry{fakes::redis::Hash{{"f", "1"}}, fakes::redis::kNever});
    // What is about to expire may be gone at one side.
    EXPECT_EQ(witness.mirror().differences(real, now), std::vector<std::string>{});

    std::get<fakes::redis::Hash>(real[1].second.value)["f"] = "2";
    real.emplace_back("x", fakes::redis::Keyspace::Entry{std::string("1"), fakes::redis::kNever});
    real[0].second.expires_at = kBegan / 1000 + 60'000;
    EXPECT_EQ(witness.mirror().differences(real, now),
              (std::vector<std::string>{"a expires at one side only", "h holds something else",
                                        "x is missing in the mirror"}));
    real.clear();
    EXPECT_EQ(witness.mirror().differences(real, now),
              (std::vector<std::string>{"a is in the mirror only", "h is in the mirror only"}));
}

}  // namespace
}  // namespace lockstep::prod::rehearsal
