// A real Prometheus reads a real registry through the daemon's listener and evaluates what the rules and the dashboard ask.
// Exit code 77: there is no Prometheus.
#include <gtest/gtest.h>
#include <httplib.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>

#include "fakes/testing/server_process.h"
#include "prod/monitoring/alerts.h"
#include "prod/monitoring/dashboard.h"
#include "prod/observe/admin_http.h"
#include "prod/observe/prometheus_metrics.h"

namespace lockstep::prod {
namespace {

using engine::MetricType;
using fakes::testing::ServerProcess;
using nlohmann::json;

/// Each series once, with a value of its own in every label.
void fill(PrometheusMetrics& metrics) {
    metrics.know_topic("job.etl");
    const auto show = [&](auto metric) {
        const auto& series = [&]() -> const engine::MetricInfo& {
            if constexpr (std::is_same_v<decltype(metric), DaemonMetric>)
                return info(metric);
            else
                return engine::info(metric);
        }();
        static constexpr std::string_view kValue = "job.etl";
        const engine::LabelValues one{kValue};
        const engine::LabelValues two{kValue, kValue};
        const engine::LabelValues labels = series.labels.size() == 2 ? two
                                           : series.labels.empty()   ? engine::LabelValues{}
                                                                     : one;
        switch (series.type) {
            case MetricType::counter: metrics.add(metric, labels, 1); break;
            case MetricType::gauge: metrics.set(metric, 1, labels); break;
            case MetricType::histogram: metrics.observe(metric, 0.3, labels); break;
        }
    };
    for (std::size_t i = 0; i < engine::kMetricCount; ++i) show(static_cast<engine::Metric>(i));
    for (std::size_t i = 0; i < kDaemonMetricCount; ++i) show(static_cast<DaemonMetric>(i));
}

/// As Grafana fills it in, with a span that two scrapes of this test lie in.
std::string filled_in(const std::string& expression) {
    const std::string pods = std::regex_replace(expression, std::regex(R"(\$pod)"), ".*");
    return std::regex_replace(pods, std::regex(R"(\$__rate_interval)"), "1m");
}

class PrometheusTest : public testing::Test {
protected:
    PrometheusTest() {
        fill(metrics);
        auto started = AdminHttp::start(
            "127.0.0.1:0", {.metrics = [this] { return metrics.text(); }, .health = [] { return Health{}; }});
        if (started) listener = std::move(*started);
    }
    void SetUp() override { ASSERT_TRUE(listener); }

    /// What Prometheus reads, and where it keeps it.
    std::vector<std::string> command_line(int port, const std::filesystem::path& folder) const {
        const json configuration{
            {"global", {{"scrape_interval", "200ms"}, {"scrape_timeout", "200ms"}}},
            {"rule_files", {std::string(LOCKSTEP_ROOT) + "/prod/deploy/prometheus/lockstep.rules.yml"}},
            {"scrape_configs",
             {{{"job_name", "lockstep"},
               {"static_configs", {{{"targets", {"127.0.0.1:" + std::to_string(listener->port())}}}}}}}}};
        std::ofstream(folder / "prometheus.yml") << configuration.dump();
        return {*fakes::testing::find_program("prometheus"), "--config.file=" + (folder / "prometheus.yml").string(),
                "--storage.tsdb.path=" + (folder / "data").string(),
                "--web.listen-address=127.0.0.1:" + std::to_string(port)};
    }

    /// The answer to an instant query.
    static json ask(httplib::Client& client, const std::string& expression) {
        const auto answer = client.Post("/api/v1/query", httplib::Params{{"query", expression}});
        return answer ? json::parse(answer->body, nullptr, false) : json();
    }
    static bool has_data(const json& answer) {
        return answer.is_object() && answer.value("status", "") == "success" && !answer["data"]["result"].empty();
    }
    /// Two scrapes: a rate needs them. False: they do not come.
    static bool scraped_twice(httplib::Client& client) {
        const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        while (std::chrono::steady_clock::now() < limit)
            if (has_data(ask(client, "count_over_time(up{job=\"lockstep\"}[1m]) >= 3"))) return true;
        return false;
    }

    PrometheusMetrics metrics{"p"};
    std::unique_ptr<AdminHttp> listener;
};

// O11
TEST_F(PrometheusTest, PromtoolFindsNothingToSayOfTheScrape) {
    const fakes::testing::TemporaryFolder folder;
    const auto scrape = folder.path() / "scrape";
    const auto told = folder.path() / "told";
    httplib::Client client("127.0.0.1", listener->port());
    const auto answer = client.Get("/metrics");
    ASSERT_TRUE(answer);
    std::ofstream(scrape) << answer->body;
    const std::string command = "promtool check metrics <" + scrape.string() + " >" + told.string() + " 2>&1";
    const int status = std::system(command.c_str());
    std::ifstream in(told);
    const std::string words{std::istreambuf_iterator<char>(in), {}};
    EXPECT_EQ(WEXITSTATUS(status), 0) << words;
    EXPECT_EQ(words, "");
}

// O13, O14
TEST_F(PrometheusTest, EveryExpressionOfTheDashboardHasDataAndEveryRuleIsEvaluated) {
    ServerProcess server([this](int port, const std::filesystem::path& folder) { return command_line(port, folder); });
    httplib::Client client("127.0.0.1", server.port());
    ASSERT_TRUE(scraped_twice(client)) << server.log();
    for (const std::string& expression : dashboard_expressions()) {
        const json answer = ask(client, filled_in(expression));
        EXPECT_TRUE(has_data(answer)) << expression << "\n" << answer.dump();
    }
    for (const Alert& alert : alerts()) {
        const json answer = ask(client, alert.expression);
        EXPECT_EQ(answer.value("status", ""), "success") << alert.name << "\n" << answer.dump();
    }
    const auto rules = client.Get("/api/v1/rules");
    ASSERT_TRUE(rules);
    const json groups = json::parse(rules->body)["data"]["groups"];
    ASSERT_EQ(groups.size(), 1U);
    EXPECT_EQ(groups[0]["rules"].size(), alerts().size());
}

}  // namespace
}  // namespace lockstep::prod

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    for (const char* program : {"prometheus", "promtool"})
        if (!lockstep::fakes::testing::find_program(program)) {
            std::puts("prometheus or promtool is not installed (Debian: prometheus)");
            return 77;
        }
    return RUN_ALL_TESTS();
}
