// When a job may reach workers again, and when a dispatch may be sent again whose fate its sender was not told.
#include "sim/rules/rule_fixture.h"

namespace lockstep::sim {
namespace {

using namespace testing;

struct NoDuplicateDispatchTest : RuleTest {
    NoDuplicateDispatchTest() : RuleTest(rules::no_duplicate_dispatch) {}

    void dispatch(EventKind kind, When when = When::applied, EventOutcome outcome = EventOutcome::none,
                  std::string_view job = "J") {
        fakes::Event event = event_of(kind, job, when);
        event.subject = "worker.w.jobs";
        const std::string id = "jobreq:" + std::string(job) + ":1";
        event.message_id = id;
        event.outcome = outcome;
        event.packet = &packet_;
        event.sequence = ++sequence_;
        tell(event);
    }
    void publish(When when, EventOutcome outcome = EventOutcome::none) { dispatch(EventKind::publish, when, outcome); }
    void arrive(std::string_view job) { dispatch(EventKind::core_deliver, When::applied, EventOutcome::none, job); }
    /// Its fate becomes unknown after that time.
    void lose(engine::Duration after) {
        publish(When::before);
        now += after;
        publish(When::answered, EventOutcome::unknown);
    }
    void take_back(const std::string& job) {
        move(job, "DISPATCHED");
        keys.restore([&] { set_field(job, "state", "PENDING"); });
    }

private:
    cap::BusPacket packet_;
    std::uint64_t sequence_ = 0;
};

TEST_F(NoDuplicateDispatchTest, AJobArrivesOnceUnlessItWasForgotten) {
    arrive("a");
    arrive("b");
    take_back("a");
    arrive("a");
    EXPECT_THAT(found, IsEmpty());
    arrive("b");
    EXPECT_THAT(found, ElementsAre(HasSubstr("b: the job arrived on worker.w.jobs as jobreq:b:1 and before that")));
    EXPECT_EQ(times_exercised(), 4U);
}

TEST_F(NoDuplicateDispatchTest, WhereReplicasMustHaveAWriteAFailoverForgetsNothing) {
    tunables.redis_replicas = 1;
    for (const char* name : {"redis.restart", "redis.failover"}) {
        const std::string job = std::string(name).substr(6);
        arrive(job);
        fault(name);
        take_back(job);
        arrive(job);
    }
    EXPECT_THAT(found, ElementsAre(HasSubstr("failover: the job arrived")));
}

TEST_F(NoDuplicateDispatchTest, AMessageIsInTheStreamOnce) {
    dispatch(EventKind::stored);
    dispatch(EventKind::stored);
    EXPECT_THAT(found, ElementsAre(HasSubstr("jobreq:J:1 is in the stream at 1 and at 2")));
    EXPECT_THAT(cited, ElementsAre("by default"));
}

TEST_F(NoDuplicateDispatchTest, AfterOneLookAtTheStreamIsTooSoon) {
    lose(10ms);
    now += 3s;
    publish(When::before);
    EXPECT_THAT(found, ElementsAre(HasSubstr("jobreq:J:1 is sent again 3000 ms after its fate became unknown")));
    EXPECT_THAT(cited, ElementsAre("engine/wire/wire.md 8.4"));
}

TEST_F(NoDuplicateDispatchTest, AfterTwoOnAConnectionOfItsOwnIsNot) {
    lose(10ms);
    now += 4s;
    publish(When::before);
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(NoDuplicateDispatchTest, WhereTheAnswerWasLateTheConnectionMayHaveEndedBefore) {
    lose(tunables.publish_timeout);
    now += 2s;
    publish(When::before);
    EXPECT_THAT(found, IsEmpty());
    publish(When::answered, EventOutcome::not_applied);
    now += 1s;
    publish(When::before);
    EXPECT_THAT(found, IsEmpty()) << "what never left leaves the first sending as it was";
}

}  // namespace
}  // namespace lockstep::sim
