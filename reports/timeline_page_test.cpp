#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/test_page_reader.h"
#include "reports/timeline.h"

namespace lockstep::reports {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kBreakOut = "</script><script>alert(1)</script>";

Timeline small() {
    Timeline timeline;
    timeline.title = std::string("a < b & ") + std::string(kBreakOut);
    timeline.lanes = {"redis", "scheduler-0"};
    timeline.texts = {"", std::string(kBreakOut), "redis commit", "state \x01", "node_up"};
    timeline.verdict = {std::string("no_lost_job: ") + std::string(kBreakOut)};
    timeline.events = {
        {.number = 1, .us = 0, .lane = 1, .family = Timeline::Family::life, .what = 4},
        {.number = 5, .us = 1000, .lane = 1, .family = Timeline::Family::call, .what = 2, .job = 1, .life = 0},
        {.number = 6, .us = 1300, .lane = 0, .family = Timeline::Family::state, .what = 3, .job = 1, .message = 1},
        {.number = 7,
         .us = 1700,
         .lane = 1,
         .family = Timeline::Family::answer,
         .what = 2,
         .job = 1,
         .thread = 1,
         .message = 2,
         .life = 0},
    };
    timeline.events.push_back({.number = 8, .us = 1800, .family = Timeline::Family::answer, .what = 2, .noise = true});
    timeline.jobs = {{.id = "hello", .state = "RUNNING", .from_us = 0, .to_us = 1700}};
    timeline.folds = {{100, 900}};
    timeline.opens = {"busiest minute", 0, 1700};
    timeline.program = "lockstep 1.2.3, commit abc & <b>";
    timeline.replay = "lockstep run a.json --seed 3";
    timeline.notes = {"thinned <b>"};
    timeline.bars = {{Timeline::Span::lock, 1, 1300, 1700, 2, 1}, {Timeline::Span::fault, Timeline::kNone, 0, 9, 2, 0}};
    timeline.events_total = 8;
    return timeline;
}

TEST(TimelinePage, StandsAlone) {
    const std::string page = timeline_page(small());
    for (const char* reference : {"http://", "https://", " src=", "@import", "url(", "import(", "fetch("})
        EXPECT_THAT(page, Not(HasSubstr(reference)));
    for (std::size_t at = page.find(" href="); at != std::string::npos; at = page.find(" href=", at + 1))
        EXPECT_EQ(page.substr(at, 8), " href=\"#") << "a link leads out of the page";
    EXPECT_THAT(page, HasSubstr("default-src 'none'"));
    EXPECT_THAT(page, Not(HasSubstr("{{"))) << "a place was left open";
}

TEST(TimelinePage, NoNameBreaksOutOfTheData) {
    const std::string page = timeline_page(small());
    EXPECT_THAT(page, Not(HasSubstr("alert(1)</script>")));
    EXPECT_THAT(page, HasSubstr("<title>a &lt; b &amp; &lt;/script>"));
    EXPECT_EQ(PageReader::read(page).head["texts"][1], kBreakOut) << "and it is there all the same";
}

TEST(TimelinePage, CarriesEveryEventAndCause) {
    const PageData data = PageReader::read(timeline_page(small()));
    EXPECT_EQ(data.head["lanes"], (nlohmann::json{"redis", "scheduler-0"}));
    EXPECT_THAT(data.numbers(), ElementsAre(1, 4, 1, 1, 1)) << "each but the first counts from the one before";
    EXPECT_THAT(data.events[1], ElementsAre(0, 1000, 300, 400, 100));
    EXPECT_THAT(data.events[2], ElementsAre(1, 1, 0, 1, 0));
    EXPECT_THAT(data.events[3], ElementsAre(6, 0, 5, 2, 2 + 16)) << "noise is marked beside the family";
    EXPECT_THAT(data.events[6], ElementsAre(0, 0, 0, 0, 0)) << "the last of lane and job goes without saying";
    EXPECT_THAT(data.events[7], ElementsAre(0, 0, 2, 2, 0)) << "one event back, each";
    EXPECT_THAT(data.events[9], ElementsAre(0, 0, 0, 0, 0)) << "so does the last start of the node";
    EXPECT_THAT(data.bars[1], ElementsAre(2, 0)) << "lanes count from one: 0 is all of them";
}

TEST(TimelinePage, ACauseThatIsNotTheUsualOneIsSaid) {
    Timeline timeline = small();
    timeline.events[3].thread = 0;
    timeline.events[3].life = Timeline::kNone;
    const PageData data = PageReader::read(timeline_page(timeline));
    EXPECT_EQ(data.events[6][3], 4U);
    EXPECT_EQ(data.events[9][3], 1U);
}

TEST(TimelinePage, NoNameIsAPlaceOfThePage) {
    Timeline timeline = small();
    timeline.title = "{{data}}";
    timeline.runs = {{.id = "{{style}}", .workflow = "{{script}}", .state = "{{data}}"}};
    const std::string page = timeline_page(timeline);
    EXPECT_THAT(page, Not(HasSubstr("{{")));
    EXPECT_THAT(page, HasSubstr("<h1 id=\"title\">&#123;&#123;data}}</h1>"));
    EXPECT_THAT(page, HasSubstr("<details id=\"runs\""));
}

/// What stands on the page without its script and its data.
std::string markup_of(const std::string& page) { return page.substr(0, page.find("<script type=\"text/plain\"")); }

TEST(TimelinePage, CanBeReadWithScriptsOff) {
    const std::string page = markup_of(timeline_page(small()));
    EXPECT_THAT(page, HasSubstr("<section id=\"verdict\"><div class=\"first\">no_lost_job: &lt;/script>"));
    EXPECT_THAT(page, HasSubstr("<tr id=\"job:hello\""));
    const std::size_t without = page.find("<noscript>\n<section id=\"events\">");
    ASSERT_NE(without, std::string::npos);
    EXPECT_GT(page.find("<td>redis commit</td>"), without);
    EXPECT_LT(page.find("<td>redis commit</td>"), page.find("</noscript>", without));
    EXPECT_THAT(page, HasSubstr("<noscript><style>#tools, main, #overview { display: none; }"));
}

TEST(TimelinePage, NamesTheProgramAndTheCommandThatRepeatsTheRun) {
    const std::string page = markup_of(timeline_page(small()));
    EXPECT_THAT(page, HasSubstr("lockstep 1.2.3, commit abc &amp; &lt;b>"));
    EXPECT_THAT(page, HasSubstr("replay: <code>lockstep run a.json --seed 3</code>"));
    EXPECT_THAT(page, HasSubstr("<b>thinned &lt;b></b>"));
}

TEST(TimelinePage, HasAMarkForPassedAndOneForFailed) {
    EXPECT_THAT(timeline_page(small()), HasSubstr("<span id=\"mark\" class=\"bad\">FAILS</span>"));
    Timeline timeline = small();
    timeline.passed = true;
    EXPECT_THAT(timeline_page(timeline), HasSubstr("<span id=\"mark\" class=\"good\">holds</span>"));
}

TEST(TimelinePage, TellsTheScriptWhatToFoldAndWhereToBegin) {
    const PageData data = PageReader::read(timeline_page(small()));
    EXPECT_EQ(data.head["folds"], (nlohmann::json{{100, 900}}));
    EXPECT_EQ(data.head["opens"], (nlohmann::json{"busiest minute", 0, 1700}));
}

TEST(TimelinePage, HasSwitchesForNoiseAndFolds) {
    const std::string page = timeline_page(small());
    EXPECT_THAT(page, HasSubstr("<input id=\"noise\" type=\"checkbox\">")) << "off at first";
    EXPECT_THAT(page, HasSubstr("<input id=\"fold\" type=\"checkbox\" checked>"));
}

TEST(TimelinePage, IsFitForTheDarkAndForPaper) {
    const std::string page = timeline_page(small());
    EXPECT_THAT(page, HasSubstr("@media screen and (prefers-color-scheme: dark)")) << "without scripts, too";
    EXPECT_THAT(page, HasSubstr("@media print"));
}

TEST(TimelinePage, AnEmptyRunIsAPageToo) {
    const PageData data = PageReader::read(timeline_page({}));
    EXPECT_EQ(data.head["events"], 0);
    EXPECT_EQ(data.head["fact"], -1);
}

}  // namespace
}  // namespace lockstep::reports
