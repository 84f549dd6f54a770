// Recordings made by hand: what breaks an invariant in one is found, and what does not is not.
#include "prod/rehearsal/witness.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "engine/wire/subjects.h"
#include "sim/judge/judgement.h"
#include "sim/model/job_keys.h"
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
        sim::add_rules(judgement_, settings_);
        witness.add_observer(judgement_.model(), sim::Model::kWanted);
        witness.add_observer(judgement_.model(), fakes::redis::changes_heard_by<sim::Model>());
        witness.add_observer(judgement_.model().weather(), sim::Weather::kWanted);
    }

    void redis(std::vector<std::string> words, const std::string& client = kScheduler) {
        ++clock_;
        witness.see(MonitorLine{clock_, client, std::move(words)}, at(clock_));
    }
    void pass(engine::Duration time) { clock_ += time / std::chrono::microseconds{1}; }
    /// A script that is called under the lock of the job and does these commands.
    void script(const std::string& job, const std::vector<std::vector<std::string>>& commands) {
        redis({"EVAL", "-- name: commit\nreturn 1", "1", "job:meta:" + job, "token of " + job});
        for (const auto& command : commands) redis(command, "lua");
    }
    /// A job that is submitted and whose lock a scheduler has taken.
    void take_up(const std::string& job) {
        publish(std::string(wire::kSubjectSubmit), request(job), "");
        redis({"SET", "cordum:scheduler:job:" + job, "token of " + job, "NX", "PX", millis(tunables_.job_lock_ttl)});
    }
    /// `dated`: Unix time in microseconds.
    void move(const std::string& job, const std::string& from, const std::string& to, std::int64_t dated = kBegan) {
        const std::string ttl = millis(tunables_.job_meta_ttl);
        const std::string at_us = std::to_string(dated + ++moves_);
        std::vector<std::string> record{"HSET", "job:meta:" + job};
        std::ranges::copy(fields_of(to), std::back_inserter(record));
        record.insert(record.end(), {"state", to, "updated_at", at_us, "attempts", "0"});
        std::vector<std::vector<std::string>> commands{record,
                                                       {"PEXPIRE", "job:meta:" + job, ttl},
                                                       {"SET", "job:state:" + job, to, "PX", ttl},
                                                       {"RPUSH", "job:events:" + job, at_us + "|" + to},
                                                       {"PEXPIRE", "job:events:" + job, ttl},
                                                       {"ZADD", "job:recent", at_us, job},
                                                       {"ZADD", index_of(to), at_us, job}};
        if (!from.empty()) commands.push_back({"ZREM", index_of(from), job});
        if (to == "SUCCEEDED") {
            commands.push_back({"ZADD", "worker:jobs:w-0", at_us, job});
            commands.push_back({"PEXPIRE", "worker:jobs:w-0", ttl});
        }
        script(job, commands);
    }
    /// What a scheduler writes with such a state (redis-schema.md 3).
    static std::vector<std::string> fields_of(std::string_view state) {
        if (state == "DISPATCHED") return {"ls_dispatch", "1", "ls_dispatches", "1", "ls_stream_floor", "0"};
        if (state == "RUNNING") return {"ls_published", "1"};
        if (state == "SUCCEEDED") return {"worker_id", "w-0"};
        if (state == "FAILED") return {"ls_retryable", "1"};
        return {};
    }
    void publish(const std::string& subject, const std::string& bytes, const std::string& answer_to,
                 const std::string& message_id = {}) {
        for (const bool is_early : {true, false})
            witness.see(BusMessage{subject, bytes, answer_to, kBegan, message_id, is_early}, at(kBegan));
    }
    void dispatch(const std::string& job, const std::string& answer_to = {}) {
        publish("worker.w-0.jobs", request(job), answer_to, "dispatch of " + job);
    }
    void take(const std::string& answer_to, const std::string& says) { publish(answer_to, says, ""); }
    /// A worker reports a success, and a scheduler receives it.
    void report(const std::string& job, const std::string& pointer) {
        cap::JobResult result;
        result.set_job_id(job);
        result.set_status(cap::JOB_STATUS_SUCCEEDED);
        result.set_result_ptr(pointer);
        result.set_worker_id("w-0");
        const std::string bytes = wire::serialise(wire::make_packet(std::move(result), "", "w-0", at(kBegan)));
        publish(std::string(wire::kSubjectResult), bytes, "");
        publish(std::string(wire::kSubjectResult), bytes,
                "$JS.ACK.CORDUM_SYS." + std::string(sim::kSchedulersResults) + ".1.17.20.1700000000000000000.0");
    }
    void deed(fakes::EventKind kind, const std::string& job, fakes::When when) {
        const bool is_answered = when == fakes::When::answered;
        witness.see(Deed{kBegan, kind, when, is_answered, sim::Topology::kOperator, job, ""}, at(kBegan));
    }
    void submit(const std::string& job) { deed(fakes::EventKind::submit, job, fakes::When::answered); }
    std::set<std::string> broken(bool quiet = true) {
        witness.mirror().end_command();
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
    static std::string request(const std::string& job) {
        cap::JobRequest request;
        request.set_job_id(job);
        return wire::serialise(wire::make_packet(std::move(request), "", "somebody", at(kBegan)));
    }
    static std::string millis(engine::Duration duration) { return std::to_string(engine::to_millis(duration)); }
    static std::string index_of(std::string state) {
        std::ranges::transform(state, state.begin(), [](char c) { return static_cast<char>(std::tolower(c)); });
        return "job:index:" + state;
    }
    void violated(sim::Breach breach) override { found_.emplace(breach.invariant); }
    sim::EventNumber present() override { return witness.events(); }
    const sim::Time& told_at() const override { return witness.told_at(); }

    std::int64_t clock_ = kBegan, moves_ = 0;
    std::set<std::string> found_;
    sim::Judgement judgement_{*this, sim::Vantage::outside};
    const engine::Tunables tunables_;  // before the rules, which look at them as long as they live
    sim::TunablesInForce settings_{tunables_};
};

using Names = std::set<std::string>;

TEST_F(WitnessTest, ACleanHistoryBreaksNothing) {
    submit("j");
    take_up("j");
    move("j", "", "PENDING");
    move("j", "PENDING", "SCHEDULED");
    move("j", "SCHEDULED", "DISPATCHED");
    dispatch("j", "_INBOX.a.1");
    take("_INBOX.a.1", R"({"stream":"CORDUM_JOBS","seq":3})");
    witness.see_execution("j 1700000000000100 w-1");
    report("j", "");
    move("j", "DISPATCHED", "SUCCEEDED");
    script("j", {{"DEL", "cordum:scheduler:job:j"}});
    EXPECT_EQ(broken(), Names{});
}

TEST_F(WitnessTest, AJobThatIsExecutedTwiceIsFound) {
    witness.see_execution("j 1700000000000100 w-0");
    EXPECT_EQ(broken(), Names{});
    witness.see_execution("j 1700000000000200 w-1");
    EXPECT_EQ(broken(), Names{"no_duplicate_dispatch"});
}

TEST_F(WitnessTest, ADispatchThatIsInTheStreamTwiceIsFound) {
    dispatch("j", "_INBOX.a.1");
    take("_INBOX.a.1", R"({"stream":"CORDUM_JOBS","seq":3})");
    dispatch("j", "_INBOX.a.2");
    take("_INBOX.a.2", R"({"stream":"CORDUM_JOBS","seq":3,"duplicate":true})");
    EXPECT_EQ(broken(), Names{});
    dispatch("j", "_INBOX.a.3");
    take("_INBOX.a.3", R"({"stream":"CORDUM_JOBS","seq":4})");
    EXPECT_EQ(broken(), Names{"no_duplicate_dispatch"});
}

TEST_F(WitnessTest, AFinalStateThatChangesIsFound) {
    take_up("j");
    move("j", "", "PENDING");
    move("j", "PENDING", "FAILED");
    move("j", "FAILED", "SCHEDULED");
    EXPECT_EQ(broken(false), (Names{"legal_transitions", "one_terminal_result"}));
}

TEST_F(WitnessTest, ARecordWithAWrongDateIsFound) {
    take_up("j");
    move("j", "", "PENDING", kBegan + 60'000'000);
    EXPECT_EQ(broken(), Names{"records_true"});
}

TEST_F(WitnessTest, ARecordThatIsKeptForEverIsFound) {
    take_up("j");
    move("j", "", "PENDING");
    script("j", {{"PERSIST", "job:meta:j"}});
    EXPECT_EQ(broken(), Names{"lifetimes_kept"});
}

TEST_F(WitnessTest, AMoveWithoutTheLockIsFound) {
    take_up("j");
    script("j", {{"DEL", "cordum:scheduler:job:j"}});
    move("j", "", "PENDING");
    EXPECT_EQ(broken(), Names{"lock_exclusion"});
}

TEST_F(WitnessTest, ACancellationThatWasGrantedAndChangesNothingIsFound) {
    take_up("j");
    move("j", "", "PENDING");
    deed(fakes::EventKind::cancel, "j", fakes::When::before);
    deed(fakes::EventKind::cancel, "j", fakes::When::answered);
    EXPECT_EQ(broken(), Names{"job_history"});
}

TEST_F(WitnessTest, AnAcknowledgedJobThatNobodyTookUpIsFound) {
    submit("j");
    EXPECT_EQ(broken(), Names{"no_lost_job"});
}

TEST_F(WitnessTest, AJobThatFailedWithoutADeadLetterIsFound) {
    take_up("j");
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
    take_up("j");
    dispatch("j");
    move("j", "", "RUNNING");
    report("j", "redis://res:j");
    const std::string other = "redis://res:other";
    script("j", {{"HSET", "job:meta:j", "result_ptr", other}, {"SET", "job:result_ptr:j", other, "PX", "604800000"}});
    move("j", "RUNNING", "SUCCEEDED");
    EXPECT_EQ(broken(), Names{"result_kept"});
}

TEST_F(WitnessTest, ASuccessThatNobodyReportedIsFound) {
    take_up("j");
    dispatch("j");
    move("j", "", "RUNNING");
    move("j", "RUNNING", "SUCCEEDED");
    EXPECT_EQ(broken(), Names{"job_history"});
}

TEST_F(WitnessTest, AnIndexThatDisagreesIsFound) {
    take_up("j");
    move("j", "", "PENDING");
    redis({"ZREM", "job:index:pending", "j"});
    EXPECT_EQ(broken(), Names{"indexes_agree"});
}

TEST_F(WitnessTest, ALockThatNobodyReleasesIsFound) {
    redis({"SET", "cordum:scheduler:job:j", "token"});
    EXPECT_EQ(broken(), (Names{"lifetimes_kept", "nothing_leaks"}));
}

TEST_F(WitnessTest, AScriptDuringWhichRedisIsFrozenGivesLivesFromItsBeginning) {
    redis({"EVAL", "return 1", "0"});
    pass(std::chrono::minutes{1});
    redis({"SET", "a", "1", "PX", "120000"}, "lua");
    witness.mirror().end_command();
    Contents real;
    real.emplace_back("a", fakes::redis::Keyspace::Entry{std::string("1"), kBegan / 1000 + 120'000});
    EXPECT_EQ(witness.mirror().differences(real, at(kBegan)), std::vector<std::string>{});
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
