#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "prod/monitoring/alerts.h"
#include "prod/monitoring/dashboard.h"
#include "prod/monitoring/files.h"
#include "prod/observe/series.h"

namespace lockstep::prod {
namespace {

std::string read(const std::string& path) {
    std::ifstream in(std::string(LOCKSTEP_ROOT) + "/" + path, std::ios::binary);
    EXPECT_TRUE(in) << path;
    return {std::istreambuf_iterator<char>(in), {}};
}

// O11, O13, O14
TEST(MonitoringFiles, AreWhatTheTableMakes) {
    for (const auto& [path, content] : monitoring_files())
        EXPECT_TRUE(read(path) == content)
            << path << " is not up to date: run build/release/tests/lockstep_monitoring .";
}

// O13
TEST(AlertRules, EachAlertHasItsPlaceInThePageAndATest) {
    const std::string page = read(kAlertsPage);
    const std::string stories = read("prod/monitoring/alert_rules_test.cpp");
    std::set<std::string> names;
    for (const Alert& alert : alerts()) {
        EXPECT_TRUE(names.insert(alert.name).second) << alert.name;
        EXPECT_NE(page.find("\n## " + alert.name + "\n"), std::string::npos)
            << alert.name << " is not in " << kAlertsPage;
        EXPECT_NE(stories.find('"' + alert.name + '"'), std::string::npos) << alert.name << " is not tested";
    }
    for (auto at = page.find("\n## Lockstep"); at != std::string::npos; at = page.find("\n## Lockstep", at + 1)) {
        const auto name = page.substr(at + 4, page.find('\n', at + 1) - at - 4);
        EXPECT_TRUE(names.contains(name)) << kAlertsPage << " speaks of " << name << ", which is no alert";
    }
}

// O14
TEST(Dashboard, ShowsEverySeriesOnceAndLeavesTheDataSourceToItsReader) {
    const auto page = nlohmann::json::parse(dashboard());
    EXPECT_FALSE(page.contains("uid"));
    EXPECT_FALSE(page.contains("__inputs"));
    EXPECT_EQ(page["templating"]["list"][0]["type"], "datasource");
    std::multiset<std::string> shown;
    std::set<int> ids;
    for (const auto& panel : page["panels"]) {
        EXPECT_TRUE(ids.insert(panel["id"].get<int>()).second);
        if (panel["type"] == "row") continue;
        shown.insert(panel["title"].get<std::string>());
        EXPECT_EQ(panel["datasource"]["uid"], "${datasource}");
        for (const auto& target : panel["targets"]) EXPECT_EQ(target["datasource"]["uid"], "${datasource}");
    }
    for (const engine::MetricInfo* series : all_series())
        EXPECT_EQ(shown.count(std::string(series->name)), 1U) << series->name;
    EXPECT_EQ(shown.size(), all_series().size());
}

}  // namespace
}  // namespace lockstep::prod
