#include "sim/scenario/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "engine/config/nearest.h"
#include "engine/wire/text.h"
#include "sim/scenario/catalogue.h"

namespace lockstep::sim {

namespace {

using engine::wire::trim;

std::optional<double> parse_number(std::string_view text) {
    double value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) return {};
    return value;
}

tl::unexpected<std::string> wrong(std::string message) { return tl::make_unexpected(std::move(message)); }

/// The inside of the braces: label="value", separated by commas. No escapes: label values of ours hold no quotes.
bool parse_labels(std::string_view text, std::map<std::string, std::string>& labels) {
    while (!(text = trim(text)).empty()) {
        const auto equals = text.find('=');
        if (equals == std::string_view::npos) return false;
        const auto name = trim(text.substr(0, equals));
        const auto value = trim(text.substr(equals + 1));
        const auto end = value.empty() || value[0] != '"' ? std::string_view::npos : value.find('"', 1);
        if (name.empty() || end == std::string_view::npos) return false;
        if (!labels.emplace(name, value.substr(1, end - 1)).second) return false;
        text = trim(value.substr(end + 1));
        if (text.empty()) return true;
        if (text[0] != ',') return false;
        text.remove_prefix(1);
    }
    return true;
}

constexpr std::array<std::string_view, 5> kStatistics{"p50", "p99", "max", "sum", "count"};

std::string complaint_about_statistic(const engine::MetricInfo& metric, std::string_view statistic, bool given) {
    const bool histogram = metric.type == engine::MetricType::histogram;
    if (histogram && !given)
        return fmt::format("expected one of :p50, :p99, :max, :sum, :count after the histogram {}", metric.name);
    if (given && std::ranges::find(kStatistics, statistic) == kStatistics.end())
        return fmt::format("expected one of :p50, :p99, :max, :sum, :count, got \":{}\"", statistic);
    if (!histogram && given && !(statistic == "max" && metric.type == engine::MetricType::gauge))
        return fmt::format("{} is a {} and has no :{}", metric.name,
                           metric.type == engine::MetricType::gauge ? "gauge" : "counter", statistic);
    return {};
}

}  // namespace

std::optional<Duration> parse_signed_duration(std::string_view text) {
    const bool negative = text.starts_with('-');
    if (negative || text.starts_with('+')) text.remove_prefix(1);
    const auto parsed = engine::parse_duration(text);
    if (!parsed) return {};
    return negative ? -*parsed : *parsed;
}

std::optional<double> parse_rate(std::string_view text) {
    const auto slash = text.find('/');
    if (slash == std::string_view::npos) return {};
    const auto count = parse_number(trim(text.substr(0, slash)));
    const auto unit = trim(text.substr(slash + 1));
    const double seconds = unit == "s" ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : 0;
    if (!count || *count <= 0 || seconds == 0) return {};
    return *count / seconds;
}

std::optional<Expected> parse_comparison(std::string_view text) {
    using Op = Expected::Op;
    // Two-letter operators first, so that ">=" is not read as ">".
    static constexpr std::array<std::pair<std::string_view, Op>, 7> kOps{
        {{"==", Op::eq}, {"!=", Op::ne}, {"<=", Op::le}, {">=", Op::ge}, {"<", Op::lt}, {">", Op::gt}, {"=", Op::eq}}};
    Expected expected;
    expected.text = text;
    std::string_view rest = trim(text);
    for (const auto& [word, op] : kOps) {
        if (!rest.starts_with(word)) continue;
        expected.op = op;
        rest.remove_prefix(word.size());
        break;
    }
    rest = trim(rest);
    if (const auto number = parse_number(rest)) {
        expected.value = *number;
    } else if (const auto duration = parse_signed_duration(rest)) {
        expected.value = static_cast<double>(duration->count()) / 1e9;
        expected.is_duration = true;
    } else {
        return {};
    }
    return expected;
}

const engine::MetricInfo* find_metric(std::string_view name) {
    constexpr std::string_view kNamespace = "cordum_scheduler_";
    const std::string doubled =
        name.starts_with(kNamespace) ? fmt::format("{}scheduler_{}", kNamespace, name.substr(kNamespace.size())) : "";
    const engine::MetricInfo* found = nullptr;
    for (std::size_t i = 0; i < engine::kMetricCount; ++i) {
        const auto& info = engine::info(static_cast<engine::Metric>(i));
        if (info.name == name) return &info;
        if (info.name == doubled) found = &info;
    }
    return found;
}

std::vector<std::string> metric_names() {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < engine::kMetricCount; ++i)
        names.emplace_back(engine::info(static_cast<engine::Metric>(i)).name);
    return names;
}

tl::expected<MetricName, std::string> parse_metric_name(std::string_view text) {
    MetricName parsed;
    const auto name = text.substr(0, text.find_first_of("{:"));
    std::string_view rest = text.substr(name.size());
    const engine::MetricInfo* metric = find_metric(name);
    if (metric == nullptr)
        return wrong(fmt::format("there is no metric \"{}\"{}", name, engine::suggestion(name, metric_names())));
    parsed.metric = metric->name;
    if (rest.starts_with('{')) {
        const auto end = rest.find('}');
        if (end == std::string_view::npos || !parse_labels(rest.substr(1, end - 1), parsed.labels))
            return wrong("expected labels such as {topic=\"job.default\"} after the metric's name");
        rest.remove_prefix(end + 1);
    }
    const std::vector<std::string> known(metric->labels.begin(), metric->labels.end());
    for (const auto& [label, value] : parsed.labels) {
        if (std::ranges::find(known, label) == known.end())
            return wrong(
                fmt::format("{} has no label \"{}\"{}", metric->name, label, engine::suggestion(label, known)));
    }
    const bool given = rest.starts_with(':');
    if (!given && !rest.empty()) return wrong(fmt::format("expected \":\" and a statistic, got \"{}\"", rest));
    if (given) parsed.statistic = rest.substr(1);
    if (auto complaint = complaint_about_statistic(*metric, parsed.statistic, given); !complaint.empty())
        return wrong(complaint);
    return parsed;
}

std::optional<int> parse_status(std::string_view text) {
    const auto statuses = rpc_statuses();
    for (std::size_t i = 1; i < statuses.size(); ++i)
        if (engine::wire::ascii_lower(statuses[i]) == engine::wire::ascii_lower(text)) return static_cast<int>(i);
    return {};
}

bool Expected::holds(double actual) const {
    switch (op) {
        case Op::eq: return actual == value;
        case Op::ne: return actual != value;
        case Op::lt: return actual < value;
        case Op::le: return actual <= value;
        case Op::gt: return actual > value;
        case Op::ge: return actual >= value;
    }
    return false;
}

}  // namespace lockstep::sim
