// What oracles make of a Redis that loses what it had: they judge by what it has kept, and go on judging.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <type_traits>

#include "fakes/redis/keyspace_events.h"
#include "sim/oracles/legal_transitions.h"
#include "sim/oracles/one_terminal_result.h"
#include "sim/oracles/recorded_states.h"
#include "sim/oracles/tenant_limit.h"
#include "sim/oracles/test_oracle.h"

namespace lockstep::sim {
namespace {

using fakes::redis::Hash;
using fakes::redis::Keyspace;
using fakes::redis::Removal;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::kReplica;

/// A keyspace that one oracle watches, with the events that it brings about.
template <class Watcher>
class DataLoss : public ::testing::Test, private fakes::Trace {
protected:
    DataLoss() {
        keys.add_observer(events_);
        keys.add_observer(judge.table);
        keys.add_observer(watcher);
    }

    void set_field(const std::string& job, std::string_view field, std::string_view value) {
        const std::string key = "job:meta:" + job;
        Keyspace::Node* node = keys.find(key);
        keys.hash_set(node == nullptr ? keys.create<Hash>(key) : *node, field, value);
    }
    void move(const std::string& job, const std::string& state) {
        keys.act_for(kReplica);
        set_field(job, "state", state);
        keys.set_string("job:state:" + job, state, fakes::redis::kNever);
    }
    void evict(const std::string& key) { keys.remove(*keys.find(key), Removal::evicted); }
    void evict_all_of(const std::string& job) {
        evict("job:meta:" + job);
        evict("job:state:" + job);
    }

    Keyspace keys;
    testing::KeepingJudge judge;
    engine::Tunables tunables;
    Watcher watcher = awake();

private:
    Watcher awake() {
        if constexpr (std::is_constructible_v<Watcher, Judge&, const engine::Tunables&>)
            return Watcher(judge, tunables);
        else
            return Watcher(judge);
    }
    bool emit(const fakes::Event& event) override {
        judge.tell(watcher, event, Time{});
        return true;
    }
    fakes::redis::KeyspaceEvents events_{*this, {}, fakes::redis::default_lock_keys()};
};

TEST(RecordedStates, AreInTheHashAndWithoutItUnderTheStateKey) {
    RecordedStates states;
    states.hash_set("job:meta:a", "state", "RUNNING");
    states.string_set("job:state:a", "DISPATCHED");
    EXPECT_EQ(states.of("a"), "RUNNING");
    states.key_removed("job:meta:a");
    EXPECT_EQ(states.of("a"), "DISPATCHED");
    states.key_removed("job:state:a");
    EXPECT_EQ(states.of("a"), "");
}

using OneTerminalResultWithLoss = DataLoss<OneTerminalResult>;

TEST_F(OneTerminalResultWithLoss, AnEndThatAFailoverTookBackIsNone) {
    move("a", "SUCCEEDED");
    move("b", "SUCCEEDED");
    keys.restore([this] { move("a", "RUNNING"); });
    move("a", "TIMEOUT");
    EXPECT_THAT(judge.found, IsEmpty());
    move("b", "TIMEOUT");
    EXPECT_THAT(judge.found,
                ElementsAre("b: it ended SUCCEEDED, and then state changed from \"SUCCEEDED\" to \"TIMEOUT\""))
        << "its end is kept";
}

TEST_F(OneTerminalResultWithLoss, AnEndIsForgottenOnceNothingTellsOfIt) {
    move("a", "SUCCEEDED");
    evict_all_of("a");
    move("a", "PENDING");
    EXPECT_THAT(judge.found, IsEmpty());
    move("b", "SUCCEEDED");
    evict("job:meta:b");
    move("b", "TIMEOUT");
    EXPECT_THAT(judge.found, ElementsAre(::testing::StartsWith("b: it ended SUCCEEDED, and then state changed")))
        << "its state key tells of it";
}

TEST_F(OneTerminalResultWithLoss, ARecordThatHasOutlivedItsTimeIsNotLost) {
    move("a", "SUCCEEDED");
    for (const char* key : {"job:meta:a", "job:state:a"}) keys.remove(*keys.find(key), Removal::expired);
    move("a", "PENDING");
    EXPECT_THAT(judge.found, ::testing::SizeIs(1));
}

// ... unless the mark that its message has been handled may be lost: the message then begins the job anew.
TEST_F(OneTerminalResultWithLoss, AnEndIsForgottenWhenItsTimeIsOverInARedisThatHasLostMarks) {
    move("a", "SUCCEEDED");
    keys.restore([this] { move("a", "SUCCEEDED"); });
    for (const char* key : {"job:meta:a", "job:state:a"}) keys.remove(*keys.find(key), Removal::expired);
    move("a", "PENDING");
    EXPECT_THAT(judge.found, IsEmpty());
}

using LegalTransitionsWithLoss = DataLoss<LegalTransitions>;

TEST_F(LegalTransitionsWithLoss, GoOnFromTheStateKeyWhereTheHashIsGone) {
    move("a", "PENDING");
    move("a", "RUNNING");
    evict("job:meta:a");
    move("a", "OUTPUT_QUARANTINED");
    EXPECT_THAT(judge.found, IsEmpty());
    move("b", "PENDING");
    move("b", "FAILED");
    evict("job:meta:b");
    move("b", "TIMEOUT");
    EXPECT_THAT(judge.found, ElementsAre("b: it went from FAILED to TIMEOUT"));
}

TEST_F(LegalTransitionsWithLoss, AJobWithoutItsHashIsNewToAWriterThatLooksAtNothingElse) {
    move("a", "PENDING");
    evict("job:meta:a");
    move("a", "PENDING");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(LegalTransitionsWithLoss, AJobOfWhichNothingIsLeftBeginsAnew) {
    move("a", "PENDING");
    move("a", "RUNNING");
    evict_all_of("a");
    move("a", "SUCCEEDED");
    EXPECT_THAT(judge.found, ElementsAre("a: it went from nothing to SUCCEEDED"));
}

class TenantLimitWithLoss : public DataLoss<TenantLimit> {
protected:
    /// Policy allows the tenant of the job one job at a time.
    void submit(const std::string& job) {
        cap::PolicyCheckResponse answer;
        answer.mutable_constraints()->mutable_budgets()->set_max_concurrent_jobs(1);
        const std::string payload = answer.SerializeAsString();
        fakes::Event event = testing::event_of(fakes::EventKind::kernel_check, job);
        event.payload = payload;
        judge.tell(watcher, event, Time{});
        set_field(job, "tenant", "acme");
        move(job, "PENDING");
    }
};

TEST_F(TenantLimitWithLoss, CountsWhatAFailoverHasKept) {
    submit("a");
    submit("b");
    submit("c");
    move("a", "SCHEDULED");
    keys.restore([this] { move("a", "PENDING"); });
    move("b", "SCHEDULED");
    EXPECT_THAT(judge.found, IsEmpty());
    move("c", "SCHEDULED");
    EXPECT_THAT(judge.found, ::testing::SizeIs(1));
}

TEST_F(TenantLimitWithLoss, DoesNotCountAJobThatIsNotKnownAnyMore) {
    submit("a");
    submit("b");
    move("a", "RUNNING");
    evict_all_of("a");
    move("b", "SCHEDULED");
    EXPECT_THAT(judge.found, IsEmpty());
}

}  // namespace
}  // namespace lockstep::sim
