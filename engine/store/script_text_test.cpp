#include "engine/store/script_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/store/scripts.h"

namespace lockstep::engine {
namespace {

constexpr std::string_view kLibrary = R"(-- What everybody may use.

local first, second = 1,
                      2

-- Uses `never`, in a comment only.
local function one(a)
  return first + a  -- never

end

local function never() return one(1) end

local function both()
  return one(2) + second
end
)";

TEST(ScriptText, HasThePartsThatAreUsedAndThoseTheyUse) {
    EXPECT_EQ(parts_used(kLibrary, "return both()"),
              "local first, second = 1,\n                      2\n"
              "local function one(a)\n  return first + a  -- never\nend\n"
              "local function both()\n  return one(2) + second\nend\n");
    EXPECT_EQ(parts_used(kLibrary, "return second"), "local first, second = 1,\n                      2\n");
}

TEST(ScriptText, HasNothingThatIsNotUsed) {
    EXPECT_EQ(parts_used(kLibrary, "-- both\nreturn not_one() + firstly"), "");
    EXPECT_EQ(parts_used("", "return both()"), "");
    EXPECT_EQ(parts_used(kLibrary, ""), "");
}

TEST(ScriptText, BeginsWithTheNameAndEndsWithTheScript) {
    const RedisScript made = with_library("mine", kLibrary, "return second\n");
    EXPECT_EQ(made.name(), "mine");
    EXPECT_EQ(made.text(), "-- name: mine\nlocal first, second = 1,\n                      2\nreturn second\n");
}

TEST(ScriptText, OfALockIsFreeOfTheQueuesOfTenants) {
    EXPECT_THAT(StoreScripts::shared().take_lock.text(), ::testing::HasSubstr("local function read_fields("));
    EXPECT_THAT(StoreScripts::shared().take_lock.text(), ::testing::Not(::testing::HasSubstr("wake_next")));
    EXPECT_THAT(StoreScripts::shared().commit.text(), ::testing::HasSubstr("local function wake_next("));
}

}  // namespace
}  // namespace lockstep::engine
