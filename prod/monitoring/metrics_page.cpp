#include "prod/monitoring/metrics_page.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <map>

#include "prod/observe/series.h"

namespace lockstep::prod {

namespace {

const char* type_name(engine::MetricType type) {
    switch (type) {
        case engine::MetricType::counter: return "counter";
        case engine::MetricType::gauge: return "gauge";
        case engine::MetricType::histogram: return "histogram";
    }
    return "";
}

std::string row_of(const engine::MetricInfo& series) {
    return fmt::format("| `{}` | {} | {} | {} | {} |\n", series.name, type_name(series.type),
                       fmt::join(series.labels, ", "), unit(series), series.help);
}

}  // namespace

std::string metrics_page() {
    std::string page =
        "# Metrics of lockstepd\n\n"
        "<!-- Written by lockstep_monitoring from the tables in engine/ports/metrics.cpp and prod/observe/series.cpp. "
        "-->\n\n"
        "`/metrics` on `SCHEDULER_METRICS_ADDR` and `WORKFLOW_ENGINE_HTTP_ADDR` shows these, each with the label "
        "`pod`\n"
        "(`CORDUM_INSTANCE_ID`). A series without other labels is there from the start, and so is a counter, at "
        "zero, for\n"
        "every label value that can be known; others appear when they are first used. Known are all but workers, and "
        "topics from when\n"
        "a pools document names them.\n"
        "What replicas read from Redis and from the streams (`lockstep_jobs`, `lockstep_oldest_…`, "
        "`lockstep_consumer_…`) is the\n"
        "same from each: take the `max`, not the sum. Names, labels and buckets stay within a major version.\n"
        "Rules and a dashboard that use them: `prod/deploy/prometheus/lockstep.rules.yml`, "
        "`prod/deploy/grafana/lockstep.json`.\n\n"
        "| name | type | labels | unit | what |\n| --- | --- | --- | --- | --- |\n";
    std::map<std::string_view, std::string_view> bounds;
    for (const auto* series : all_series()) {
        page += row_of(*series);
        for (const auto label : series->labels) bounds.emplace(label, label_bound(label));
    }
    page += "\n## Labels\n\nNo label holds the id of a job or a tenant.\n\n| label | values |\n| --- | --- |\n";
    for (const auto& [label, bound] : bounds) page += fmt::format("| `{}` | {} |\n", label, bound);
    page += "\n## Buckets\n\n| histogram | upper bounds |\n| --- | --- |\n";
    for (const auto* series : all_series())
        if (series->type == engine::MetricType::histogram)
            page += fmt::format("| `{}` | {} |\n", series->name, fmt::join(series->buckets, " "));
    return page;
}

}  // namespace lockstep::prod
