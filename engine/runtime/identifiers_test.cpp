#include "engine/runtime/identifiers.h"

#include <gtest/gtest.h>

#include <set>
#include <tuple>
#include <type_traits>
#include <unordered_set>

namespace lockstep::engine {
namespace {

using Identifiers = std::tuple<JobId, WorkerId, Token, StreamSequence, DispatchNumber>;

/// Whether a `To` comes of a `From` in any way, asked for or not.
template <class To, class From>
constexpr bool comes_of =
    std::is_convertible_v<From, To> || std::is_constructible_v<To, From> || std::is_assignable_v<To&, From>;

template <class A, class B>
concept Comparable = requires(const A& a, const B& b) { a == b; } || requires(const A& a, const B& b) { a < b; };

template <class One, class... All>
constexpr bool apart_from_others(std::tuple<All...>*) {
    return ((std::is_same_v<One, All> || (!comes_of<One, All> && !Comparable<One, All>)) && ...);
}
template <class... All>
constexpr bool no_two_can_be_exchanged(std::tuple<All...>* all) {
    return (apart_from_others<All>(all) && ...);
}
static_assert(no_two_can_be_exchanged(static_cast<Identifiers*>(nullptr)));

/// Made only by name, and given back only by name.
template <class Id, class Plain>
constexpr bool only_by_name =
    std::is_constructible_v<Id, Plain> && !std::is_convertible_v<Plain, Id> && !std::is_assignable_v<Id&, Plain> &&
    !std::is_constructible_v<Plain, Id> && !Comparable<Id, Plain>;

static_assert(only_by_name<JobId, std::string> && only_by_name<JobId, std::string_view>);
static_assert(only_by_name<WorkerId, std::string> && only_by_name<WorkerId, std::string_view>);
static_assert(only_by_name<Token, std::string> && only_by_name<Token, std::string_view>);
static_assert(only_by_name<StreamSequence, std::uint64_t> && only_by_name<StreamSequence, int>);
static_assert(only_by_name<DispatchNumber, std::uint64_t> && only_by_name<DispatchNumber, int>);

/// What takes several of them takes them in their order only.
struct TakesAll {
    void operator()(const JobId&, const Token&, StreamSequence, DispatchNumber) const;
};
template <class... Given>
constexpr bool taken = std::is_invocable_v<TakesAll, Given...>;
static_assert(taken<JobId, Token, StreamSequence, DispatchNumber>);
static_assert(!taken<Token, JobId, StreamSequence, DispatchNumber>);
static_assert(!taken<JobId, Token, DispatchNumber, StreamSequence>);
static_assert(!taken<std::string, Token, StreamSequence, DispatchNumber>);
static_assert(!taken<JobId, Token, std::uint64_t, DispatchNumber>);

TEST(Identifiers, KeepWhatTheyAreMadeOf) {
    EXPECT_EQ(JobId("J1").text(), "J1");
    EXPECT_EQ(WorkerId(std::string_view("w-1")).text(), "w-1");
    EXPECT_EQ(Token(std::string("t")).text(), "t");
    EXPECT_EQ(StreamSequence(41).value(), 41U);
    EXPECT_EQ(DispatchNumber(2).next().value(), 3U);
}

TEST(Identifiers, AreNoneUntilTheyAreMadeOfSomething) {
    EXPECT_TRUE(JobId().empty());
    EXPECT_EQ(JobId(), JobId(""));
    EXPECT_EQ(StreamSequence(), StreamSequence(0));
}

TEST(Identifiers, AreOrderedAsWhatTheyAreMadeOf) {
    EXPECT_LT(JobId("J1"), JobId("J2"));
    EXPECT_LT(StreamSequence(9), StreamSequence(10));
    const std::set<JobId> jobs{JobId("b"), JobId("a"), JobId("b")};
    EXPECT_EQ(jobs.size(), 2U);
    EXPECT_EQ(jobs.begin()->text(), "a");
}

TEST(Identifiers, CanBeLookedUpByHash) {
    const std::unordered_set<DispatchNumber> numbers{DispatchNumber(1), DispatchNumber(2)};
    EXPECT_TRUE(numbers.contains(DispatchNumber(2)));
    EXPECT_FALSE(numbers.contains(DispatchNumber(3)));
    const std::unordered_set<Token> tokens{Token("a")};
    EXPECT_TRUE(tokens.contains(Token("a")));
}

TEST(Identifiers, ArePrintedAsWhatTheyAreMadeOf) {
    EXPECT_EQ(fmt::format("{} {} {:>3}", JobId("J1"), StreamSequence(7), DispatchNumber(2)), "J1 7   2");
}

}  // namespace
}  // namespace lockstep::engine
