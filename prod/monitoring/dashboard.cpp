#include "prod/monitoring/dashboard.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "engine/wire/json_text.h"
#include "prod/observe/series.h"

namespace lockstep::prod {

namespace {

using engine::Metric;
using engine::MetricInfo;
using engine::MetricType;
using nlohmann::ordered_json;

struct Row {
    std::string title;
    std::vector<const MetricInfo*> series;
};

std::vector<Row> rows() {
    using enum Metric;
    using enum DaemonMetric;
    const auto of = [](auto... metrics) { return std::vector<const MetricInfo*>{&info(metrics)...}; };
    std::vector<Row> all{
        {"Is it well?",
         of(ready, replicas_expected, connected, oldest_job_age, consumer_oldest_age, dead_letters, lease_margin)},
        {"What waits", of(DaemonMetric::jobs, capacity_waiting, capacity_oldest_wait, consumer_waiting,
                          consumer_in_hand, stale_jobs)},
        {"Jobs", of(jobs_received, jobs_first_received, jobs_dispatched, jobs_completed, submit_to_answer,
                    dispatch_latency, job_lock_wait)},
        {"Policy", of(safety_denied, safety_unavailable, input_fail_open, output_policy_quarantined)},
        {"Redis away or slow",
         of(state_read_fail_closed, state_read_fail_closed_streak, job_lock_abandoned, queue_watch_failures,
            redis_exchange, redis_failures, redis_memory_used, redis_memory_limit)},
        {"Workers", of(stale_worker_retry, results_refused, heartbeats_refused, dispatch_rollback)},
        {"The process", of(process_cpu, process_resident_memory, process_open_fds, process_threads, log_lines_lost,
                           loop_stall, build_info, drain)},
    };
    std::set<const MetricInfo*> shown;
    for (const Row& row : all) shown.insert(row.series.begin(), row.series.end());
    Row rest{"Everything else", {}};
    for (const MetricInfo* series : all_series())
        if (!shown.contains(series)) rest.series.push_back(series);
    all.push_back(std::move(rest));
    return all;
}

/// What replicas read from servers is the same from each of them.
bool same_from_each_replica(const MetricInfo& series) {
    using enum DaemonMetric;
    for (const DaemonMetric metric :
         {DaemonMetric::jobs, oldest_job_age, capacity_waiting, capacity_oldest_wait, consumer_waiting,
          consumer_in_hand, consumer_oldest_age, redis_memory_used, redis_memory_limit})
        if (&series == &info(metric)) return true;
    return false;
}

struct Query {
    std::string expression;
    std::string legend;
};

std::vector<Query> queries(const MetricInfo& series) {
    std::vector<std::string> by(series.labels.begin(), series.labels.end());
    if (series.type == MetricType::histogram) {
        std::vector<Query> quantiles;
        for (const char* quantile : {"0.5", "0.95", "0.99"})
            quantiles.push_back(
                {fmt::format("histogram_quantile({}, sum by (le) (rate({}_bucket{{pod=~\"$pod\"}}[$__rate_interval])))",
                             quantile, series.name),
                 fmt::format("p{}", std::string(quantile).substr(2))});
        return quantiles;
    }
    if (series.type == MetricType::gauge && !same_from_each_replica(series)) by.insert(by.begin(), "pod");
    const std::string legend = by.empty() ? "all" : fmt::format("{{{{{}}}}}", fmt::join(by, "}} {{"));
    if (series.type == MetricType::gauge)
        return {{fmt::format("max by ({}) ({}{{pod=~\"$pod\"}})", fmt::join(by, ", "), series.name), legend}};
    return {{fmt::format("sum by ({}) (rate({}{{pod=~\"$pod\"}}[$__rate_interval]))", fmt::join(by, ", "), series.name),
             legend}};
}

/// As Grafana names it.
std::string grafana_unit(const MetricInfo& series) {
    if (&series == &info(DaemonMetric::process_start_time) || &series == &info(DaemonMetric::certificate_not_after))
        return "none";
    if (&series == &info(DaemonMetric::process_cpu) || &series == &info(DaemonMetric::lease_margin))
        return "percentunit";
    if (series.type == MetricType::counter) return "ops";
    const auto base = unit(series);
    if (base == "seconds") return "s";
    return base == "bytes" ? "bytes" : "short";
}

ordered_json source() { return {{"type", "prometheus"}, {"uid", "${datasource}"}}; }

/// Three beside each other, on Grafana's grid of 24 columns.
ordered_json panel(const MetricInfo& series, int id, int place, int top) {
    constexpr int kWidth = 8;
    constexpr int kHeight = 7;
    ordered_json targets = ordered_json::array();
    for (const Query& query : queries(series)) {
        const std::string letter(1, static_cast<char>('A' + targets.size()));
        targets.push_back(
            {{"refId", letter}, {"datasource", source()}, {"expr", query.expression}, {"legendFormat", query.legend}});
    }
    return {{"id", id},
            {"type", "timeseries"},
            {"title", series.name},
            {"description", series.help},
            {"datasource", source()},
            {"gridPos", {{"x", place % 3 * kWidth}, {"y", top + place / 3 * kHeight}, {"w", kWidth}, {"h", kHeight}}},
            {"fieldConfig", {{"defaults", {{"unit", grafana_unit(series)}}}, {"overrides", ordered_json::array()}}},
            {"targets", targets}};
}

ordered_json panels() {
    ordered_json all = ordered_json::array();
    int id = 0;
    int top = 0;
    for (const Row& row : rows()) {
        all.push_back({{"id", ++id},
                       {"type", "row"},
                       {"title", row.title},
                       {"collapsed", false},
                       {"gridPos", {{"x", 0}, {"y", top++}, {"w", 24}, {"h", 1}}},
                       {"panels", ordered_json::array()}});
        int place = 0;
        for (const MetricInfo* series : row.series) all.push_back(panel(*series, ++id, place++, top));
        top += (place + 2) / 3 * 7;
    }
    return all;
}

ordered_json variables() {
    return {{{"name", "datasource"}, {"type", "datasource"}, {"query", "prometheus"}, {"label", "Data source"}},
            {{"name", "pod"},
             {"type", "query"},
             {"label", "Replica"},
             {"datasource", source()},
             {"query", fmt::format("label_values({}, pod)", info(DaemonMetric::build_info).name)},
             {"refresh", 2},
             {"multi", true},
             {"includeAll", true},
             {"allValue", ".*"}}};
}

}  // namespace

std::vector<std::string> dashboard_expressions() {
    std::vector<std::string> all;
    for (const Row& row : rows())
        for (const MetricInfo* series : row.series)
            for (const Query& query : queries(*series)) all.push_back(query.expression);
    return all;
}

std::string dashboard() {
    const ordered_json head{{"title", "Lockstep"},
                            {"description", "Written by lockstep_monitoring from prod/monitoring/dashboard.cpp"},
                            {"tags", {"lockstep"}},
                            {"schemaVersion", 36},
                            {"editable", true},
                            {"refresh", "30s"},
                            {"time", {{"from", "now-3h"}, {"to", "now"}}},
                            {"templating", {{"list", variables()}}}};
    std::string text = "{\n";
    for (const auto& [name, value] : head.items())
        text += fmt::format("\"{}\":{},\n", name, engine::wire::json_text(value));
    // A line for each: in a change one sees which panels are others.
    std::vector<std::string> lines;
    for (const ordered_json& one : panels()) lines.push_back(engine::wire::json_text(one));
    return text + fmt::format("\"panels\":[\n{}\n]\n}}\n", fmt::join(lines, ",\n"));
}

}  // namespace lockstep::prod
