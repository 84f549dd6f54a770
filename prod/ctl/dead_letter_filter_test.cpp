#include "prod/ctl/dead_letter_filter.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace lockstep::prod {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

const json kLetter{{"job_id", "j"}, {"topic", "job.a"}, {"reason_code", "timeout"}};

bool fits_at_age(const LetterFilter& filter, std::chrono::seconds age) {
    return fits(filter, kLetter, "acme", 1000, 1000 + age.count());
}

TEST(DeadLetterFilter, LeavesNothingOutUnlessTold) {
    EXPECT_FALSE(LetterFilter{}.narrows());
    EXPECT_TRUE(fits_at_age({}, 0s));
    EXPECT_FALSE(fits({}, json("no object"), "", 0, 0));
}

TEST(DeadLetterFilter, EveryConditionHasToHold) {
    EXPECT_TRUE(
        fits_at_age({.topic = "job.a", .tenant = "acme", .reason = "timeout", .older_than = {}, .newer_than = {}}, 0s));
    EXPECT_FALSE(
        fits_at_age({.topic = "job.b", .tenant = "acme", .reason = "timeout", .older_than = {}, .newer_than = {}}, 0s));
    EXPECT_FALSE(fits_at_age(
        {.topic = "job.a", .tenant = "other", .reason = "timeout", .older_than = {}, .newer_than = {}}, 0s));
    EXPECT_FALSE(fits_at_age(
        {.topic = "job.a", .tenant = "acme", .reason = "safety_denied", .older_than = {}, .newer_than = {}}, 0s));
    const LetterFilter of_a_tenant{.topic = {}, .tenant = "acme", .reason = {}, .older_than = {}, .newer_than = {}};
    EXPECT_FALSE(fits(of_a_tenant, kLetter, "", 0, 0)) << "its job's record has expired";
}

TEST(DeadLetterFilter, AnAgeIsBetweenItsLimits) {
    LetterFilter filter;
    filter.older_than = 1h;
    EXPECT_FALSE(fits_at_age(filter, 1h));
    EXPECT_TRUE(fits_at_age(filter, 1h + 1s));
    filter.newer_than = 2h;
    EXPECT_FALSE(fits_at_age(filter, 2h));
    EXPECT_TRUE(filter.narrows());
}

TEST(DeadLetterFilter, ACursorStandsBetweenTwoEntries) {
    const auto cursor = parse_letter_cursor("1760000000:poison:CORDUM_SYS:7");
    ASSERT_TRUE(cursor);
    EXPECT_EQ(cursor->id, "poison:CORDUM_SYS:7");
    EXPECT_EQ(to_string(*cursor), "1760000000:poison:CORDUM_SYS:7");
    EXPECT_FALSE(cursor->before(1'760'000'000, cursor->id)) << "the entry itself is not told again";
    EXPECT_TRUE(cursor->before(1'760'000'000, "a"));
    EXPECT_TRUE(cursor->before(1'759'999'999, "z"));
    EXPECT_FALSE(cursor->before(1'760'000'001, "a"));
    for (const char* odd : {"", "7", "7:", ":x", "x:y", "7.5:x"}) EXPECT_FALSE(parse_letter_cursor(odd)) << odd;
}

}  // namespace
}  // namespace lockstep::prod
