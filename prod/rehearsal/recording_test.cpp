#include "prod/rehearsal/recording.h"

#include <gtest/gtest.h>

namespace lockstep::prod::rehearsal {
namespace {

TEST(MonitorLineTest, IsReadAsRedisWritesIt) {
    const auto line = parse_monitor_line(R"(1700000000.000042 [0 127.0.0.1:40000] "SET" "k" "a \"b\"\\\r\n\x00\xff")");
    ASSERT_TRUE(line);
    EXPECT_EQ(line->at_us, 1'700'000'000'000'042);
    EXPECT_EQ(line->client, "127.0.0.1:40000");
    EXPECT_FALSE(line->inside_script());
    EXPECT_EQ(line->words, (std::vector<std::string>{"SET", "k", std::string("a \"b\"\\\r\n\0\xff", 10)}));

    const auto inside = parse_monitor_line(R"(1700000000.000043 [0 lua] "DEL" "")");
    ASSERT_TRUE(inside);
    EXPECT_TRUE(inside->inside_script());
    EXPECT_EQ(inside->words.back(), "");
}

TEST(MonitorLineTest, OfAnotherFormIsNone) {
    for (const char* text : {"", "OK", "1700000000.0 [0 lua] \"GET\" \"k\"", "1700000000.000001 [0 lua]",
                             "1700000000.000001 [0 lua] \"GET", "1700000000.000001 [0 lua] \"\\xg0\""})
        EXPECT_FALSE(parse_monitor_line(text)) << text;
}

TEST(AckSubjectTest, NamesTheDelivery) {
    const auto plain = parse_ack_subject("$JS.ACK.CORDUM_SYS.dur.3.17.20.1700000000000000000.0");
    ASSERT_TRUE(plain);
    EXPECT_EQ(plain->stream, "CORDUM_SYS");
    EXPECT_EQ(plain->consumer, "dur");
    EXPECT_EQ(plain->deliveries, 3);
    EXPECT_EQ(plain->sequence, 17U);

    const auto with_domain = parse_ack_subject("$JS.ACK._.ACC.CORDUM_SYS.dur.1.18.21.1700000000000000000.0.rnd");
    ASSERT_TRUE(with_domain);
    EXPECT_EQ(with_domain->stream, "CORDUM_SYS");
    EXPECT_EQ(with_domain->sequence, 18U);

    EXPECT_FALSE(parse_ack_subject("$JS.ACK.CORDUM_SYS.dur"));
    EXPECT_FALSE(parse_ack_subject("sys.job.submit"));
}

}  // namespace
}  // namespace lockstep::prod::rehearsal
