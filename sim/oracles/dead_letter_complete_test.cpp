#include "sim/oracles/dead_letter_complete.h"

#include <gmock/gmock.h>

#include "engine/wire/messages.h"
#include "sim/oracles/test_oracle.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim {
namespace {

using fakes::EventKind;
using fakes::When;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kReplica;

class DeadLetterCompleteTest : public ::testing::Test {
protected:
    DeadLetterCompleteTest() {
        keys.add_observer(oracle);
        keys.act_for(kReplica);
    }
    void write_letter(const std::string& id = "J") {
        keys.set_string("dlq:entry:" + id, R"({"reason_code":"job_failed"})", fakes::redis::kNever);
    }
    void list_letter(const std::string& id = "J") {
        auto* index = keys.find("dlq:index");
        keys.zset_set(index != nullptr ? *index : keys.create<fakes::redis::SortedSet>("dlq:index"), id, 1);
    }
    void rest() { oracle.at_rest({.redis = keys}); }

    testing::KeepingJudge judge;
    engine::Tunables tunables;
    DeadLetterComplete oracle{judge, tunables};
    fakes::redis::Keyspace keys;
};

TEST_F(DeadLetterCompleteTest, TheIndexListsEveryLetter) {
    write_letter();
    rest();
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("dlq:index does not list it")));
    judge.found.clear();
    list_letter();
    rest();
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(DeadLetterCompleteTest, AndNoneThatNeverWas) {
    list_letter();
    rest();
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("it has no dead letter")));
}

TEST_F(DeadLetterCompleteTest, ALetterMayRunOutBeforeItsPlaceInTheIndex) {
    write_letter();
    list_letter();
    keys.remove(*keys.find("dlq:entry:J"), fakes::redis::Removal::expired);
    rest();
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(DeadLetterCompleteTest, OneThatIsTakenOutGoesFromTheIndexToo) {
    write_letter();
    list_letter();
    keys.remove(*keys.find("dlq:entry:J"));
    rest();
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("it has no dead letter")));
}

class SpentMessageTest : public DeadLetterCompleteTest {
protected:
    SpentMessageTest() { tunables.bus_max_deliver = 8; }

    void tell(EventKind kind, When when, std::int64_t number = 0) {
        fakes::Event event = testing::event_of(kind, {}, when);
        event.node = kReplica;
        event.stream = "CORDUM_SYS";
        event.name = "dur_cordum-scheduler__sys_job_submit";
        event.sequence = 7;
        event.number = number;
        judge.tell(oracle, event, {});
    }
    void give_up() { tell(EventKind::max_deliveries, When::applied, 8); }
    void tell_the_bus(const std::string& id, const std::string& text = {}) {
        cap::BusPacket packet;
        packet.mutable_job_result()->set_job_id(id);
        packet.mutable_job_result()->set_error_message(text);
        fakes::Event event = testing::event_of(EventKind::stored, {});
        event.subject = "sys.job.dlq";
        event.packet = &packet;
        judge.tell(oracle, event, {});
    }
    void tell_the_bus_of_no_job(const std::string& trace) {
        cap::BusPacket packet;
        packet.set_trace_id(trace);
        packet.mutable_job_result()->set_error_code("saga_entry_expired");
        fakes::Event event = testing::event_of(EventKind::stored, {});
        event.subject = "sys.job.dlq";
        event.packet = &packet;
        judge.tell(oracle, event, {});
    }
    void write_undecodable(const std::string& id) {
        keys.set_string("dlq:entry:" + id, R"({"reason_code":"poison_message"})", fakes::redis::kNever);
        auto* index = keys.find("lockstep:undecodable:index");
        keys.zset_set(index != nullptr ? *index : keys.create<fakes::redis::SortedSet>("lockstep:undecodable:index"),
                      id, 1);
    }
    void quiet_rest() { oracle.at_rest({.redis = keys, .quiet = true}); }
};

TEST_F(SpentMessageTest, AMessageThatTheServerDeliversNoMoreNeedsALetter) {
    tell(EventKind::deliver, When::applied, 8);
    EXPECT_TRUE(oracle.waits()) << "it may still get one";
    give_up();
    EXPECT_FALSE(oracle.waits());
    rest();
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("poison:CORDUM_SYS:7 has no dead letter")));
}

TEST_F(SpentMessageTest, NobodyCanWriteOneWhereTheLastDeliveriesReachedNobody) {
    tell(EventKind::deliver, When::applied, 2);
    give_up();
    rest();
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(SpentMessageTest, WhatTheBusAloneWasToldOfIsALetter) {
    tell(EventKind::deliver, When::applied, 8);
    tell_the_bus("poison:CORDUM_SYS:7");
    tell(EventKind::term, When::applied);
    EXPECT_FALSE(oracle.waits());
    rest();
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(DeadLetterCompleteTest, AFailureThatMayBeRetriedNeedsNoneHoweverItsResultWasRead) {
    cap::BusPacket packet;
    packet.mutable_job_result()->set_job_id("J");
    packet.mutable_job_result()->set_status(cap::JOB_STATUS_FAILED_RETRYABLE);
    fakes::Event event = testing::event_of(EventKind::read_back, "J");
    event.subject = "sys.job.result";
    event.packet = &packet;
    judge.tell(oracle, event, {});
    keys.hash_set(keys.create<fakes::redis::Hash>("job:meta:J"), "state", "FAILED");
    rest();
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(SpentMessageTest, NobodyTellsOfALetterThatRedisHasLost) {
    write_letter();
    list_letter();
    keys.remove(*keys.find("dlq:entry:J"), fakes::redis::Removal::evicted);
    quiet_rest();
    EXPECT_THAT(judge.found, IsEmpty());
}

class LetterOfALostTimeTest : public DeadLetterCompleteTest {
protected:
    void end() {
        keys.hash_set(keys.create<fakes::redis::Hash>("job:meta:J"), "state", "TIMEOUT");
        write_letter();
        list_letter();
    }
    void evict_letter() { keys.remove(*keys.find("dlq:entry:J"), fakes::redis::Removal::evicted); }
};

TEST_F(LetterOfALostTimeTest, OneThatHadGoneBeforeRedisForgotWasWritten) {
    end();
    evict_letter();
    oracle.restored(keys);
    rest();
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(LetterOfALostTimeTest, OneOfTwoPrimariesMayHaveItStill) {
    end();
    fakes::redis::Keyspace of_the_other;
    of_the_other.hash_set(of_the_other.create<fakes::redis::Hash>("job:meta:J"), "state", "TIMEOUT");
    of_the_other.set_string("dlq:entry:J", R"({"reason_code":"timeout"})", 1);
    evict_letter();
    oracle.restored(of_the_other);
    oracle.restored(keys);
    rest();
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(LetterOfALostTimeTest, OneThatRedisForgetsWhileItsEndStandsIsMissed) {
    end();
    fakes::redis::Keyspace of_its_end_only;
    of_its_end_only.hash_set(of_its_end_only.create<fakes::redis::Hash>("job:meta:J"), "state", "TIMEOUT");
    oracle.restored(of_its_end_only);
    oracle.at_rest({.redis = of_its_end_only});
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("it never had a dead letter")));
}

TEST_F(LetterOfALostTimeTest, AnEndThatIsTakenBackTakesItsLetterAlong) {
    end();
    evict_letter();
    oracle.restored({});
    oracle.hash_set(kReplica, "job:meta:J", "state", nullptr, "TIMEOUT");
    rest();
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("it never had a dead letter")));
}

TEST_F(SpentMessageTest, OneThatIsWrittenAgainIsToldAgain) {
    write_letter();
    list_letter();
    keys.remove(*keys.find("dlq:entry:J"), fakes::redis::Removal::evicted);
    write_letter();
    quiet_rest();
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("nobody has told the bus")));
}

TEST_F(SpentMessageTest, ALetterAboutNoJobIsToldUnderTheTraceOfItsPacket) {
    write_letter("saga-expired-1");
    list_letter("saga-expired-1");
    quiet_rest();
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("nobody has told the bus")));
    judge.found.clear();
    tell_the_bus_of_no_job("saga-expired-1");
    quiet_rest();
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(SpentMessageTest, WhoseAcknowledgementWasLostItIsDoneWith) {
    tell(EventKind::deliver, When::applied, 3);
    EXPECT_FALSE(oracle.waits());
    tell(EventKind::ack, When::before);
    give_up();
    rest();
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(SpentMessageTest, OneThatWasOnlyHandedBackIsNot) {
    tell(EventKind::deliver, When::applied, 8);
    tell(EventKind::nak, When::before);
    give_up();
    rest();
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("not delivered any more")));
}

TEST_F(SpentMessageTest, LettersOfBytesThatNobodyCanReadAreToldOfTogether) {
    write_undecodable("poison:CORDUM_SYS:7");
    write_undecodable("poison:CORDUM_SYS:8");
    tell_the_bus("undecodable:CORDUM_SYS:sys.job.submit", "1 messages not decodable");
    EXPECT_TRUE(oracle.waits());
    quiet_rest();
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("2 messages were buried")));
    judge.found.clear();
    tell_the_bus("undecodable:CORDUM_SYS:sys.job.submit", "1 messages not decodable");
    quiet_rest();
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(SpentMessageTest, AndOfNoMoreThanThereWere) {
    write_undecodable("poison:CORDUM_SYS:7");
    tell_the_bus("undecodable:CORDUM_SYS:sys.job.submit", "1 messages not decodable");
    quiet_rest();
    EXPECT_TRUE(judge.found.empty());
    tell_the_bus("undecodable:CORDUM_SYS:sys.job.submit", "1 messages not decodable");
    quiet_rest();
    EXPECT_EQ(judge.found.size(), 1U);
}

TEST_F(SpentMessageTest, AndOnceAMinuteAtMost) {
    const auto tell_at = [this](Time now) {
        cap::BusPacket packet;
        packet.mutable_job_result()->set_job_id("undecodable:CORDUM_SYS:sys.job.submit");
        packet.mutable_job_result()->set_error_message("1 messages not decodable");
        fakes::Event event = testing::event_of(EventKind::stored, {});
        event.node = kReplica;
        event.subject = "sys.job.dlq";
        event.packet = &packet;
        judge.tell(oracle, event, now);
    };
    using namespace std::chrono_literals;
    tell_at(Time{10min});
    tell_at(Time{11min});
    EXPECT_THAT(judge.found, IsEmpty());
    tell_at(Time{11min + 30s});
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("a second time within")));
}

TEST_F(SpentMessageTest, AndKeepToALimitOfTheirOwn) {
    tunables.dlq_undecodable_max_size = 1;
    write_undecodable("poison:CORDUM_SYS:7");
    rest();
    EXPECT_THAT(judge.found, IsEmpty());
    write_undecodable("poison:CORDUM_SYS:8");
    rest();
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("lists more than 1 letters")));
}

class EndedByOthersTest : public DeadLetterCompleteTest {
protected:
    EndedByOthersTest() { judge.number = 1; }
    void end(const char* state) {
        oracle.hash_set(Topology::kGateway, "job:meta:J", "tenant", nullptr, "t");
        oracle.hash_set(Topology::kGateway, "job:meta:J", "state", nullptr, state);
    }
    void handle() {
        cap::BusPacket packet;
        packet.mutable_job_request()->set_job_id("J");
        packet.mutable_job_request()->set_topic("job.x");
        packet.mutable_job_request()->set_tenant_id("t");
        for (const EventKind kind : {EventKind::deliver, EventKind::ack}) {
            fakes::Event event = testing::event_of(kind, "J", kind == EventKind::ack ? When::before : When::applied);
            event.node = kReplica;
            event.packet = &packet;
            judge.tell(oracle, event, {});
        }
    }
};

TEST_F(EndedByOthersTest, WhoeverComesAcrossItWritesItsLetter) {
    end("DENIED");
    rest();
    EXPECT_THAT(judge.found, IsEmpty()) << "nobody has come across it";
    handle();
    rest();
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("it was DENIED without a dead letter")));
}

// NATS counts its deliveries anew, and its processed mark says so.
TEST_F(EndedByOthersTest, WhatWasHandedOutBeforeAPowerCutMayHaveBeenDealtWith) {
    handle();
    fakes::Event cut = testing::event_of(EventKind::fault, {});
    cut.name = "nats.power_cut";
    judge.tell(oracle, cut, Time{});
    end("DENIED");
    handle();
    rest();
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(EndedByOthersTest, AFailureThatMayBeRetriedHasNone) {
    oracle.hash_set(kReplica, "job:meta:J", "ls_retryable", nullptr, "1");
    end("FAILED");
    handle();
    rest();
    EXPECT_THAT(judge.found, IsEmpty());
    keys.set_string("dlq:entry:J", R"({"reason_code":"redelivery_dlq_retry"})", fakes::redis::kNever);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("may be retried")));
}

class SpentDeliveryTest : public SpentMessageTest {
protected:
    /// Of eight deliveries the fifth is the first at which a message is given up.
    void scheduler(EventKind kind, When when, std::int64_t number = 0) {
        cap::BusPacket packet;
        fakes::Event event = testing::event_of(kind, {}, when);
        event.node = kReplica;
        event.stream = "CORDUM_SYS";
        event.name = "dur_cordum-scheduler__sys_job_submit";
        event.sequence = 7;
        event.number = number;
        event.packet = &packet;
        judge.tell(oracle, event, Time{std::chrono::hours{1}});
    }
};

TEST_F(SpentDeliveryTest, NobodyHandlesAMessageOfWhichFewDeliveriesAreLeft) {
    scheduler(EventKind::deliver, When::applied, 4);
    scheduler(EventKind::nak, When::before, 5'000'000'000);
    EXPECT_THAT(judge.found, IsEmpty());
    scheduler(EventKind::deliver, When::applied, 5);
    scheduler(EventKind::ack, When::before);
    EXPECT_THAT(judge.found,
                ElementsAre(HasSubstr("is acknowledged at delivery 5 of 8: by then it is to be given up")));
}

TEST_F(SpentDeliveryTest, NorHandsItBackUnlessItCannotBeGivenUp) {
    scheduler(EventKind::deliver, When::applied, 5);
    fakes::Event fault = testing::event_of(EventKind::fault, {});
    fault.name = "redis.errors";
    fault.from = "begin";
    judge.tell(oracle, fault, Time{std::chrono::hours{1}});
    scheduler(EventKind::nak, When::before, 5'000'000'000);
    EXPECT_THAT(judge.found, IsEmpty());
    fault.from = "end";
    judge.tell(oracle, fault, Time{std::chrono::minutes{30}});
    scheduler(EventKind::deliver, When::applied, 6);
    scheduler(EventKind::nak, When::before, 5'000'000'000);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("is handed back at delivery 6 of 8")));
}

TEST_F(SpentDeliveryTest, OneThatAnEarlierDeliveryOfItMayHaveMeantIsNotJudged) {
    scheduler(EventKind::deliver, When::applied, 4);
    scheduler(EventKind::deliver, When::applied, 5);
    scheduler(EventKind::ack, When::before);
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(SpentDeliveryTest, TheLetterIsThereBeforeTheEnd) {
    scheduler(EventKind::deliver, When::applied, 5);
    scheduler(EventKind::term, When::before);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("poison:CORDUM_SYS:7 has no dead letter yet")));
    judge.found.clear();
    write_letter("poison:CORDUM_SYS:7");
    scheduler(EventKind::term, When::before);
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(SpentDeliveryTest, TheBusAloneIsToldWhereTheLastDeliveryIsInTheHandsOfOneThatEnds) {
    tell_the_bus("poison:CORDUM_SYS:7");
    scheduler(EventKind::deliver, When::applied, 8);
    fakes::Event stop = testing::event_of(EventKind::fault, {});
    stop.name = "stop";
    stop.from = "begin";
    stop.node = kReplica;
    judge.tell(oracle, stop, {});
    scheduler(EventKind::term, When::before);
    EXPECT_THAT(judge.found, IsEmpty());
    stop.kind = EventKind::node_up;
    judge.tell(oracle, stop, {});
    scheduler(EventKind::term, When::before);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("has no dead letter yet")));
}

}  // namespace
}  // namespace lockstep::sim
