#include "prod/ctl/run_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "engine/runs/run_document.h"
#include "engine/wire/rfc3339.h"

namespace lockstep::prod {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

const engine::WallTime kPageTime = *engine::wire::parse_rfc3339("2026-11-24T12:00:10Z");

const json kPageDefinition{{"id", "trip"},
                           {"steps",
                            {{"book", {{"topic", "job.book"}}},
                             {"wait", {{"type", "delay"}, {"delay_sec", 90}, {"depends_on", {"book"}}}},
                             {"pay", {{"depends_on", {"wait"}}}}}}};

json run_of_page() {
    return {{"id", "trip-1"},
            {"workflow_id", "trip"},
            {"status", "running"},
            {"started_at", "2026-11-24T12:00:00Z"},
            {"steps",
             {{"book",
               {{"status", "failed"},
                {"started_at", "2026-11-24T12:00:00Z"},
                {"completed_at", "2026-11-24T12:00:05Z"},
                {"error", {{"message", "<script>alert('no seat')</script>"}}}}},
              {"wait", {{"status", "running"}, {"started_at", "2026-11-24T12:00:05Z"}}}}}};
}

TEST(RunPage, ShowsStepsAsBarsOverTheTimeOfTheRun) {
    const std::string page = run_page(run_of_page(), kPageDefinition, kPageTime);
    // The first half of 700, and the second.
    EXPECT_THAT(page, HasSubstr(R"(<rect class="failed" x="220" y="27" width="350" height="16")"));
    EXPECT_THAT(page, HasSubstr(R"(<rect class="running" x="570" y="51" width="350" height="16")"));
    EXPECT_THAT(page, HasSubstr(R"(<text x="924" y="63">5.0s</text>)"));
    EXPECT_THAT(page, HasSubstr(R"(<text x="0" y="87">pay</text><text x="224" y="87">pending</text>)"));
}

TEST(RunPage, DrawsWhatWaitsForWhat) {
    const std::string page = run_page(run_of_page(), kPageDefinition, kPageTime);
    EXPECT_THAT(page, HasSubstr(R"(<path class="edge" d="M152 17 C177 17 177 17 202 17"/>)"));
    EXPECT_THAT(page, HasSubstr(R"(<path class="edge" d="M352 17 C377 17 377 17 402 17"/>)"));
    EXPECT_THAT(page, HasSubstr(R"(<rect class="pending" x="402" y="2" width="150" height="30" rx="4">)"));
}

TEST(RunPage, TakesNothingOfARunForMarkup) {
    const std::string page = run_page(run_of_page(), kPageDefinition, kPageTime);
    EXPECT_THAT(page, Not(HasSubstr("<script")));
    EXPECT_THAT(page, HasSubstr("&lt;script&gt;alert(&#39;no seat&#39;)"));
    json named = run_of_page();
    named["id"] = "</title><b>";
    EXPECT_THAT(run_page(named, json(), kPageTime), HasSubstr("<title>&lt;/title&gt;&lt;b&gt;</title>"));
}

TEST(RunPage, MakesSomethingOfAnyDocument) {
    EXPECT_THAT(run_page(json::object(), json(), kPageTime), HasSubstr("</html>"));
    EXPECT_THAT(run_page({{"id", 7}, {"steps", {{"a", {{"started_at", "3000"}}}, {"b", 1}}}}, json::array(), kPageTime),
                HasSubstr(">a</text>"));
}

}  // namespace
}  // namespace lockstep::prod
