#include "prod/nats/jetstream_api.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace lockstep::prod::jetstream {
namespace {

using namespace std::chrono_literals;

engine::ConsumerSpec submit_consumer() {
    return {.stream = "CORDUM_SYS",
            .subject = "sys.job.submit",
            .queue = "cordum-scheduler",
            .durable = "dur_cordum-scheduler__sys_job_submit",
            .ack_wait = 10min,
            .max_deliver = 100,
            .max_ack_pending = 2048};
}

TEST(AckSubject, ReadsTheFormWithoutADomain) {
    const auto info = parse_ack_subject("$JS.ACK.CORDUM_SYS.dur_x.3.41.17.1709.0");
    ASSERT_TRUE(info);
    EXPECT_EQ(info->stream, "CORDUM_SYS");
    EXPECT_EQ(info->delivered, 3U);
    EXPECT_EQ(info->sequence, 41U);
    EXPECT_EQ(info->stored_at.time_since_epoch(), std::chrono::nanoseconds(1709));
}

TEST(AckSubject, ReadsTheFormWithADomain) {
    for (const char* reply :
         {"$JS.ACK.hub.AH3D.CORDUM_SYS.dur_x.3.41.17.1709.0", "$JS.ACK._.AH3D.CORDUM_SYS.dur_x.3.41.17.1709.0.rnd"}) {
        const auto info = parse_ack_subject(reply);
        ASSERT_TRUE(info) << reply;
        EXPECT_EQ(info->stream, "CORDUM_SYS");
        EXPECT_EQ(info->delivered, 3U);
        EXPECT_EQ(info->sequence, 41U);
        EXPECT_EQ(info->stored_at.time_since_epoch(), std::chrono::nanoseconds(1709)) << reply;
    }
}

TEST(AckSubject, RefusesEverythingElse) {
    for (const char* reply :
         {"", "_INBOX.x", "$JS.ACK.", "$JS.ACK.a.b.c.d", "$JS.ACK.s.c.x.41.17.1709.0", "$JS.ACK.s.c.1.2.3.4.5.6"})
        EXPECT_FALSE(parse_ack_subject(reply)) << reply;
}

TEST(ConsumerDescription, NamesItsLeaderWhereTheServerIsOneOfACluster) {
    const std::string counts = R"("num_pending":3,"num_ack_pending":2,"ack_floor":{"consumer_seq":4,"stream_seq":7})";
    const auto alone = parse_consumer_state("{" + counts + "}");
    ASSERT_TRUE(alone && *alone);
    EXPECT_EQ((*alone)->leader, "");
    EXPECT_EQ((*alone)->ack_floor.value(), 7U);
    const auto led = parse_consumer_state("{" + counts + R"(,"cluster":{"name":"three","leader":"n1","replicas":[]}})");
    ASSERT_TRUE(led && *led);
    EXPECT_EQ((*led)->leader, "n1");
    for (const char* odd : {R"("three")", R"({"leader":7})", "{}", "null"}) {
        const auto read = parse_consumer_state("{" + counts + R"(,"cluster":)" + odd + "}");
        ASSERT_TRUE(read && *read) << odd;
        EXPECT_EQ((*read)->leader, "") << odd;
    }
}

TEST(PublishAckAnswer, IsReadWithAndWithoutDuplicate) {
    EXPECT_EQ(parse_publish_ack(R"({"stream":"S","seq":7})")->sequence.value(), 7U);
    EXPECT_TRUE(parse_publish_ack(R"({"stream":"S","seq":7,"duplicate":true})")->duplicate);
    EXPECT_FALSE(parse_publish_ack(R"({"stream":"S","seq":7})")->duplicate);
}

TEST(PublishAckAnswer, AnErrorOrNonsenseIsAnError) {
    const auto full =
        parse_publish_ack(R"({"error":{"code":503,"err_code":10077,"description":"maximum messages exceeded"}})");
    ASSERT_FALSE(full);
    EXPECT_EQ(full.error().err_code, 10077);
    EXPECT_FALSE(parse_publish_ack("+OK"));
    EXPECT_FALSE(parse_publish_ack("{}"));
}

// Whoever learns our inbox's name can answer whatever it likes.
TEST(Answers, WithMembersOfAnyOtherTypeAreErrorsAndNoMore) {
    for (const std::string value : {"\"text\"", "-1", "1.5", "true", "null", "[1]", "{}"}) {
        EXPECT_FALSE(parse_status(R"({"error":{"code":)" + value + R"(,"err_code":)" + value + R"(,"description":)" +
                                  value + "}}"));
        EXPECT_FALSE(parse_publish_ack(R"({"stream":"S","seq":)" + value + "}")) << value;
        EXPECT_FALSE(parse_stream_state(R"({"state":{"last_seq":)" + value + "}}")) << value;
        EXPECT_FALSE(parse_stored_message(R"({"message":{"seq":)" + value + "}}")) << value;
        const auto stored =
            parse_stored_message(R"({"message":{"seq":7,"hdrs":)" + value + R"(,"data":)" + value + "}}");
        ASSERT_TRUE(stored) << value;
        EXPECT_EQ((*stored)->sequence.value(), 7U);
        const auto consumer = parse_consumer(R"({"config":{"deliver_subject":)" + value + R"(,"ack_wait":)" + value +
                                                 R"(,"max_deliver":)" + value + "}}",
                                             submit_consumer());
        ASSERT_TRUE(consumer) << value;
        EXPECT_NE(consumer->difference, "") << value;
        EXPECT_NE(parse_consumer(R"({"config":)" + value + "}", submit_consumer())->difference, "") << value;
        (void)parse_publish_ack(R"({"stream":)" + value + R"(,"seq":7,"duplicate":)" + value + "}");
    }
    EXPECT_FALSE(parse_publish_ack(std::string(100'000, '[')));
}

TEST(StreamStateAnswer, ATimeThatTheClockCannotCountIsTheEpoch) {
    const auto created = [](const std::string& time) {
        return parse_stream_state(R"({"created":")" + time + R"(","config":{},"state":{"last_seq":7}})")
            .value()
            .created;
    };
    EXPECT_EQ(created("2026-01-01T00:00:00.5Z").time_since_epoch(), std::chrono::milliseconds(1'767'225'600'500));
    EXPECT_EQ(created("0001-01-01T00:00:00Z"), engine::WallTime{}) << "as a server of Go writes no time";
    EXPECT_EQ(created("-292277022399-01-01T00:00:00Z"), engine::WallTime{});
}

TEST(StreamStateAnswer, SaysWhetherMessagesOrBytesHaveALimit) {
    const auto limited = [](const std::string& config) {
        const auto state = parse_stream_state(R"({"config":{)" + config + R"(},"state":{"last_seq":7}})");
        return state && state->limited;
    };
    EXPECT_FALSE(limited(R"("max_msgs":-1,"max_bytes":-1,"max_msgs_per_subject":-1,"max_age":1)"));
    EXPECT_TRUE(limited(R"("max_msgs":10,"max_bytes":-1)"));
    EXPECT_TRUE(limited(R"("max_msgs":-1,"max_bytes":10)"));
    EXPECT_TRUE(limited(R"("max_msgs_per_subject":1)"));
}

TEST(StreamStateAnswer, SaysWhetherServersOfAClusterHoldIt) {
    const auto clustered = [](const std::string& cluster) {
        const auto state = parse_stream_state(R"({"config":{},"state":{"last_seq":7})" + cluster + "}");
        return state && state->clustered;
    };
    EXPECT_FALSE(clustered(""));
    EXPECT_TRUE(clustered(R"(,"cluster":{"name":"c","leader":"n1"})"));
    EXPECT_TRUE(clustered(R"(,"cluster":{"name":"c"})")) << "nobody leads it now";
}

TEST(StoredMessageAnswer, CarriesBytesAndMessageId) {
    // "NATS/1.0\r\nNats-Msg-Id: jobreq:J1:1\r\n\r\n" and "\0\xff"
    const auto found = parse_stored_message(
        R"({"message":{"subject":"s","seq":9,"hdrs":"TkFUUy8xLjANCk5hdHMtTXNnLUlkOiBqb2JyZXE6SjE6MQ0KDQo=","data":"AP8="}})");
    ASSERT_TRUE(found);
    ASSERT_TRUE(*found);
    EXPECT_EQ((*found)->sequence.value(), 9U);
    EXPECT_EQ((*found)->message_id, "jobreq:J1:1");
    EXPECT_EQ((*found)->payload, std::string("\0\xff", 2));
}

TEST(StoredMessageAnswer, NoMessageIsNoError) {
    const auto none =
        parse_stored_message(R"({"error":{"code":404,"err_code":10037,"description":"no message found"}})");
    ASSERT_TRUE(none);
    EXPECT_FALSE(*none);
    EXPECT_FALSE(parse_stored_message(R"({"error":{"code":404,"err_code":10059,"description":"stream not found"}})"));
}

TEST(Consumer, ThatWasJustCreatedHasNoDifference) {
    const auto spec = submit_consumer();
    const auto created = nlohmann::json::parse(consumer_create(spec));
    const auto binding = parse_consumer(created.dump(), spec);
    ASSERT_TRUE(binding);
    EXPECT_EQ(binding->difference, "");
    EXPECT_EQ(binding->deliver_subject, "_INBOX.lockstep.dur_cordum-scheduler__sys_job_submit");
    EXPECT_EQ(binding->deliver_group, "cordum-scheduler");
}

TEST(Consumer, OfAPeerIsBoundToByItsOwnDeliverSubject) {
    const auto spec = submit_consumer();
    auto theirs = nlohmann::json::parse(consumer_create(spec));
    theirs["config"]["deliver_subject"] = "_INBOX.peer";
    const auto binding = parse_consumer(theirs.dump(), spec);
    EXPECT_EQ(binding->deliver_subject, "_INBOX.peer");
    EXPECT_EQ(binding->difference, "");
}

TEST(Consumer, WithOtherSettingsSaysWhichDiffer) {
    const auto spec = submit_consumer();
    auto theirs = nlohmann::json::parse(consumer_create(spec));
    theirs["config"]["ack_wait"] = 30'000'000'000;
    theirs["config"]["max_deliver"] = 5;
    EXPECT_EQ(parse_consumer(theirs.dump(), spec)->difference,
              "ack_wait is 30s, wanted 10m; max_deliver is 5, wanted 100");
}

TEST(ConsumerUpdate, RepeatsWhatThereIsAndChangesWhatIsAsked) {
    const std::string info =
        R"({"stream_name":"S","config":{"durable_name":"D","ack_wait":600000000000,"max_deliver":100,"novelty":{"a":[1]}}})";
    const auto body = consumer_update(info, {.ack_wait = 30s, .rate_limit_bps = 256'000'000});
    ASSERT_TRUE(body);
    const auto read = nlohmann::json::parse(*body);
    EXPECT_EQ(read, nlohmann::json::parse(R"({"stream_name":"S","config":{"durable_name":"D","ack_wait":30000000000,
        "max_deliver":100,"novelty":{"a":[1]},"rate_limit_bps":256000000}})"));
    EXPECT_EQ(*parse_difference(info, {.ack_wait = 30s, .max_deliver = 100, .max_ack_pending = 7}),
              "ack_wait 10m -> 30s, max_ack_pending 0 -> 7");
    EXPECT_EQ(*parse_difference(info, {.ack_wait = 10min}), "");
    EXPECT_FALSE(consumer_update(R"({"error":{"code":404}})", {}));
    EXPECT_FALSE(consumer_update(R"({"config":7})", {}));
}

TEST(Consumer, HasALimitOnlyWhenOneIsWanted) {
    auto spec = submit_consumer();
    EXPECT_FALSE(nlohmann::json::parse(consumer_create(spec))["config"].contains("rate_limit_bps"));
    EXPECT_EQ(parse_consumer(consumer_create(spec), spec)->rate_limit_bps, 0);
    spec.rate_limit_bps = 256'000'000;
    EXPECT_EQ(parse_consumer(consumer_create(spec), spec)->rate_limit_bps, 256'000'000);
}

TEST(HandedOut, IsReadAndMissingPartsAreNothing) {
    const auto out = parse_handed_out(R"({"delivered":{"consumer_seq":9,"stream_seq":41},"push_bound":true})");
    ASSERT_TRUE(out);
    EXPECT_EQ(out->stream_sequence, 41U);
    EXPECT_EQ(out->consumer_sequence, 9U);
    EXPECT_TRUE(out->bound);
    EXPECT_FALSE(parse_handed_out(R"({"delivered":[]})")->bound);
    EXPECT_FALSE(parse_handed_out("nonsense"));
}

TEST(AckSubject, OfAnUnseenDeliveryReadsAsOne) {
    const std::string subject = ack_subject("S", "dur_x", 41, 9);
    const auto info = parse_ack_subject(subject);
    ASSERT_TRUE(info);
    EXPECT_EQ(info->stream, "S");
    EXPECT_EQ(info->sequence, 41U);
}

TEST(Nak, CarriesItsDelayInNanoseconds) {
    EXPECT_EQ(nak_body(0s), "-NAK");
    EXPECT_EQ(nak_body(1500ms), "-NAK {\"delay\": 1500000000}");
}

TEST(Requests, AreTheJsonThatTheServerReads) {
    EXPECT_EQ(next_by_subject("worker.w.jobs", 0), R"({"next_by_subj":"worker.w.jobs","seq":1})");
    const auto stream = nlohmann::json::parse(stream_create({"S", {"a.>", "b"}, 168h, 3}));
    EXPECT_EQ(stream["max_age"], 604'800'000'000'000);
    EXPECT_EQ(stream["num_replicas"], 3);
    EXPECT_EQ(stream["retention"], "limits");
}

}  // namespace
}  // namespace lockstep::prod::jetstream
