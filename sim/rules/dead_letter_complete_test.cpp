// Which ends and messages need a dead letter, and what its index and the bus say of it.
#include "sim/rules/rule_fixture.h"
#include "sim/spec/giving_up.h"

namespace lockstep::sim {
namespace {

using namespace testing;

struct DeadLetterCompleteTest : RuleTest {
    DeadLetterCompleteTest() : RuleTest(rules::dead_letter_complete) {
        define({
            {"letter", [this](auto& of) { write_letter(first(of), second(of, "job_failed"), by); }},
            {"list", [this](auto& id) { list_letter(id); }},
            {"drop",
             [this](auto& how) {
                 remove_letter(how == "expired"   ? Removal::expired
                               : how == "evicted" ? Removal::evicted
                                                  : Removal::deleted);
             }},
            {"move", [this](auto& state) { move("J", state); }},
            {"state", [this](auto& to) { set_field("J", "state", to); }},
            {"rest", [this](auto&) { rest(); }},
            {"qrest", [this](auto&) { rest(true); }},
            {"silent", [this](auto&) { tunables.reconciler_emit_dead_letter = false; }},
            {"retryable",
             [this](auto&) {
                 about_result(EventKind::read_back, When::applied, "J", {.status = cap::JOB_STATUS_FAILED_RETRYABLE});
             }},
        });
    }

    void write_letter(const std::string& id = "J", const std::string& code = "job_failed",
                      fakes::NodeId client = kReplica) {
        set_text("dlq:entry:" + id, R"({"reason_code":")" + code + R"("})", client);
    }
    void list_letter(const std::string& id = "J", const std::string& key = "dlq:index") {
        keys.zset_set(at<SortedSet>(key), id, 1);
    }
    void remove_letter(Removal why) { keys.remove(*keys.find("dlq:entry:J"), why); }
    void rest(bool quiet = false) {
        found.clear();
        RuleTest::rest(quiet);
    }
};

constexpr Story kLetters[] = {
    {"TheIndexListsEveryLetter", "letter=J rest", "dlq:index does not list it"},
    {"AndIsRight", "letter=J list=J rest"},
    {"AndNoneThatNeverWas", "list=J rest", "J: dlq:index lists it, and it has no dead letter"},
    {"ALetterMayExpireBeforeItsPlaceInTheIndex", "letter=J list=J drop=expired rest"},
    {"OneThatIsDeletedLeavesTheIndexToo", "letter=J list=J drop=deleted rest", "it has no dead letter"},
    {"AnIndexThatWasEvictedMayListFewer", "letter=J list=J evict=dlq:index rest"},
    // A gateway's dead letters are its own.
    {"TheFirstCauseStays", "letter=J letter=J ok letter=J:timeout@gateway ok letter=J:late",
     "and is overwritten with {\"reason_code\":\"late\"}"},
    {"ABadEndNeedsALetter", "move=TIMEOUT times=1 rest", "J: it ended TIMEOUT, and it never had a dead letter"},
    {"ThatSaysWhy", "move=TIMEOUT letter=J: list=J rest",
     "J: it ended TIMEOUT, and its dead letter has no reason code"},
    {"WhereSchedulersWriteThem", "silent move=TIMEOUT rest"},
    {"AnOutputThatIsWithheldHasALetterThatSaysSo", "move=OUTPUT_QUARANTINED letter=J list=J rest",
     "J: its output is withheld, and its dead letter says job_failed"},
    {"AlsoOneThatAScanHasWithheld", "move=OUTPUT_QUARANTINED letter=J:output_quarantined_async list=J rest"},
    {"AFailureThatMayBeRetriedNeedsNoneHoweverItsResultWasRead", "retryable state=FAILED rest"},
};
using LettersTold = Told<DeadLetterCompleteTest>;
TEST_P(LettersTold, AreJudged) { judge(); }
INSTANTIATE_TEST_SUITE_P(Of, LettersTold, ::testing::ValuesIn(kLetters), title_of);

struct SpentMessageTest : DeadLetterCompleteTest {
    SpentMessageTest() {
        tunables.bus_max_deliver = 8;
        model().follow_deliveries(spec::first_followed(8), 8);
        define({
            {"deliver", [this](auto& number) { tell(EventKind::deliver, When::applied, std::stoi(number)); }},
            {"receive", [this](auto& number) { tell(EventKind::deliver, When::applied, std::stoi(number), &some); }},
            {"exhaust", [this](auto&) { exhaust(); }},
            {"term", [this](auto&) { tell(EventKind::term, When::applied); }},
            {"ack", [this](auto&) { tell(EventKind::ack, When::before); }},
            {"nak", [this](auto&) { tell(EventKind::nak, When::before); }},
            {"publish", [this](auto& id) { publish(id); }},
            {"saga", [this](auto&) { publish("", "saga_entry_expired", "saga-expired-1"); }},
            {"warn", [this](auto&) { publish("J", "quarantine_failed"); }},
            {"sum", [this](auto&) { publish_sum(); }},
            {"poison", [this](auto&) { write_letter("poison:CORDUM_SYS:7", "poison_message"); }},
            {"unpoison",
             [this](auto&) { keys.restore([this] { keys.remove(*keys.find("dlq:entry:poison:CORDUM_SYS:7")); }); }},
            {"undecodable", [this](auto& number) { write_undecodable("poison:CORDUM_SYS:" + number); }},
            {"keep", [this](auto& count) { tunables.dlq_undecodable_max_size = std::stoi(count); }},
        });
    }

    void tell(EventKind kind, When when, std::int64_t number = 0, const cap::BusPacket* packet = nullptr) {
        observe(
            kind, {},
            {.name = kSchedulersSubmissions, .stream = "CORDUM_SYS", .sequence = 7, .number = number, .packet = packet},
            when);
    }
    void exhaust() { tell(EventKind::max_deliveries, When::applied, 8); }
    /// `trace`: of the packet. An empty id: the dead letter is about no job.
    void publish(const std::string& id, const std::string& code = {}, const std::string& trace = {}) {
        cap::BusPacket packet;
        packet.set_trace_id(trace);
        packet.mutable_job_result()->set_job_id(id);
        packet.mutable_job_result()->set_error_code(code);
        packet.mutable_job_result()->set_error_message("1 messages not decodable");
        observe(EventKind::stored, {}, {.subject = engine::wire::kSubjectDlq, .packet = &packet});
    }
    void publish_sum() { publish("undecodable:CORDUM_SYS:sys.job.submit"); }
    void write_undecodable(const std::string& id) {
        write_letter(id, "poison_message");
        list_letter(id, "lockstep:undecodable:index");
    }

    cap::BusPacket some;
};

constexpr Story kSpentMessages[] = {
    {"AMessageThatTheServerDeliversNoMoreNeedsALetter", "deliver=8 waits exhaust idle times=1 rest",
     "poison:CORDUM_SYS:7 has no dead letter"},
    {"NoneIsOwedWhereTheLastDeliveriesReachedNoReplica", "deliver=2 exhaust rest"},
    {"AMessageThatIsTerminatedNeedsOne", "term times=1 rest",
     ": its message was terminated, and poison:CORDUM_SYS:7 has no dead letter"},
    {"AReplicaMayGoByALetterThatRedisHasForgottenSince", "poison unpoison term rest"},
    {"OneThatWasOnlyPublishedIsALetter", "deliver=8 publish=poison:CORDUM_SYS:7 term idle rest"},
    {"WhatNatsHasLostIsNotWaitedFor", "deliver=8 fault=nats.power_cut idle exhaust rest"},
    {"ALetterThatRedisHasLostIsNotPublished", "letter=J list=J drop=evicted qrest"},
    {"OneThatIsWrittenAgainIsPublishedAgain", "letter=J list=J drop=evicted letter=J qrest", "has not been published"},
    {"ALetterAboutNoJobIsPublished", "letter=saga-expired-1 list=saga-expired-1 qrest", "has not been published"},
    {"UnderTheTraceOfItsPacket", "letter=saga-expired-1 list=saga-expired-1 saga qrest"},
    {"AWarningThatAnOutputIsStillReadableIsNotTheLetterOfItsJob", "letter=J list=J warn qrest",
     "has not been published"},
    {"OneWhoseAcknowledgementWasLostIsSettled", "receive=3 idle ack exhaust rest ok receive=8 waits ack exhaust rest"},
    {"OneThatWasOnlyRequeuedIsNot", "deliver=8 nak exhaust rest", "not delivered any more"},
    {"LettersOfBytesThatAreNoPacketArePublishedInSums", "undecodable=7 undecodable=8 sum waits qrest",
     "2 messages were dead-lettered"},
    {"OfAllOfThem", "undecodable=7 undecodable=8 sum sum idle qrest"},
    {"AndOfNoMoreThanThereWere", "undecodable=7 +1h sum qrest ok +1h sum qrest",
     "1 messages were dead-lettered because they are no packets, and 2 were"},
    {"ExceptAfterADisturbance", "undecodable=7 +1h sum fault=redis.errors sum ok qrest"},
    {"AfterALossItIsNotKnownHowManyThereWere", "undecodable=7 failover +1h sum qrest"},
    {"AndOnceAMinuteAtMost", "+590s sum +1min sum ok +30s sum", "a second time within"},
    {"AndKeepToALimitOfTheirOwn", "keep=1 undecodable=7 rest ok undecodable=8 rest", "lists more than 1 dead letters"},
};
using SpentMessagesTold = Told<SpentMessageTest>;
TEST_P(SpentMessagesTold, AreJudged) { judge(); }
INSTANTIATE_TEST_SUITE_P(Of, SpentMessagesTold, ::testing::ValuesIn(kSpentMessages), title_of);

struct LetterOfALostTimeTest : DeadLetterCompleteTest {
    LetterOfALostTimeTest() {
        define({
            {"end", [this](auto&) { end(); }},
            {"forget", [this](auto&) { keys.restore([this] { keys.remove(*keys.find("dlq:entry:J")); }); }},
            {"begin_again", [this](auto&) { keys.restore([this] { keys.remove(*keys.find("job:meta:J")); }); }},
        });
    }
    void end() {
        set_field("J", "state", "TIMEOUT");
        write_letter("J", "timeout");
        list_letter();
    }
};

constexpr Story kLostTimes[] = {
    {"OneThatWasRemovedBeforeTheLossWasWritten", "end drop=evicted failover rest"},
    {"OneThatRedisForgetsWhileItsEndStandsIsMissed", "end forget rest", "it never had a dead letter"},
    {"AnEndThatIsTakenBackTakesItsLetterAlong", "end drop=evicted begin_again state=TIMEOUT rest",
     "it never had a dead letter"},
};
using LostTimesTold = Told<LetterOfALostTimeTest>;
TEST_P(LostTimesTold, AreJudged) { judge(); }
INSTANTIATE_TEST_SUITE_P(Of, LostTimesTold, ::testing::ValuesIn(kLostTimes), title_of);

TEST_F(LetterOfALostTimeTest, OneOfTwoPrimariesMayHaveItStill) {
    end();
    keys.restore([this] { remove_letter(Removal::evicted); });
    set_text("dlq:entry:J", R"({"reason_code":"timeout"})");
    remove_letter(Removal::evicted);
    keys.restore([] {});
    rest();
    EXPECT_THAT(found, IsEmpty());
}

struct EndedByOthersTest : SpentMessageTest {
    EndedByOthersTest() {
        define({
            {"end", [this](auto& state) { end(state.c_str()); }},
            {"own", [this](auto& state) { set_field("J", "tenant", "t"), set_field("J", "state", state); }},
            {"handle", [this](auto& tenant) { handle(tenant.empty() ? "t" : tenant.c_str()); }},
            {"number", [this](auto& of) { number = std::stoi(of); }},
            {"sequence", [this](auto& of) { sequence = std::stoull(of); }},
            {"retry", [this](auto&) { set_field("J", "ls_retryable", "1"); }},
        });
    }
    void end(const char* state) {
        set_field("J", "tenant", "t", Topology::kGateway);
        set_field("J", "state", state, Topology::kGateway);
    }
    void handle(const char* tenant = "t") {
        cap::BusPacket packet;
        packet.mutable_job_request()->set_job_id("J");
        packet.mutable_job_request()->set_topic("job.x");
        packet.mutable_job_request()->set_tenant_id(tenant);
        for (const EventKind kind : {EventKind::deliver, EventKind::ack})
            observe(kind, "J",
                    {.name = kSchedulersSubmissions, .sequence = sequence, .number = number, .packet = &packet},
                    kind == EventKind::ack ? When::before : When::applied);
        ++sequence;
    }

    std::uint64_t sequence = 1;  // of the next submission
    std::int64_t number = 1;     // of its delivery
};

constexpr Story kEndedByOthers[] = {
    // It has come to none; what names another tenant is dropped.
    {"TheSchedulerThatItsSubmissionComesToWritesItsLetter",
     "end=DENIED rest ok handle=another rest ok handle rest times=1", "it was DENIED without a dead letter"},
    {"AndAnewWhereRedisHasLostIt", "own=FAILED letter=J list=J drop=evicted rest ok handle rest",
     "it was FAILED without a dead letter"},
    // NATS counts its deliveries anew, and its processed mark says so.
    {"WhatWasDeliveredBeforeAPowerCutMayHaveBeenHandled", "handle fault=nats.power_cut end=DENIED handle rest"},
    // Its processed mark says so; the last one is another submission.
    {"TheFirstDeliveryMayComeAfterTheSubmissionHasBeenHandled",
     "number=2 handle end=DENIED number=1 sequence=1 handle rest ok handle rest",
     "it was DENIED without a dead letter"},
    {"AFailureThatMayBeRetriedHasNone", "retry end=FAILED handle rest ok letter=J:redelivery_dlq_retry",
     "may be retried"},
};
using EndedByOthersTold = Told<EndedByOthersTest>;
TEST_P(EndedByOthersTold, AreJudged) { judge(); }
INSTANTIATE_TEST_SUITE_P(Of, EndedByOthersTold, ::testing::ValuesIn(kEndedByOthers), title_of);

struct SpentDeliveryTest : SpentMessageTest {
    SpentDeliveryTest() {
        now = Time{std::chrono::hours{1}};
        define({
            {"deliver", [this](auto& number) { deliver(std::stoi(number)); }},
            {"nak", [this](auto& delay) { scheduler(EventKind::nak, When::before, duration_of(delay).count()); }},
            {"ack", [this](auto&) { scheduler(EventKind::ack, When::before); }},
            {"term", [this](auto&) { scheduler(EventKind::term, When::before); }},
        });
    }
    /// Of eight deliveries the fifth is the first at which a message is given up.
    void scheduler(EventKind kind, When when, std::int64_t number = 0) {
        const cap::BusPacket packet;
        tell(kind, when, number, &packet);
    }
    void deliver(std::int64_t number) { scheduler(EventKind::deliver, When::applied, number); }
};

constexpr Story kSpentDeliveries[] = {
    {"NoReplicaHandlesAMessageOfWhichFewDeliveriesAreLeft", "deliver=4 nak=5s ok times=0 deliver=5 ack times=1",
     "is acknowledged at delivery 5 of 8: by then it is to be given up"},
    {"NorRequeuesItUnlessItCannotBeGivenUp",
     "deliver=5 fault=redis.errors nak=5s ok +-30min heal=redis.errors +30min deliver=6 nak=5s",
     "is requeued at delivery 6 of 8"},
    {"OneThatAnEarlierDeliveryOfItMayHaveMeantIsNotJudged", "deliver=4 deliver=5 ack"},
    {"TheLetterIsThereBeforeTheEnd", "deliver=5 term", "poison:CORDUM_SYS:7 has no dead letter yet"},
    {"AndThenItMayEnd", "deliver=5 poison term"},
    {"OnlyAReplicaThatStopsWithTheLastDeliveryPublishesItAlone",
     "publish=poison:CORDUM_SYS:7 deliver=8 fault=stop term ok up term", "has no dead letter yet"},
};
using SpentDeliveriesTold = Told<SpentDeliveryTest>;
TEST_P(SpentDeliveriesTold, AreJudged) { judge(); }
INSTANTIATE_TEST_SUITE_P(Of, SpentDeliveriesTold, ::testing::ValuesIn(kSpentDeliveries), title_of);

}  // namespace
}  // namespace lockstep::sim
