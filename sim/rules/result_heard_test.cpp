// What a service that reads results must do, and what its guard of messages cannot prevent.
#include <fmt/format.h>

#include "sim/rules/rule_fixture.h"

namespace lockstep::sim {
namespace {

using namespace testing;

constexpr std::string_view kReader = "dur_result-reader__sys_job_result";
constexpr NodeId kFirst{7};
constexpr NodeId kSecond{8};

struct ResultHeard : RuleTest {
    ResultHeard() : RuleTest(rules::result_heard) {
        deliver(kFirst, 1, kReader, "before");  // by which the consumer is known
        store(kFirst, "before");
        acknowledge(kFirst, 1, kReader, "before");
    }

    void in_stream(std::uint64_t sequence, const std::string& job = "J") { store_result(job, {.sequence = sequence}); }
    void deliver(NodeId node, std::uint64_t sequence, std::string_view durable = kReader,
                 const std::string& job = "J") {
        about_result(EventKind::deliver, When::applied, job, {.sequence = sequence, .durable = durable}, node);
    }
    void acknowledge(NodeId node, std::uint64_t sequence, std::string_view durable = kReader,
                     const std::string& job = "J") {
        about_result(EventKind::ack, When::before, job, {.sequence = sequence, .durable = durable}, node);
    }
    void requeue(NodeId node, std::uint64_t sequence) {
        about_result(EventKind::nak, When::before, "J", {.sequence = sequence, .durable = kReader}, node);
    }
    void call(When when, NodeId node, const std::string& key, EventOutcome outcome = EventOutcome::applied,
              std::string_view reply = ":1\r\n") {
        observe(EventKind::redis, {},
                {.outcome = outcome,
                 .command = "SET",
                 .key = key,
                 .payload = when == When::answered ? reply : std::string_view{}},
                when, node);
    }
    void store(NodeId node, const std::string& job = "J", EventOutcome outcome = EventOutcome::applied) {
        call(When::before, node, read_results_key(job));
        call(When::answered, node, read_results_key(job), outcome);
    }
    [[nodiscard]] static std::string mark_of(std::uint64_t sequence, std::string_view durable = kReader) {
        return fmt::format("cordum:bus:processed:CORDUM_SYS:{}:{}", sequence, durable);
    }
    void mark(NodeId node, std::uint64_t sequence, std::string_view durable = kReader) {
        call(When::before, node, mark_of(sequence, durable));
        set_text(mark_of(sequence, durable), "content", node);
    }
    /// From the delivery to the acknowledgement, as it should be.
    void read(NodeId node, std::uint64_t sequence) {
        deliver(node, sequence);
        store(node);
        mark(node, sequence);
        acknowledge(node, sequence);
    }
    [[nodiscard]] bool waits() { return model().waits(); }
};

// H-10, BUS-03
TEST_F(ResultHeard, EachConsumerThatReadsAResultForItselfIsRight) {
    in_stream(10);
    deliver(kReplica, 10, kSchedulersResults);
    mark(kReplica, 10, kSchedulersResults);
    acknowledge(kReplica, 10, kSchedulersResults);
    read(kFirst, 10);
    EXPECT_EQ(times_exercised(), 1U) << "the schedulers could have silenced it";
    EXPECT_FALSE(waits());
    rest();
    EXPECT_THAT(found, IsEmpty());
}

// H-10, C-13
TEST_F(ResultHeard, AResultThatIsAcknowledgedUnreadHasBeenSilenced) {
    in_stream(10);
    deliver(kReplica, 10, kSchedulersResults);
    set_text("cordum:bus:processed:CORDUM_SYS:10", "1");
    acknowledge(kReplica, 10, kSchedulersResults);
    deliver(kFirst, 10);
    acknowledge(kFirst, 10);
    EXPECT_THAT(found, ElementsAre(HasSubstr("J: its result number 10 is taken off the stream, and no replica of "
                                             "dur_result-reader__sys_job_result has heard it")));
}

TEST_F(ResultHeard, AnotherReplicaAcknowledgesWhatTheFirstHasReadAndMarked) {
    in_stream(10);
    deliver(kFirst, 10);
    store(kFirst);
    mark(kFirst, 10);
    befall(EventKind::node_down, kFirst);
    deliver(kSecond, 10);
    acknowledge(kSecond, 10);
    rest();
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(ResultHeard, TheMarkComesBeforeTheAcknowledgement) {
    in_stream(10);
    deliver(kFirst, 10);
    store(kFirst);
    acknowledge(kFirst, 10);
    EXPECT_THAT(found, ElementsAre(HasSubstr("nothing marks it as processed")));
}

// C-11
TEST_F(ResultHeard, WithoutRedisItIsAcknowledgedWithoutAMark) {
    for (const auto& [outcome, reply] : {std::pair{EventOutcome::unknown, ""}, {EventOutcome::applied, "-OOM\r\n"}}) {
        in_stream(10);
        deliver(kFirst, 10);
        store(kFirst);
        call(When::answered, kFirst, mark_of(10), outcome, reply);
        acknowledge(kFirst, 10);
    }
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(ResultHeard, AMarkedResultIsNotReadAgain) {
    in_stream(10);
    read(kFirst, 10);
    deliver(kSecond, 10);
    store(kSecond);
    EXPECT_THAT(found, ElementsAre(HasSubstr("is heard again")));
}

TEST_F(ResultHeard, ItMayBeReadAgainWhenTheMarkCouldNotBeReadOrHasGone) {
    in_stream(10);
    read(kFirst, 10);
    deliver(kSecond, 10);
    call(When::answered, kSecond, mark_of(10), EventOutcome::unknown, "");
    store(kSecond);
    mark(kSecond, 10);
    acknowledge(kSecond, 10);
    keys.remove(*keys.find(mark_of(10)), Removal::expired);
    read(kFirst, 10);
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(ResultHeard, AMarkThatAFaultHasDamagedIsNoMark) {
    in_stream(10);
    read(kFirst, 10);
    set_text(mark_of(10), "con", NodeId{});
    read(kSecond, 10);
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(ResultHeard, AFailoverMayTakeAMarkOrBringItBack) {
    in_stream(10);
    read(kFirst, 10);
    const fakes::redis::Keyspace empty;
    model().restored(empty);
    read(kSecond, 10);
    model().restored(empty);
    model().restored(keys);
    deliver(kFirst, 10);
    acknowledge(kFirst, 10);
    EXPECT_THAT(found, IsEmpty());
    deliver(kFirst, 10);
    store(kFirst);
    EXPECT_THAT(found, ElementsAre(HasSubstr("is heard again")));
}

TEST_F(ResultHeard, AReplicaThatHadItInFlightWhenItWasMarkedMayReadItToo) {
    in_stream(10);
    deliver(kSecond, 10);
    read(kFirst, 10);
    store(kSecond);
    mark(kSecond, 10);
    acknowledge(kSecond, 10);
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(ResultHeard, OneWithoutAReplyComesAgain) {
    in_stream(10);
    deliver(kFirst, 10);
    store(kFirst, "J", EventOutcome::unknown);
    requeue(kFirst, 10);
    EXPECT_TRUE(waits());
    read(kSecond, 10);
    EXPECT_FALSE(waits());
    EXPECT_THAT(found, IsEmpty());
}

// The list does not show which of the two a replica has stored first.
TEST_F(ResultHeard, TwoResultsOfOneJobAreToldApartByTheirMarks) {
    in_stream(10);
    in_stream(11);
    deliver(kFirst, 10);
    deliver(kFirst, 11);
    store(kFirst);
    mark(kFirst, 11);
    acknowledge(kFirst, 11);
    EXPECT_TRUE(waits()) << "one of them is still to be read";
    store(kFirst);
    mark(kFirst, 10);
    acknowledge(kFirst, 10);
    rest();
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(ResultHeard, OneThatCouldNotBeStoredIsMissingAtTheEnd) {
    in_stream(10);
    in_stream(11);
    deliver(kFirst, 10);
    deliver(kFirst, 11);
    store(kFirst, "J", EventOutcome::not_applied);
    store(kFirst);
    requeue(kFirst, 10);
    mark(kFirst, 11);
    acknowledge(kFirst, 11);
    EXPECT_THAT(found, IsEmpty());
    rest();
    EXPECT_THAT(found, ElementsAre(HasSubstr("number 10 of the stream")));
}

TEST_F(ResultHeard, ADeliveryThatComesTwiceDoesNotMixThemUp) {
    in_stream(10);
    in_stream(11);
    for (const std::uint64_t sequence : {10U, 11U, 10U, 11U}) deliver(kFirst, sequence);
    for (const std::uint64_t sequence : {10U, 11U}) {
        store(kFirst);
        mark(kFirst, sequence);
        acknowledge(kFirst, sequence);
    }
    for (const std::uint64_t sequence : {10U, 11U}) acknowledge(kFirst, sequence);
    rest();
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(ResultHeard, OneOfTwoResultsOfAJobCannotStandInForTheOther) {
    in_stream(10);
    in_stream(11);
    deliver(kFirst, 10);
    deliver(kFirst, 11);
    store(kFirst);
    mark(kFirst, 11);
    acknowledge(kFirst, 11);
    acknowledge(kFirst, 10);
    EXPECT_THAT(found, ElementsAre(HasSubstr("number 10 is taken off")));
}

TEST_F(ResultHeard, AResultThatWasNotReadIsMissingAtTheEnd) {
    in_stream(10);
    EXPECT_TRUE(waits());
    rest();
    EXPECT_THAT(found, ElementsAre(HasSubstr("J: its result is number 10 of the stream, and at the end "
                                             "dur_result-reader__sys_job_result has not heard it")));
}

TEST_F(ResultHeard, OneThatIsTerminatedNeedNotBeRead) {
    in_stream(10);
    deliver(kFirst, 10);
    about_result(EventKind::term, When::before, "J", {.sequence = 10, .durable = kReader}, kFirst);
    EXPECT_FALSE(waits());
    rest();
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(ResultHeard, WhatAnotherLeaderMayNotDeliverAgainNeedNotBeRead) {
    in_stream(10);
    deliver(kFirst, 10);
    fault("nats.new_leader");
    EXPECT_FALSE(waits());
    in_stream(11);
    EXPECT_TRUE(waits()) << "it came later";
}

TEST_F(ResultHeard, AConsumerThatMayHaveNoMoreInFlightIsDeliveredNothingByAnotherLeader) {
    tunables.bus_max_ack_pending = 1;
    about_result(EventKind::ack, When::applied, "before", {.sequence = 1, .durable = kReader}, kFirst);
    fault("nats.new_leader");
    in_stream(10);
    EXPECT_TRUE(waits()) << "it had none in flight";
    deliver(kFirst, 10);
    fault("nats.new_leader");
    in_stream(11);
    EXPECT_FALSE(waits());
    fault("nats.restart");
    in_stream(12);
    EXPECT_TRUE(waits()) << "the server reads anew which were acknowledged";
}

TEST_F(ResultHeard, WhatAPowerCutMayHaveTakenNeedNotBeRead) {
    in_stream(10);
    fault("nats.power_cut");
    EXPECT_FALSE(waits());
    in_stream(10, "K");
    EXPECT_TRUE(waits()) << "its number may be given out again";
}

}  // namespace
}  // namespace lockstep::sim
