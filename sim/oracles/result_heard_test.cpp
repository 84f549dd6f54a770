// What a service that reads results owes, and what is no fault of its guard.
#include "sim/oracles/result_heard.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "sim/model/job_keys.h"
#include "sim/oracles/heard_results.h"
#include "sim/oracles/test_oracle.h"

namespace lockstep::sim {
namespace {

using fakes::EventKind;
using fakes::EventOutcome;
using fakes::NodeId;
using fakes::When;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kReplica;

constexpr std::string_view kReader = "dur_result-reader__sys_job_result";
constexpr NodeId kFirst{7};
constexpr NodeId kSecond{8};

class ResultHeardTest : public ::testing::Test {
protected:
    ResultHeardTest() {
        keys.add_observer(oracle);
        deliver(kFirst, 1, kReader, "before");  // by which the consumer is known
        keep(kFirst, "before");
        acknowledge(kFirst, 1, kReader, "before");
    }

    void tell(EventKind kind, When when, NodeId node, std::uint64_t sequence, std::string_view durable,
              const std::string& job) {
        cap::BusPacket packet;
        packet.mutable_job_result()->set_job_id(job);
        fakes::Event event = testing::event_of(kind, job, when);
        event.node = node;
        event.subject = "sys.job.result";
        event.stream = "CORDUM_SYS";
        event.sequence = sequence;
        event.name = durable;
        event.packet = &packet;
        judge.tell(oracle, event, {});
    }
    void store(std::uint64_t sequence, const std::string& job = "J") {
        tell(EventKind::stored, When::applied, NodeId{9}, sequence, {}, job);
    }
    void deliver(NodeId node, std::uint64_t sequence, std::string_view durable = kReader,
                 const std::string& job = "J") {
        tell(EventKind::deliver, When::applied, node, sequence, durable, job);
    }
    void acknowledge(NodeId node, std::uint64_t sequence, std::string_view durable = kReader,
                     const std::string& job = "J") {
        tell(EventKind::ack, When::before, node, sequence, durable, job);
    }
    void hand_back(NodeId node, std::uint64_t sequence) {
        tell(EventKind::nak, When::before, node, sequence, kReader, "J");
    }
    void call(When when, NodeId node, const std::string& key, EventOutcome outcome = EventOutcome::applied,
              std::string_view reply = ":1\r\n") {
        fakes::Event event = testing::event_of(EventKind::redis, {}, when);
        event.node = node;
        event.command = "SET";
        event.key = key;
        event.outcome = outcome;
        event.payload = when == When::answered ? reply : std::string_view{};
        judge.tell(oracle, event, {});
    }
    void keep(NodeId node, const std::string& job = "J", EventOutcome outcome = EventOutcome::applied) {
        call(When::before, node, heard_key(job));
        call(When::answered, node, heard_key(job), outcome);
    }
    [[nodiscard]] static std::string mark_of(std::uint64_t sequence, std::string_view durable = kReader) {
        return fmt::format("cordum:bus:processed:CORDUM_SYS:{}:{}", sequence, durable);
    }
    void mark(NodeId node, std::uint64_t sequence, std::string_view durable = kReader) {
        call(When::before, node, mark_of(sequence, durable));
        keys.act_for(node);
        keys.set_string(mark_of(sequence, durable), "content", 1'000'000);
    }
    /// From the delivery to the acknowledgement, as it should be.
    void hear(NodeId node, std::uint64_t sequence) {
        deliver(node, sequence);
        keep(node);
        mark(node, sequence);
        acknowledge(node, sequence);
    }
    void node_down(NodeId node) {
        fakes::Event event = testing::event_of(EventKind::node_down, {});
        event.node = node;
        judge.tell(oracle, event, {});
    }
    void rest() { oracle.at_rest({keys}); }

    fakes::redis::Keyspace keys;
    testing::KeepingJudge judge;
    ResultHeard oracle{judge};
};

// H-10, BUS-03
TEST_F(ResultHeardTest, EachConsumerThatHearsAResultForItselfIsRight) {
    store(10);
    deliver(kReplica, 10, kSchedulersResults);
    mark(kReplica, 10, kSchedulersResults);
    acknowledge(kReplica, 10, kSchedulersResults);
    hear(kFirst, 10);
    EXPECT_EQ(oracle.exercised(), 1U) << "the schedulers could have silenced it";
    EXPECT_FALSE(oracle.waits());
    rest();
    EXPECT_THAT(judge.found, IsEmpty());
}

// H-10, C-13
TEST_F(ResultHeardTest, AResultThatIsAcknowledgedUnheardHasBeenSilenced) {
    store(10);
    deliver(kReplica, 10, kSchedulersResults);
    keys.set_string("cordum:bus:processed:CORDUM_SYS:10", "1", 1'000'000);
    acknowledge(kReplica, 10, kSchedulersResults);
    deliver(kFirst, 10);
    acknowledge(kFirst, 10);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("no replica of dur_result-reader__sys_job_result has heard it")));
}

TEST_F(ResultHeardTest, WhatOneReplicaHasHeardAndMarkedAnotherOneLetsBe) {
    store(10);
    deliver(kFirst, 10);
    keep(kFirst);
    mark(kFirst, 10);
    node_down(kFirst);
    deliver(kSecond, 10);
    acknowledge(kSecond, 10);
    rest();
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(ResultHeardTest, TheMarkComesBeforeTheAcknowledgement) {
    store(10);
    deliver(kFirst, 10);
    keep(kFirst);
    acknowledge(kFirst, 10);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("nothing marks it as processed")));
}

// C-11
TEST_F(ResultHeardTest, WithoutRedisItIsAcknowledgedWithoutAMark) {
    for (const auto& [outcome, reply] : {std::pair{EventOutcome::unknown, ""}, {EventOutcome::applied, "-OOM\r\n"}}) {
        store(10);
        deliver(kFirst, 10);
        keep(kFirst);
        call(When::answered, kFirst, mark_of(10), outcome, reply);
        acknowledge(kFirst, 10);
    }
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(ResultHeardTest, AMarkedResultIsNotHeardAgain) {
    store(10);
    hear(kFirst, 10);
    deliver(kSecond, 10);
    keep(kSecond);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("is heard again")));
}

TEST_F(ResultHeardTest, ItMayBeHeardAgainWhenTheMarkCouldNotBeSeenOrHasGone) {
    store(10);
    hear(kFirst, 10);
    deliver(kSecond, 10);
    call(When::answered, kSecond, mark_of(10), EventOutcome::unknown, "");
    keep(kSecond);
    mark(kSecond, 10);
    acknowledge(kSecond, 10);
    keys.remove(*keys.find(mark_of(10)), fakes::redis::Removal::expired);
    hear(kFirst, 10);
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(ResultHeardTest, AFailoverMayTakeAMarkOrBringItBack) {
    store(10);
    hear(kFirst, 10);
    const fakes::redis::Keyspace empty;
    oracle.restored(empty);
    hear(kSecond, 10);
    oracle.restored(empty);
    oracle.restored(keys);
    deliver(kFirst, 10);
    acknowledge(kFirst, 10);
    EXPECT_THAT(judge.found, IsEmpty());
    deliver(kFirst, 10);
    keep(kFirst);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("is heard again")));
}

TEST_F(ResultHeardTest, WhoeverHadItInHandWhenItWasMarkedMayHearItToo) {
    store(10);
    deliver(kSecond, 10);
    hear(kFirst, 10);
    keep(kSecond);
    mark(kSecond, 10);
    acknowledge(kSecond, 10);
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(ResultHeardTest, OneThatMayHaveBeenKeptComesAgain) {
    store(10);
    deliver(kFirst, 10);
    keep(kFirst, "J", EventOutcome::unknown);
    hand_back(kFirst, 10);
    EXPECT_TRUE(oracle.waits());
    hear(kSecond, 10);
    EXPECT_FALSE(oracle.waits());
    EXPECT_THAT(judge.found, IsEmpty());
}

// Which of the two a replica has kept first cannot be seen from the list.
TEST_F(ResultHeardTest, TwoResultsOfOneJobAreToldApartByTheirMarks) {
    store(10);
    store(11);
    deliver(kFirst, 10);
    deliver(kFirst, 11);
    keep(kFirst);
    mark(kFirst, 11);
    acknowledge(kFirst, 11);
    EXPECT_TRUE(oracle.waits()) << "one of them has still to be heard";
    keep(kFirst);
    mark(kFirst, 10);
    acknowledge(kFirst, 10);
    rest();
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(ResultHeardTest, NorDoesOneThatCouldNotBeKept) {
    store(10);
    store(11);
    deliver(kFirst, 10);
    deliver(kFirst, 11);
    keep(kFirst, "J", EventOutcome::not_applied);
    keep(kFirst);
    hand_back(kFirst, 10);
    mark(kFirst, 11);
    acknowledge(kFirst, 11);
    EXPECT_THAT(judge.found, IsEmpty());
    rest();
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("number 10 of the stream")));
}

TEST_F(ResultHeardTest, NorDoesADeliveryThatComesTwiceMixThemUp) {
    store(10);
    store(11);
    for (const std::uint64_t sequence : {10U, 11U, 10U, 11U}) deliver(kFirst, sequence);
    for (const std::uint64_t sequence : {10U, 11U}) {
        keep(kFirst);
        mark(kFirst, sequence);
        acknowledge(kFirst, sequence);
    }
    for (const std::uint64_t sequence : {10U, 11U}) acknowledge(kFirst, sequence);
    rest();
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(ResultHeardTest, OneOfTwoResultsOfAJobCannotStandInForTheOther) {
    store(10);
    store(11);
    deliver(kFirst, 10);
    deliver(kFirst, 11);
    keep(kFirst);
    mark(kFirst, 11);
    acknowledge(kFirst, 11);
    acknowledge(kFirst, 10);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("number 10 is taken off")));
}

TEST_F(ResultHeardTest, AResultThatNobodyHasHeardIsOwedAtTheEnd) {
    store(10);
    EXPECT_TRUE(oracle.waits());
    rest();
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("at the end dur_result-reader__sys_job_result has not heard it")));
}

TEST_F(ResultHeardTest, OneThatIsTerminatedIsOwedNoMore) {
    store(10);
    deliver(kFirst, 10);
    tell(EventKind::term, When::before, kFirst, 10, kReader, "J");
    EXPECT_FALSE(oracle.waits());
    rest();
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(ResultHeardTest, WhatAnotherLeaderMayNotDeliverAgainIsOwedNoMore) {
    store(10);
    deliver(kFirst, 10);
    fakes::Event change = testing::event_of(EventKind::fault, {});
    change.name = "nats.new_leader";
    change.from = "begin";
    judge.tell(oracle, change, {});
    EXPECT_FALSE(oracle.waits());
    store(11);
    EXPECT_TRUE(oracle.waits()) << "it came later";
}

TEST_F(ResultHeardTest, WhatAPowerCutMayHaveTakenIsOwedNoMore) {
    store(10);
    fakes::Event cut = testing::event_of(EventKind::fault, {});
    cut.name = "nats.power_cut";
    cut.from = "begin";
    judge.tell(oracle, cut, {});
    EXPECT_FALSE(oracle.waits());
    store(10, "K");
    EXPECT_TRUE(oracle.waits()) << "its number may be given out again";
}

}  // namespace
}  // namespace lockstep::sim
