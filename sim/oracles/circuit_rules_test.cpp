#include "sim/oracles/circuit_rules.h"

#include <gmock/gmock.h>

#include "sim/oracles/test_oracle.h"

namespace lockstep::sim {
namespace {

using fakes::EventKind;
using fakes::When;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using namespace std::chrono_literals;

class CircuitRulesTest : public ::testing::Test {
protected:
    void tell(EventKind kind, When when, std::string_view job) {
        fakes::Event event = testing::event_of(kind, job, when);
        event.node = fakes::NodeId{5};
        oracle.on_event(event, now);
    }
    void half_open() {
        tell(EventKind::timer, When::applied, {});
        oracle.string_set({}, "cordum:cb:safety:failures", nullptr, "3", -1, -1);
        now += tunables.circuit_open_for;
        oracle.key_removed({}, "cordum:cb:safety:failures", fakes::redis::Removal::expired, {}, -1);
        tell(EventKind::timer, When::applied, {});
        now += 1s;
    }
    void ask(std::string_view job) { tell(EventKind::kernel_check, When::before, job); }
    void answer(std::string_view job) { tell(EventKind::kernel_check, When::answered, job); }
    void take_up_and_ask(std::string_view job) {
        tell(EventKind::lock_acquired, When::applied, job);
        ask(job);
    }
    void four_jobs_ask() {
        for (const char* job : {"a", "b", "c", "d"}) take_up_and_ask(job);
    }

    testing::KeepingJudge judge;
    engine::Tunables tunables;
    CircuitRules oracle{judge, tunables};
    Time now{10s};
};

TEST_F(CircuitRulesTest, AFourthProbeIsOneTooMany) {
    half_open();
    four_jobs_ask();
    EXPECT_THAT(judge.found, SizeIs(1));
}

TEST_F(CircuitRulesTest, ProbesOfARollbackCloseTheCircuitToo) {
    half_open();
    for (const char* step : {"comp-1", "comp-2"}) {
        ask(step);
        answer(step);
    }
    four_jobs_ask();
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(CircuitRulesTest, AProbeWhoseReplicaFrozeIsAnsweredAllTheSame) {
    half_open();
    take_up_and_ask("a");
    tell(EventKind::paused, When::applied, {});
    answer("a");
    take_up_and_ask("b");
    answer("b");
    four_jobs_ask();
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(CircuitRulesTest, AProbeOfADeadReplicaIsNeverAnswered) {
    half_open();
    take_up_and_ask("a");
    tell(EventKind::node_down, When::applied, {});
    answer("a");
    take_up_and_ask("b");
    answer("b");
    four_jobs_ask();
    EXPECT_THAT(judge.found, SizeIs(2)) << "with the one before there are five probes, and three are allowed";
}

}  // namespace
}  // namespace lockstep::sim
