// When a job may reach workers again, and when a dispatch may be sent again whose fate its sender was not told.
#include "sim/rules/rule_fixture.h"

namespace lockstep::sim {
namespace {

using namespace testing;

struct NoDuplicateDispatchTest : RuleTest {
    NoDuplicateDispatchTest() : RuleTest(rules::no_duplicate_dispatch) {
        define({
            {"arrive", [this](auto& job) { arrive(job); }},
            {"back", [this](auto& job) { take_back(job); }},
            {"lose", [this](auto& after) { lose(duration_of(after)); }},
            {"publish", [this](auto&) { publish(When::before); }},
            {"unsent", [this](auto&) { publish(When::answered, EventOutcome::not_applied); }},
            {"late", [this](auto&) { lose(tunables.publish_timeout); }},
            {"replicas", [this](auto& count) { tunables.redis_replicas = std::stoi(count); }},
        });
    }

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

constexpr Story kArrivals[] = {
    {"AJobArrivesOnceUnlessItWasForgotten", "arrive=a arrive=b back=a arrive=a ok arrive=b times=4",
     "b: the job arrived on worker.w.jobs as jobreq:b:1 and before that"},
    {"WhereReplicasMustHaveAWriteAFailoverForgetsNothing",
     "replicas=1 arrive=a fault=redis.restart back=a arrive=a ok arrive=b fault=redis.failover back=b arrive=b",
     "b: the job arrived"},
    {"AfterTwoLooksOnAConnectionOfItsOwnItIsNotTooSoon", "lose=10ms +4s publish"},
    // What never left leaves the first sending as it was.
    {"WhereTheAnswerWasLateTheConnectionMayHaveEndedBefore", "late +2s publish ok unsent +1s publish"},
};
using ArrivalsTold = Told<NoDuplicateDispatchTest>;
TEST_P(ArrivalsTold, AreJudged) { judge(); }
INSTANTIATE_TEST_SUITE_P(Of, ArrivalsTold, ::testing::ValuesIn(kArrivals), title_of);

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

}  // namespace
}  // namespace lockstep::sim
