// When a dispatch may be sent again whose fate its sender was not told.
#include "sim/oracles/no_duplicate_dispatch.h"

#include <gmock/gmock.h>

#include <chrono>

#include "sim/oracles/test_oracle.h"

namespace lockstep::sim {
namespace {

using namespace std::chrono_literals;
using fakes::EventKind;
using fakes::EventOutcome;
using fakes::When;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SentAgain : public ::testing::Test {
protected:
    void publish(When when, EventOutcome outcome = EventOutcome::none) {
        fakes::Event event = testing::event_of(EventKind::publish, "J", when);
        event.subject = "worker.w.jobs";
        event.message_id = "jobreq:J:1";
        event.node = fakes::NodeId{5};
        event.outcome = outcome;
        judge.tell(oracle, event, now);
    }
    /// Its fate becomes unknown after that time.
    void lose(engine::Duration after) {
        publish(When::before);
        now += after;
        publish(When::answered, EventOutcome::unknown);
    }

    Time now{100s};
    testing::KeepingJudge judge;
    engine::Tunables tunables;  // publish_settle 2 s, publish_timeout more
    NoDuplicateDispatch oracle{judge, tunables};
};

TEST_F(SentAgain, AfterOneLookAtTheStreamIsTooSoon) {
    lose(10ms);
    now += 3s;
    publish(When::before);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("jobreq:J:1 is sent again 3000 ms after its fate became unknown")));
}

TEST_F(SentAgain, AfterTwoOnAConnectionOfItsOwnIsNot) {
    lose(10ms);
    now += 4s;
    publish(When::before);
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(SentAgain, WhereTheAnswerWasLateTheConnectionMayHaveEndedBefore) {
    lose(tunables.publish_timeout);
    now += 2s;
    publish(When::before);
    EXPECT_THAT(judge.found, IsEmpty());
    publish(When::answered, EventOutcome::not_applied);
    now += 1s;
    publish(When::before);
    EXPECT_THAT(judge.found, IsEmpty()) << "what never left leaves the first sending as it was";
}

TEST_F(SentAgain, OfAJobThatRedisHasForgottenNobodyKnowsThatThereWasAFirst) {
    fakes::redis::Keyspace keys;
    keys.add_observer(judge.table);
    keys.hash_set(keys.create<fakes::redis::Hash>("job:meta:J"), "state", "DISPATCHED");
    lose(10ms);
    keys.restore([&keys] { keys.clear(); });
    publish(When::before);
    EXPECT_THAT(judge.found, IsEmpty());
}

}  // namespace
}  // namespace lockstep::sim
