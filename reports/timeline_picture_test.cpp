#include "reports/timeline_picture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <pugixml.hpp>

namespace lockstep::reports {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Family = Timeline::Family;

/// A job that a replica asks Redis about, a message of it that another one gets, and a job that is not drawn.
Timeline two_jobs() {
    Timeline timeline;
    timeline.title = "a < b";
    timeline.lanes = {"nats", "scheduler-0", "redis", "kernel"};
    timeline.texts = {"", "hello", "other", "redis commit", "state of \x01", "partition"};
    timeline.events = {
        {.number = 1, .us = 0, .lane = 1, .family = Family::call, .what = 3, .job = 1},
        {.number = 2, .us = 500, .lane = 3, .family = Family::call, .what = 3, .job = 2},
        {.number = 3, .us = 900, .lane = 1, .family = Family::call, .what = 3, .job = 1, .noise = true},
        {.number = 4, .us = 1000, .lane = 2, .family = Family::state, .what = 4, .job = 1, .message = 0},
        {.number = 5, .us = 5'001'000, .lane = 0, .family = Family::fault, .what = 5},
        {.number = 6, .us = 5'001'500, .lane = 2, .family = Family::state, .what = 4, .job = 1},
        {.number = 7, .us = 9'000'000, .lane = 0, .family = Family::message, .what = 3, .job = 1},
    };
    timeline.bars = {{Timeline::Span::lock, 1, 0, 5'001'500, 3, 1},
                     {Timeline::Span::lock, 1, 0, 5'001'500, 3, 2},
                     {Timeline::Span::fault, 0, 5'001'000, 9'000'000, 5, 0}};
    timeline.verdict = {"lock_exclusion: <b>"};
    timeline.fact = 5;
    timeline.earlier = 3;
    timeline.job = 1;
    return timeline;
}

struct Drawn {
    explicit Drawn(const Timeline& timeline, std::uint32_t job = 1) {
        const std::string text = timeline_picture(timeline, job);
        EXPECT_TRUE(document.load_string(text.c_str())) << text;
    }
    /// The titles of these elements.
    [[nodiscard]] std::vector<std::string> titles(const char* element, const char* kind) const {
        std::vector<std::string> out;
        for (const auto& node : document.child("svg").children(element))
            if (std::string_view(node.attribute("class").value()).starts_with(kind))
                out.emplace_back(node.child("title").text().get());
        return out;
    }
    [[nodiscard]] std::vector<std::string> texts(const char* kind = "") const {
        std::vector<std::string> out;
        for (const auto& node : document.child("svg").children("text"))
            if (std::string_view(node.attribute("class").value()) == kind) out.emplace_back(node.text().get());
        return out;
    }
    pugi::xml_document document;
};

TEST(TimelinePicture, ShowsTheEventsOfOneJobUpToTheViolation) {
    const Drawn drawn(two_jobs());
    EXPECT_THAT(drawn.titles("circle", "state"), ElementsAre("#4 0.001s state of hello", "#6 5.001s state of hello"));
    EXPECT_THAT(drawn.titles("circle", "call"), ElementsAre("#1 0.000s redis commit")) << "no noise, no other job";
    EXPECT_THAT(drawn.titles("circle", "faultdot"), ElementsAre("#5 5.001s partition"));
    EXPECT_THAT(drawn.titles("circle", "message"), ElementsAre()) << "it is later than the violation";
    EXPECT_EQ(drawn.titles("path", "arrow").size(), 1U);
    EXPECT_EQ(drawn.titles("circle", "fact").size(), 2U);
    EXPECT_THAT(drawn.texts("bad"), ElementsAre("lock_exclusion: <b>", "#4 contradicts", "#6 here"));
}

TEST(TimelinePicture, HasLanesAndBarsOfWhatItShows) {
    const Drawn drawn(two_jobs());
    EXPECT_THAT(drawn.texts(), ElementsAre("nats", "scheduler-0", "redis", "has the lock", "partition"))
        << "nothing of it is at the kernel";
    EXPECT_THAT(drawn.titles("rect", "lock"), ElementsAre("has the lock")) << "that of another job is not drawn";
    EXPECT_THAT(drawn.titles("rect", "fault"), ElementsAre("partition"));
}

TEST(TimelinePicture, GoesToTheLastEventOfAJobThatNothingIsWrongWith) {
    Timeline timeline = two_jobs();
    timeline.fact = timeline.earlier = Timeline::kNone;
    timeline.verdict.clear();
    const Drawn drawn(timeline);
    EXPECT_EQ(drawn.titles("circle", "message").size(), 1U);
    EXPECT_THAT(drawn.texts("bad"), ElementsAre());
}

TEST(TimelinePicture, ShowsTheLatestOfManyEvents) {
    Timeline timeline = two_jobs();
    timeline.fact = timeline.earlier = Timeline::kNone;
    timeline.events.assign(kPictureEventsMax + 5, {.lane = 1, .what = 3, .job = 1});
    for (std::size_t i = 0; i < timeline.events.size(); ++i) timeline.events[i].number = i + 1;
    const auto titles = Drawn(timeline).titles("circle", "other");
    ASSERT_EQ(titles.size(), kPictureEventsMax);
    EXPECT_THAT(titles.front(), HasSubstr("#6 "));
}

TEST(TimelinePicture, NeedsNothingElseAndLetsNoNameBreakOut) {
    Timeline timeline = two_jobs();
    timeline.texts[1] = "</text><script>alert(1)</script>";
    timeline.lanes[1] = timeline.texts[1];
    const std::string picture = timeline_picture(timeline, 1);
    EXPECT_THAT(picture, Not(HasSubstr("<script")));
    EXPECT_THAT(picture, Not(HasSubstr("href")));
    EXPECT_THAT(picture, Not(HasSubstr("url(")));
    EXPECT_EQ(picture, timeline_picture(timeline, 1));
}

TEST(TimelinePicture, OfAJobWithoutEventsIsStillAPicture) {
    EXPECT_THAT(Drawn(two_jobs(), 5).titles("circle", "call"), ElementsAre());
}

}  // namespace
}  // namespace lockstep::reports
