#include "sim/world/metric_store.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace lockstep::sim {

namespace {

using engine::Metric;
using engine::MetricInfo;
using engine::MetricType;

constexpr char kSeparator = '\x1f';

std::vector<std::string_view> split(std::string_view key) {
    std::vector<std::string_view> values;
    while (!key.empty()) {
        const std::size_t end = key.find(kSeparator);
        values.push_back(key.substr(0, end));
        key.remove_prefix(end + 1);
    }
    return values;
}

bool includes(const MetricInfo& metric, std::string_view key, const std::map<std::string, std::string>& wanted) {
    const std::vector<std::string_view> values = split(key);
    return std::ranges::all_of(wanted, [&](const auto& pair) {
        for (std::size_t i = 0; i < values.size() && i < metric.labels.size(); ++i) {
            if (metric.labels[i] == pair.first) return values[i] == pair.second;
        }
        return false;
    });
}

std::string title(const MetricInfo& metric, std::string_view key) {
    const std::vector<std::string_view> values = split(key);
    std::string text(metric.name);
    for (std::size_t i = 0; i < values.size() && i < metric.labels.size(); ++i) {
        text += i == 0 ? '{' : ',';
        text.append(metric.labels[i]).append("=\"").append(values[i]).append("\"");
    }
    if (!values.empty()) text += '}';
    return text;
}

/// `samples` sorted and not empty.
std::optional<double> statistic_of(const std::vector<double>& samples, std::string_view statistic) {
    if (statistic.empty() || statistic == "count") return static_cast<double>(samples.size());
    if (statistic == "max") return samples.back();
    if (statistic == "sum") {
        double sum = 0;
        for (const double sample : samples) sum += sample;
        return sum;
    }
    unsigned percent = 0;
    if (!statistic.starts_with('p')) return std::nullopt;
    const char* end = statistic.data() + statistic.size();
    const auto parsed = std::from_chars(statistic.data() + 1, end, percent);
    if (parsed.ec != std::errc{} || parsed.ptr != end || percent == 0 || percent > 100) return std::nullopt;
    return samples[(percent * samples.size() + 99) / 100 - 1];
}

}  // namespace

void MetricStore::add(fakes::NodeId node, Metric metric, engine::LabelValues labels, double by) {
    series(node, metric, labels).value += by;
    tell(node, metric, by, labels);
}

void MetricStore::set(fakes::NodeId node, Metric metric, double value, engine::LabelValues labels) {
    series(node, metric, labels).value = value;
    tell(node, metric, value, labels);
}

void MetricStore::observe(fakes::NodeId node, Metric metric, double value, engine::LabelValues labels) {
    if (value >= 0) series(node, metric, labels).samples.push_back(value);
    tell(node, metric, value, labels);
}

void MetricStore::tell(fakes::NodeId node, Metric metric, double value, engine::LabelValues labels) const {
    if (listener_) listener_({node, info(metric), value, {labels.begin(), labels.size()}});
}

void MetricStore::on_event(const fakes::Event& event, Time /*now*/) {
    const auto index = static_cast<std::size_t>(event.node.value);
    if (event.kind != fakes::EventKind::node_down || index >= nodes_.size()) return;
    for (std::size_t i = 0; i < engine::kMetricCount; ++i) {
        if (info(static_cast<Metric>(i)).type == MetricType::gauge) nodes_[index][i].clear();
    }
}

std::optional<double> MetricStore::value(std::string_view metric, const std::map<std::string, std::string>& labels,
                                         std::string_view statistic) const {
    std::vector<double> all;
    const MetricInfo* found = nullptr;
    for (std::size_t i = 0; i < engine::kMetricCount; ++i) {
        const auto candidate = static_cast<Metric>(i);
        if (info(candidate).name != metric) continue;
        found = &info(candidate);
        for (const auto& [key, one] : merged(candidate)) {
            if (!includes(*found, key, labels)) continue;
            if (found->type == MetricType::histogram) {
                all.insert(all.end(), one.samples.begin(), one.samples.end());
            } else {
                all.push_back(one.value);
            }
        }
    }
    if (found == nullptr || all.empty()) return std::nullopt;
    std::ranges::sort(all);
    if (found->type == MetricType::histogram) return statistic_of(all, statistic);
    if (statistic.empty()) statistic = "sum";
    if (statistic != "sum" && statistic != "max") return std::nullopt;
    return statistic_of(all, statistic);
}

std::map<std::string, double> MetricStore::summary() const {
    std::map<std::string, double> result;
    for (std::size_t i = 0; i < engine::kMetricCount; ++i) {
        const MetricInfo& metric = info(static_cast<Metric>(i));
        for (auto& [key, one] : merged(static_cast<Metric>(i))) {
            const std::string name = title(metric, key);
            if (metric.type != MetricType::histogram) {
                result[name] = one.value;
                continue;
            }
            std::vector<double> samples = one.samples;
            if (samples.empty()) continue;
            std::ranges::sort(samples);
            for (const std::string_view statistic : {"count", "sum", "max", "p50", "p99"}) {
                result[name + ":" + std::string(statistic)] = *statistic_of(samples, statistic);
            }
        }
    }
    return result;
}

MetricStore::Series& MetricStore::series(fakes::NodeId node, Metric metric, engine::LabelValues labels) {
    const auto index = static_cast<std::size_t>(node.value);
    if (index >= nodes_.size()) nodes_.resize(index + 1);
    key_.clear();
    for (const std::string_view value : labels) key_.append(value).push_back(kSeparator);
    SeriesByLabels& all = nodes_[index][static_cast<std::size_t>(metric)];
    const auto found = all.find(key_);
    return found != all.end() ? found->second : all.emplace(key_, Series{}).first->second;
}

MetricStore::SeriesByLabels MetricStore::merged(Metric metric) const {
    SeriesByLabels sum;
    for (const OfNode& node : nodes_) {
        for (const auto& [key, one] : node[static_cast<std::size_t>(metric)]) {
            Series& total = sum[key];
            total.value += one.value;
            total.samples.insert(total.samples.end(), one.samples.begin(), one.samples.end());
        }
    }
    return sum;
}

}  // namespace lockstep::sim
