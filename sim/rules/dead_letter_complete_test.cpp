// Which ends and messages need a dead letter, and what its index and the bus say of it.
#include "sim/rules/rule_fixture.h"
#include "sim/spec/giving_up.h"

namespace lockstep::sim {
namespace {

using namespace testing;

struct DeadLetterCompleteTest : RuleTest {
    DeadLetterCompleteTest() : RuleTest(rules::dead_letter_complete) {}

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

TEST_F(DeadLetterCompleteTest, TheIndexListsEveryLetter) {
    write_letter();
    rest();
    EXPECT_THAT(found, ElementsAre(HasSubstr("dlq:index does not list it")));
    list_letter();
    rest();
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(DeadLetterCompleteTest, AndNoneThatNeverWas) {
    list_letter();
    rest();
    EXPECT_THAT(found, ElementsAre("J: dlq:index lists it, and it has no dead letter"));
}

TEST_F(DeadLetterCompleteTest, ALetterMayExpireBeforeItsPlaceInTheIndex) {
    write_letter();
    list_letter();
    remove_letter(Removal::expired);
    rest();
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(DeadLetterCompleteTest, OneThatIsDeletedLeavesTheIndexToo) {
    write_letter();
    list_letter();
    remove_letter(Removal::deleted);
    rest();
    EXPECT_THAT(found, ElementsAre(HasSubstr("it has no dead letter")));
}

TEST_F(DeadLetterCompleteTest, AnIndexThatWasEvictedMayListFewer) {
    write_letter();
    list_letter();
    evict("dlq:index");
    rest();
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(DeadLetterCompleteTest, TheFirstCauseStays) {
    write_letter();
    write_letter();
    EXPECT_THAT(found, IsEmpty());
    write_letter("J", "timeout", Topology::kGateway);
    EXPECT_THAT(found, IsEmpty()) << "a gateway's dead letters are its own";
    write_letter("J", "late");
    EXPECT_THAT(found, ElementsAre(HasSubstr("and is overwritten with {\"reason_code\":\"late\"}")));
}

TEST_F(DeadLetterCompleteTest, ABadEndNeedsALetterThatSaysWhy) {
    move("J", "TIMEOUT");
    EXPECT_EQ(times_exercised(), 1U);
    rest();
    EXPECT_THAT(found, ElementsAre("J: it ended TIMEOUT, and it never had a dead letter"));
    write_letter("J", "");
    list_letter();
    rest();
    EXPECT_THAT(found, ElementsAre("J: it ended TIMEOUT, and its dead letter has no reason code"));
    tunables.reconciler_emit_dead_letter = false;
    rest();
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(DeadLetterCompleteTest, AnOutputThatIsWithheldHasALetterThatSaysSo) {
    move("J", "OUTPUT_QUARANTINED");
    write_letter();
    list_letter();
    rest();
    EXPECT_THAT(found, ElementsAre("J: its output is withheld, and its dead letter says job_failed"));
    remove_letter(Removal::deleted);
    write_letter("J", "output_quarantined_async");
    rest();
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(DeadLetterCompleteTest, AFailureThatMayBeRetriedNeedsNoneHoweverItsResultWasRead) {
    about_result(EventKind::read_back, When::applied, "J", {.status = cap::JOB_STATUS_FAILED_RETRYABLE});
    set_field("J", "state", "FAILED");
    rest();
    EXPECT_THAT(found, IsEmpty());
}

struct SpentMessageTest : DeadLetterCompleteTest {
    SpentMessageTest() {
        tunables.bus_max_deliver = 8;
        model().follow_deliveries(spec::first_followed(8), 8);
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
    void quiet_rest() { rest(true); }
};

TEST_F(SpentMessageTest, AMessageThatTheServerDeliversNoMoreNeedsALetter) {
    tell(EventKind::deliver, When::applied, 8);
    EXPECT_TRUE(model().waits()) << "it may still get one";
    exhaust();
    EXPECT_FALSE(model().waits());
    EXPECT_EQ(times_exercised(), 1U);
    rest();
    EXPECT_THAT(found, ElementsAre(HasSubstr("poison:CORDUM_SYS:7 has no dead letter")));
}

TEST_F(SpentMessageTest, NoneIsOwedWhereTheLastDeliveriesReachedNoReplica) {
    tell(EventKind::deliver, When::applied, 2);
    exhaust();
    rest();
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(SpentMessageTest, AMessageThatIsTerminatedNeedsOne) {
    tell(EventKind::term, When::applied);
    EXPECT_EQ(times_exercised(), 1U);
    rest();
    EXPECT_THAT(found, ElementsAre(": its message was terminated, and poison:CORDUM_SYS:7 has no dead letter"));
}

TEST_F(SpentMessageTest, AReplicaMayGoByALetterThatRedisHasForgottenSince) {
    write_letter("poison:CORDUM_SYS:7", "poison_message");
    keys.restore([this] { keys.remove(*keys.find("dlq:entry:poison:CORDUM_SYS:7")); });
    tell(EventKind::term, When::applied);
    rest();
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(SpentMessageTest, OneThatWasOnlyPublishedIsALetter) {
    tell(EventKind::deliver, When::applied, 8);
    publish("poison:CORDUM_SYS:7");
    tell(EventKind::term, When::applied);
    EXPECT_FALSE(model().waits());
    rest();
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(SpentMessageTest, WhatNatsHasLostIsNotWaitedFor) {
    tell(EventKind::deliver, When::applied, 8);
    fault("nats.power_cut");
    EXPECT_FALSE(model().waits());
    exhaust();
    rest();
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(SpentMessageTest, ALetterThatRedisHasLostIsNotPublished) {
    write_letter();
    list_letter();
    remove_letter(Removal::evicted);
    quiet_rest();
    EXPECT_THAT(found, IsEmpty());
}

struct LetterOfALostTimeTest : DeadLetterCompleteTest {
    void end() {
        set_field("J", "state", "TIMEOUT");
        write_letter("J", "timeout");
        list_letter();
    }
};

TEST_F(LetterOfALostTimeTest, OneThatWasRemovedBeforeTheLossWasWritten) {
    end();
    remove_letter(Removal::evicted);
    keys.restore([] {});
    rest();
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(LetterOfALostTimeTest, OneOfTwoPrimariesMayHaveItStill) {
    end();
    keys.restore([this] { remove_letter(Removal::evicted); });
    set_text("dlq:entry:J", R"({"reason_code":"timeout"})");
    remove_letter(Removal::evicted);
    keys.restore([] {});
    rest();
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(LetterOfALostTimeTest, OneThatRedisForgetsWhileItsEndStandsIsMissed) {
    end();
    keys.restore([this] { keys.remove(*keys.find("dlq:entry:J")); });
    rest();
    EXPECT_THAT(found, ElementsAre(HasSubstr("it never had a dead letter")));
}

TEST_F(LetterOfALostTimeTest, AnEndThatIsTakenBackTakesItsLetterAlong) {
    end();
    remove_letter(Removal::evicted);
    keys.restore([this] { keys.remove(*keys.find("job:meta:J")); });
    set_field("J", "state", "TIMEOUT");
    rest();
    EXPECT_THAT(found, ElementsAre(HasSubstr("it never had a dead letter")));
}

TEST_F(SpentMessageTest, OneThatIsWrittenAgainIsPublishedAgain) {
    write_letter();
    list_letter();
    remove_letter(Removal::evicted);
    write_letter();
    quiet_rest();
    EXPECT_THAT(found, ElementsAre(HasSubstr("has not been published")));
}

TEST_F(SpentMessageTest, ALetterAboutNoJobIsPublishedUnderTheTraceOfItsPacket) {
    write_letter("saga-expired-1");
    list_letter("saga-expired-1");
    quiet_rest();
    EXPECT_THAT(found, ElementsAre(HasSubstr("has not been published")));
    publish("", "saga_entry_expired", "saga-expired-1");
    quiet_rest();
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(SpentMessageTest, AWarningThatAnOutputIsStillReadableIsNotTheLetterOfItsJob) {
    write_letter();
    list_letter();
    publish("J", "quarantine_failed");
    quiet_rest();
    EXPECT_THAT(found, ElementsAre(HasSubstr("has not been published")));
}

TEST_F(SpentMessageTest, OneWhoseAcknowledgementWasLostIsSettled) {
    cap::BusPacket packet;
    for (const int number : {3, 8}) {
        tell(EventKind::deliver, When::applied, number, &packet);
        EXPECT_EQ(model().waits(), number == 8);
        tell(EventKind::ack, When::before);
        exhaust();
        rest();
        EXPECT_THAT(found, IsEmpty());
    }
}

TEST_F(SpentMessageTest, OneThatWasOnlyRequeuedIsNot) {
    tell(EventKind::deliver, When::applied, 8);
    tell(EventKind::nak, When::before);
    exhaust();
    rest();
    EXPECT_THAT(found, ElementsAre(HasSubstr("not delivered any more")));
}

TEST_F(SpentMessageTest, LettersOfBytesThatAreNoPacketArePublishedInSums) {
    write_undecodable("poison:CORDUM_SYS:7");
    write_undecodable("poison:CORDUM_SYS:8");
    publish_sum();
    EXPECT_TRUE(model().waits());
    quiet_rest();
    EXPECT_THAT(found, ElementsAre(HasSubstr("2 messages were dead-lettered")));
    publish_sum();
    EXPECT_FALSE(model().waits());
    quiet_rest();
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(SpentMessageTest, AndNoMoreThanThereWere) {
    write_undecodable("poison:CORDUM_SYS:7");
    now += std::chrono::hours{1};
    publish_sum();
    quiet_rest();
    EXPECT_THAT(found, IsEmpty());
    now += std::chrono::hours{1};
    publish_sum();
    quiet_rest();
    EXPECT_THAT(found, ElementsAre(HasSubstr("1 messages were dead-lettered because they are no packets, and 2 were")));
}

TEST_F(SpentMessageTest, ExceptAfterADisturbance) {
    write_undecodable("poison:CORDUM_SYS:7");
    now += std::chrono::hours{1};
    publish_sum();
    fault("redis.errors");
    publish_sum();
    EXPECT_THAT(found, IsEmpty());
    quiet_rest();
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(SpentMessageTest, AfterALossItIsNotKnownHowManyThereWere) {
    write_undecodable("poison:CORDUM_SYS:7");
    keys.restore([] {});
    now += std::chrono::hours{1};
    publish_sum();
    quiet_rest();
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(SpentMessageTest, AndOnceAMinuteAtMost) {
    using namespace std::chrono_literals;
    now = Time{10min};
    publish_sum();
    now = Time{11min};
    publish_sum();
    EXPECT_THAT(found, IsEmpty());
    now = Time{11min + 30s};
    publish_sum();
    EXPECT_THAT(found, ElementsAre(HasSubstr("a second time within")));
}

TEST_F(SpentMessageTest, AndKeepToALimitOfTheirOwn) {
    tunables.dlq_undecodable_max_size = 1;
    write_undecodable("poison:CORDUM_SYS:7");
    rest();
    EXPECT_THAT(found, IsEmpty());
    write_undecodable("poison:CORDUM_SYS:8");
    rest();
    EXPECT_THAT(found, ElementsAre(HasSubstr("lists more than 1 dead letters")));
}

struct EndedByOthersTest : SpentMessageTest {
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

TEST_F(EndedByOthersTest, TheSchedulerThatItsSubmissionComesToWritesItsLetter) {
    end("DENIED");
    rest();
    EXPECT_THAT(found, IsEmpty()) << "it has not come to any";
    handle("another");
    rest();
    EXPECT_THAT(found, IsEmpty()) << "what names another tenant is dropped";
    handle();
    rest();
    EXPECT_THAT(found, ElementsAre(HasSubstr("it was DENIED without a dead letter")));
    EXPECT_EQ(times_exercised(), 1U);
}

TEST_F(EndedByOthersTest, AndAnewWhereRedisHasLostIt) {
    set_field("J", "tenant", "t");
    set_field("J", "state", "FAILED");
    write_letter();
    list_letter();
    remove_letter(Removal::evicted);
    rest();
    EXPECT_THAT(found, IsEmpty());
    handle();
    rest();
    EXPECT_THAT(found, ElementsAre(HasSubstr("it was FAILED without a dead letter")));
}

// NATS counts its deliveries anew, and its processed mark says so.
TEST_F(EndedByOthersTest, WhatWasDeliveredBeforeAPowerCutMayHaveBeenHandled) {
    handle();
    fault("nats.power_cut");
    end("DENIED");
    handle();
    rest();
    EXPECT_THAT(found, IsEmpty());
}

// Its processed mark says so.
TEST_F(EndedByOthersTest, TheFirstDeliveryMayComeAfterTheSubmissionHasBeenHandled) {
    number = 2;
    handle();
    end("DENIED");
    number = sequence = 1;
    handle();
    rest();
    EXPECT_THAT(found, IsEmpty());
    handle();
    rest();
    EXPECT_THAT(found, ElementsAre(HasSubstr("it was DENIED without a dead letter"))) << "this is another submission";
}

TEST_F(EndedByOthersTest, AFailureThatMayBeRetriedHasNone) {
    set_field("J", "ls_retryable", "1");
    end("FAILED");
    handle();
    rest();
    EXPECT_THAT(found, IsEmpty());
    write_letter("J", "redelivery_dlq_retry");
    EXPECT_THAT(found, ElementsAre(HasSubstr("may be retried")));
}

struct SpentDeliveryTest : SpentMessageTest {
    SpentDeliveryTest() { now = Time{std::chrono::hours{1}}; }
    /// Of eight deliveries the fifth is the first at which a message is given up.
    void scheduler(EventKind kind, When when, std::int64_t number = 0) {
        const cap::BusPacket packet;
        tell(kind, when, number, &packet);
    }
    void deliver(std::int64_t number) { scheduler(EventKind::deliver, When::applied, number); }
};

TEST_F(SpentDeliveryTest, NoReplicaHandlesAMessageOfWhichFewDeliveriesAreLeft) {
    deliver(4);
    scheduler(EventKind::nak, When::before, 5'000'000'000);
    EXPECT_THAT(found, IsEmpty());
    EXPECT_EQ(times_exercised(), 0U);
    deliver(5);
    scheduler(EventKind::ack, When::before);
    EXPECT_THAT(found, ElementsAre(HasSubstr("is acknowledged at delivery 5 of 8: by then it is to be given up")));
    EXPECT_EQ(times_exercised(), 1U);
}

TEST_F(SpentDeliveryTest, NorRequeuesItUnlessItCannotBeGivenUp) {
    deliver(5);
    fault("redis.errors");
    scheduler(EventKind::nak, When::before, 5'000'000'000);
    EXPECT_THAT(found, IsEmpty());
    now = Time{std::chrono::minutes{30}};
    fault("redis.errors", "end");
    now = Time{std::chrono::hours{1}};
    deliver(6);
    scheduler(EventKind::nak, When::before, 5'000'000'000);
    EXPECT_THAT(found, ElementsAre(HasSubstr("is requeued at delivery 6 of 8")));
}

TEST_F(SpentDeliveryTest, OneThatAnEarlierDeliveryOfItMayHaveMeantIsNotJudged) {
    deliver(4);
    deliver(5);
    scheduler(EventKind::ack, When::before);
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(SpentDeliveryTest, TheLetterIsThereBeforeTheEnd) {
    deliver(5);
    scheduler(EventKind::term, When::before);
    EXPECT_THAT(found, ElementsAre(HasSubstr("poison:CORDUM_SYS:7 has no dead letter yet")));
    found.clear();
    write_letter("poison:CORDUM_SYS:7");
    scheduler(EventKind::term, When::before);
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(SpentDeliveryTest, OnlyAReplicaThatStopsWithTheLastDeliveryPublishesItAlone) {
    publish("poison:CORDUM_SYS:7");
    deliver(8);
    observe(EventKind::fault, {}, {.name = "stop", .from = "begin"});
    scheduler(EventKind::term, When::before);
    EXPECT_THAT(found, IsEmpty());
    befall(EventKind::node_up, kReplica);
    scheduler(EventKind::term, When::before);
    EXPECT_THAT(found, ElementsAre(HasSubstr("has no dead letter yet")));
}

}  // namespace
}  // namespace lockstep::sim
