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
        define({
            {"in", [this](auto& of) { in_stream(std::stoull(first(of)), second(of, "J")); }},
            {"deliver", [this](auto& number) { deliver(by, std::stoull(number)); }},
            {"store", [this](auto&) { store(by); }},
            {"unstored", [this](auto&) { store(by, "J", EventOutcome::unknown); }},
            {"refused", [this](auto&) { store(by, "J", EventOutcome::not_applied); }},
            {"mark", [this](auto& number) { mark(by, std::stoull(number)); }},
            {"ack", [this](auto& number) { acknowledge(by, std::stoull(number)); }},
            {"nak", [this](auto& number) { requeue(by, std::stoull(number)); }},
            {"term",
             [this](auto& number) {
                 about_result(EventKind::term, When::before, "J", {.sequence = std::stoull(number), .durable = kReader},
                              by);
             }},
            {"read", [this](auto& number) { read(by, std::stoull(number)); }},
            {"unmarked",
             [this](auto& number) {
                 call(When::answered, by, mark_of(std::stoull(number)), EventOutcome::unknown, "");
             }},
            {"oom",
             [this](auto& number) {
                 call(When::answered, by, mark_of(std::stoull(number)), EventOutcome::applied, "-OOM\r\n");
             }},
            {"expire",
             [this](auto& number) { keys.remove(*keys.find(mark_of(std::stoull(number))), Removal::expired); }},
            {"damage", [this](auto& number) { set_text(mark_of(std::stoull(number)), "con", NodeId{}); }},
            {"for_all", [this](auto&) { set_text("cordum:bus:processed:CORDUM_SYS:10", "1"); }},
            {"given", [this](auto&) { deliver(kReplica, 10, kSchedulersResults); }},
            {"handled", [this](auto&) { acknowledge(kReplica, 10, kSchedulersResults); }},
            {"marked", [this](auto&) { mark(kReplica, 10, kSchedulersResults); }},
            {"one_pending", [this](auto&) { tunables.bus_max_ack_pending = 1; }},
            {"settled",
             [this](auto&) {
                 about_result(EventKind::ack, When::applied, "before", {.sequence = 1, .durable = kReader}, kFirst);
             }},
        });
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
};

constexpr Story kResultsHeard[] = {
    // H-10, BUS-03: the schedulers could have silenced it.
    {"EachConsumerThatReadsAResultForItselfIsRight", "in=10 given marked handled read=10@first times=1 idle rest"},
    // H-10, C-13
    {"AResultThatIsAcknowledgedUnreadHasBeenSilenced", "in=10 given for_all handled deliver=10@first ack=10@first",
     "J: its result number 10 is taken off the stream, and no replica of dur_result-reader__sys_job_result has heard "
     "it"},
    {"AnotherReplicaAcknowledgesWhatTheFirstHasReadAndMarked",
     "in=10 deliver=10@first store@first mark=10@first down@first deliver=10@second ack=10@second rest"},
    {"TheMarkComesBeforeTheAcknowledgement", "in=10 deliver=10@first store@first ack=10@first",
     "nothing marks it as processed"},
    // C-11
    {"WithoutRedisItIsAcknowledgedWithoutAMark", "in=10 deliver=10@first store@first unmarked=10@first ack=10@first"},
    {"OrWhereRedisHasNoMemory", "in=10 deliver=10@first store@first oom=10@first ack=10@first"},
    {"AMarkedResultIsNotReadAgain", "in=10 read=10@first deliver=10@second store@second", "is heard again"},
    {"ItMayBeReadAgainWhenTheMarkCouldNotBeReadOrHasGone",
     "in=10 read=10@first deliver=10@second unmarked=10@second store@second mark=10@second ack=10@second expire=10 "
     "read=10@first"},
    {"AMarkThatAFaultHasDamagedIsNoMark", "in=10 read=10@first damage=10 read=10@second"},
    {"AReplicaThatHadItInFlightWhenItWasMarkedMayReadItToo",
     "in=10 deliver=10@second read=10@first store@second mark=10@second ack=10@second"},
    {"OneWithoutAReplyComesAgain", "in=10 deliver=10@first unstored@first nak=10@first waits read=10@second idle"},
    // The list does not show which of the two a replica has stored first.
    {"TwoResultsOfOneJobAreToldApartByTheirMarks",
     "in=10 in=11 deliver=10@first deliver=11@first store@first mark=11@first ack=11@first waits store@first "
     "mark=10@first ack=10@first rest"},
    {"OneThatCouldNotBeStoredIsMissingAtTheEnd",
     "in=10 in=11 deliver=10@first deliver=11@first refused@first store@first nak=10@first mark=11@first ack=11@first "
     "ok rest",
     "number 10 of the stream"},
    {"ADeliveryThatComesTwiceDoesNotMixThemUp",
     "in=10 in=11 deliver=10@first deliver=11@first deliver=10@first deliver=11@first store@first mark=10@first "
     "ack=10@first store@first mark=11@first ack=11@first ack=10@first ack=11@first rest"},
    {"OneOfTwoResultsOfAJobCannotStandInForTheOther",
     "in=10 in=11 deliver=10@first deliver=11@first store@first mark=11@first ack=11@first ack=10@first",
     "number 10 is taken off"},
    {"AResultThatWasNotReadIsMissingAtTheEnd", "in=10 waits rest",
     "J: its result is number 10 of the stream, and at the end dur_result-reader__sys_job_result has not heard it"},
    {"OneThatIsTerminatedNeedNotBeRead", "in=10 deliver=10@first term=10@first idle rest"},
    {"WhatAnotherLeaderMayNotDeliverAgainNeedNotBeRead",
     "in=10 deliver=10@first fault=nats.new_leader idle in=11 waits"},
    // The first time it had none in flight; after a restart the server reads anew which were acknowledged.
    {"AConsumerThatMayHaveNoMoreInFlightIsDeliveredNothingByAnotherLeader",
     "one_pending settled fault=nats.new_leader in=10 waits deliver=10@first fault=nats.new_leader in=11 idle "
     "fault=nats.restart in=12 waits"},
    // Its number may be given out again.
    {"WhatAPowerCutMayHaveTakenNeedNotBeRead", "in=10 fault=nats.power_cut idle in=10:K waits"},
};
using ResultsHeardTold = Told<ResultHeard>;
TEST_P(ResultsHeardTold, AreJudged) { judge(); }
INSTANTIATE_TEST_SUITE_P(Of, ResultsHeardTold, ::testing::ValuesIn(kResultsHeard), title_of);

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

}  // namespace
}  // namespace lockstep::sim
