#include "sim/spec/run_steps.h"

#include <gtest/gtest.h>

namespace lockstep::sim {
namespace {

using nlohmann::json;

const json kStepRules = json::parse(R"({"id":"f","steps":{
    "asked":{"type":"worker","condition":"input.n"},
    "odd":{"type":"worker","condition":"input.n % 2"},
    "tried":{"type":"worker","retry":{"max_retries":1}},
    "each":{"type":"worker","for_each":"input.list","retry":{"max_retries":1}},
    "twice":{"type":"loop","input":{"body_step":"tried"}},
    "seen":{"type":"transform","input":{"n":"${input.n}","none":"${input.gone}"}},
    "text":{"type":"transform","input":{"n":"n is ${input.n}"}}}})");

/// A step of a run whose input is `{"n": n}`.
class StepOfARun {
public:
    StepOfARun(std::string key, const char* was, const char* is, json n = 0)
        : key_(std::move(key)),
          was_(json::parse(was)),
          is_(json::parse(is)),
          run_{{"input", {{"n", std::move(n)}}}, {"steps", {{key_, is_}}}} {}
    StepOfARun& with(const char* member, json value) {
        run_[member] = std::move(value);
        return *this;
    }
    [[nodiscard]] StepChange change() const { return {kStepRules, run_, key_, was_, is_}; }

private:
    std::string key_;
    json was_, is_, run_;
};

constexpr const char* kNotBegunStep = R"({"status":"pending"})";
constexpr const char* kBegunStep = R"({"status":"running","attempts":1,"job_id":"r:x@1"})";
constexpr const char* kPassedByStep = R"({"status":"succeeded","skip_reason":"condition_false"})";

TEST(RunStepsTest, AConditionThatHoldsLetsBeginAndOneThatDoesNotPassesBy) {
    const auto why = [](const char* is, json n, const char* was = kNotBegunStep) {
        return against_its_condition(StepOfARun("asked", was, is, std::move(n)).change());
    };
    EXPECT_EQ(why(kBegunStep, 1), "");
    EXPECT_EQ(why(kPassedByStep, 0), "");
    EXPECT_EQ(why(kBegunStep, 0), "has begun, and input.n is 0");
    EXPECT_EQ(why(kBegunStep, ""), "has begun, and input.n is \"\"");
    EXPECT_EQ(why(kBegunStep, nullptr), "has begun, and input.n is null");
    EXPECT_EQ(why(kPassedByStep, "no"), "was passed by, and input.n is \"no\"");
    EXPECT_EQ(why(kBegunStep, json::array()), "") << "what the documents do not say is not judged";
    EXPECT_EQ(why(kBegunStep, 0, R"({"status":"pending","attempts":1})"), "") << "it is asked once";
}

TEST(RunStepsTest, AJobIsGivenTheInputOfItsStepOrOfItsRunAndItsItem) {
    const json definition = json::parse(R"({"steps":{
        "plain":{"type":"worker"},
        "own":{"type":"worker","input":{"m":"${input.n}"}},
        "free":{"type":"worker","input":{"m":"${input.n + 1}"}},
        "each":{"type":"worker","for_each":"input.list"},
        "both":{"type":"worker","for_each":"input.list","input":{"m":"${input.n}","of":"${item}"}},
        "twice":{"type":"loop","input":{"body_step":"own"}}}})");
    const json run = json::parse(R"({"input":{"n":1,"list":["u","v"]}})");
    const auto wrong = [&](const char* key, const char* input) {
        return !wrong_input(definition, run, key, json::parse(input)).empty();
    };
    EXPECT_FALSE(wrong("plain", R"({"n":1,"list":["u","v"]})"));
    EXPECT_TRUE(wrong("plain", R"({"n":1})"));
    EXPECT_FALSE(wrong("own", R"({"m":1})"));
    EXPECT_TRUE(wrong("own", R"({"m":1,"n":1})"));
    EXPECT_FALSE(wrong("free", R"({"m":7})")) << "it is evaluated";
    EXPECT_FALSE(wrong("each[1]", R"({"item":"v"})"));
    EXPECT_TRUE(wrong("each[1]", R"({"item":"u"})"));
    EXPECT_TRUE(wrong("each[1]", R"({"item":"v","n":1})"));
    EXPECT_FALSE(wrong("both[0]", R"({"m":1,"of":"u","item":"u"})"));
    EXPECT_TRUE(wrong("both[0]", R"({"m":1,"of":"u"})"));
    EXPECT_FALSE(wrong("twice[3]", R"({"m":1,"item":3})"));
    EXPECT_TRUE(wrong("twice[3]", R"({"m":1})"));
}

TEST(RunStepsTest, SoDoesTheRestOfADivisionByTwo) {
    const auto why = [](const char* is, json n) {
        return against_its_condition(StepOfARun("odd", kNotBegunStep, is, std::move(n)).change());
    };
    EXPECT_EQ(why(kBegunStep, 3), "");
    EXPECT_EQ(why(kPassedByStep, 2), "");
    EXPECT_EQ(why(kBegunStep, 2), "has begun, and input.n % 2 is 0");
    EXPECT_EQ(why(kPassedByStep, -3), "was passed by, and input.n % 2 is -1");
    EXPECT_EQ(why(kBegunStep, 2.5), "") << "that fails";
}

TEST(RunStepsTest, OnlyConditionsOfBareMembersAreJudged) {
    EXPECT_EQ(against_its_condition(StepOfARun("tried", kNotBegunStep, kBegunStep).change()), "");
    const char* called = R"({"status":"running","attempts":1,"input":{"error":{"message":"x"}}})";
    EXPECT_EQ(against_its_condition(StepOfARun("asked", kNotBegunStep, called).change()), "")
        << "a handler is called without one";
}

TEST(RunStepsTest, TheFirstTryAndAsManyMoreAsAreAllowed) {
    const char* once = R"({"status":"pending","attempts":1})";
    const char* twice = R"({"status":"running","attempts":2})";
    const char* thrice = R"({"status":"running","attempts":3})";
    EXPECT_EQ("", tried_too_often(StepOfARun("tried", once, twice).change()));
    EXPECT_EQ("begins its try 3, of 2 that its max_retries allows",
              tried_too_often(StepOfARun("tried", twice, thrice).change()));
    EXPECT_EQ("", tried_too_often(StepOfARun("tried", thrice, thrice).change())) << "told of once";
    EXPECT_NE("", tried_too_often(StepOfARun("each[0]", twice, thrice).change()));
    EXPECT_EQ("", tried_too_often(StepOfARun("twice[0]", twice, thrice).change()))
        << "rounds of a loop have their body's";
    EXPECT_EQ(
        "",
        tried_too_often(
            StepOfARun("tried", twice, thrice).with("metadata", {{"retried_at", "2026-01-01T00:00:00Z"}}).change()));
}

TEST(RunStepsTest, ATryEndsByItsOwnJob) {
    const auto job = [](const char* is) { return job_that_ended(StepOfARun("tried", kBegunStep, is).change()); };
    EXPECT_EQ(job(R"({"status":"succeeded"})"), "r:x@1");
    EXPECT_EQ(job(R"({"status":"pending","attempts":1})"), "r:x@1");
    EXPECT_EQ(job(R"({"status":"cancelled"})"), "") << "by its run";
    EXPECT_EQ(job(R"({"status":"timed_out"})"), "") << "by its run";
    EXPECT_EQ(job_that_ended(StepOfARun("tried", kNotBegunStep, R"({"status":"failed"})").change()), "")
        << "it had not begun";
}

TEST(RunStepsTest, WhatATransformGivesIsWhatItsTemplateSays) {
    const auto why = [](const char* step, const char* is) {
        return wrongly_transformed(StepOfARun(step, kNotBegunStep, is, 7).change());
    };
    EXPECT_EQ(why("seen", R"({"status":"succeeded","output":{"n":7}})"), "");
    EXPECT_EQ(why("seen", R"({"status":"succeeded","output":{"n":7,"none":null}})"),
              R"(gives {"n":7,"none":null}, and by its template it gives {"n":7})");
    EXPECT_EQ(why("seen", R"({"status":"failed"})"), "") << "it may, for its limits";
    EXPECT_EQ(why("text", R"({"status":"succeeded","output":{"n":"n is 7"}})"), "") << "more than a bare member";
}

}  // namespace
}  // namespace lockstep::sim
