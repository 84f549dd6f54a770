#include "engine/output/redaction.h"

#include <gtest/gtest.h>

namespace lockstep::engine {
namespace {

OutputFinding at(std::int64_t offset, std::int64_t length) {
    OutputFinding finding;
    finding.offset = offset;
    finding.length = length;
    return finding;
}

TEST(Redaction, ReplacesEveryPlaceAndKeepsTheRest) {
    EXPECT_EQ(redacted("ann and bob", {at(0, 3), at(8, 3)}, false), "[REDACTED] and [REDACTED]");
    EXPECT_EQ(redacted("0123456789", {at(4, 2)}, false), "0123[REDACTED]6789");
}

TEST(Redaction, PlacesThatOverlapOrTouchBecomeOne) {
    EXPECT_EQ(redacted("0123456789", {at(5, 2), at(2, 3), at(3, 1)}, false), "01[REDACTED]789");
    EXPECT_EQ(redacted("0123456789", {at(2, 2), at(5, 1)}, false), "01[REDACTED]4[REDACTED]6789");
}

TEST(Redaction, PlacesAreClippedToTheContent) {
    EXPECT_EQ(redacted("0123456789", {at(8, INT64_MAX)}, false), "01234567[REDACTED]");
    EXPECT_EQ(redacted("0123456789", {at(1, 1), at(-1, 5), at(10, 1), at(3, 0), at(4, -2)}, false),
              "0[REDACTED]23456789");
}

TEST(Redaction, WithoutAUsablePlaceEverythingGoes) {
    EXPECT_EQ(redacted("secret", {}, false), "[REDACTED]");
    EXPECT_EQ(redacted("secret", {at(-1, 3), at(6, 1), at(2, 0)}, false), "[REDACTED]");
    EXPECT_EQ(redacted("", {at(0, 3)}, false), "[REDACTED]");
}

// Nobody has looked at what lies beyond the part that was sent.
TEST(Redaction, TheUnreadRestOfALongOutputGoesToo) {
    EXPECT_EQ(redacted("0123456789", {at(0, 2)}, true), "[REDACTED]23456789[REDACTED]");
    EXPECT_EQ(redacted("0123456789", {at(8, 2)}, true), "01234567[REDACTED]");
}

TEST(Redaction, IsKeptBesideTheOriginalUnderItsDigest) {
    const std::string key = redaction_key("redis://res:j1", JobId("j1"), "abc");
    EXPECT_EQ(key, "res:j1:redacted:ba7816bf8f01cfea");
    EXPECT_EQ(redaction_key("", JobId("j1"), "abc"), key);
    EXPECT_EQ(redaction_key(" redis://art:7 ", JobId("j1"), "abc"), "art:7:redacted:ba7816bf8f01cfea");
}

}  // namespace
}  // namespace lockstep::engine
