#include "prod/observe/prometheus_metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <span>
#include <unordered_map>
#include <variant>
#include <vector>

#include "engine/wire/subjects.h"
#include "prod/loop/uv_loop.h"

namespace lockstep::prod {

namespace {

using engine::LabelValues;
using engine::Metric;
using engine::MetricInfo;
using engine::MetricType;

constexpr std::string_view kOther = kOtherTopic;
/// Of a label, in bytes: a topic may be as long as its sender likes.
constexpr std::size_t kLabelMax = 200;

using Topics = std::set<std::string, std::less<>>;

/// One family and the series of it that have been used.
template <class Series>
class Family {
public:
    Family(prometheus::Family<Series>& family, const MetricInfo& info, const Topics& topics)
        : family_(&family), info_(&info), topics_(&topics) {}

    Series& series(std::span<const std::string_view> labels) {
        values_.clear();
        key_.clear();
        auto given = labels.begin();
        for (const auto name : info_->labels) {
            const std::string_view value = given != labels.end() ? *given++ : std::string_view();
            values_.push_back(told_apart(name, shown(name, value)));
            key_ += values_.back();
            key_ += '\x1f';  // cannot be mistaken for a part of a subject
        }
        if (const auto found = known_.find(key_); found != known_.end()) return *found->second;
        const bool full = known_.size() >= PrometheusMetrics::kSeriesMax;
        prometheus::Labels named;
        auto value = values_.begin();
        for (const auto name : info_->labels) named.emplace(name, full ? kOther : *value++);
        Series& made = add(named);
        if (!full) known_.emplace(key_, &made);
        return made;
    }

    /// Makes the series whose label values can all be known: for each topic that every process has, or, where one is given, for that
    /// one.
    void show_at_zero(std::string_view topic = {}) {
        if (!topic.empty() && std::ranges::find(info_->labels, "topic") == info_->labels.end()) return;
        std::vector<std::string_view> values;
        show_each(values, topic);
    }

private:
    void show_each(std::vector<std::string_view>& values, std::string_view topic) {
        if (values.size() == info_->labels.size()) {
            if (known_.size() < PrometheusMetrics::kSeriesAtZeroMax) (void)series(values);
            return;
        }
        const auto label = info_->labels[values.size()];
        const std::span one(&topic, 1);
        for (const auto value : label == "topic" && !topic.empty() ? one : known_label_values(*info_, label)) {
            values.push_back(value);
            show_each(values, topic);
            values.pop_back();
        }
    }

    [[nodiscard]] std::string_view shown(std::string_view label, std::string_view value) const {
        const bool foreign = label == "topic" && !topics_->contains(value) && !engine::wire::is_approval_gate(value);
        return foreign ? kOther : value.substr(0, kLabelMax);
    }

    /// Workers come from outside, and no configuration names them: the first ones keep their names.
    [[nodiscard]] std::string_view told_apart(std::string_view label, std::string_view value) {
        if (label != "worker" || workers_.contains(value)) return value;
        if (workers_.size() >= kWorkerLabelsMax) return kOther;
        return *workers_.emplace(value).first;
    }

    Series& add(const prometheus::Labels& labels) {
        if constexpr (std::is_same_v<Series, prometheus::Histogram>)
            return family_->Add(labels,
                                prometheus::Histogram::BucketBoundaries(info_->buckets.begin(), info_->buckets.end()));
        else
            return family_->Add(labels);
    }

    prometheus::Family<Series>* family_;
    const MetricInfo* info_;
    const Topics* topics_;
    std::set<std::string, std::less<>> workers_;
    std::unordered_map<std::string, Series*> known_;
    std::string key_;                       // of the series that is looked for, and
    std::vector<std::string_view> values_;  // its label values
};

}  // namespace

class PrometheusMetrics::Families {
public:
    Families(const std::string& pod, Of whose) {
        for (const MetricInfo* series : all_series()) {
            const bool has_it = whose == Of::daemon || series == &info(DaemonMetric::loop_stall);
            families_.push_back(has_it ? make(*series, pod) : Any());
        }
    }

    template <class Series>
    Series& series(Metric metric, LabelValues labels) {
        return std::get<Family<Series>>(families_[static_cast<std::size_t>(metric)]).series(std::span(labels));
    }
    template <class Series>
    Series& series(DaemonMetric metric, LabelValues labels) {
        return std::get<Family<Series>>(families_[engine::kMetricCount + static_cast<std::size_t>(metric)])
            .series(std::span(labels));
    }

    void know_topic(std::string_view topic) {
        if (!topics.emplace(topic).second) return;
        for (Any& family : families_)
            if (auto* counters = std::get_if<Family<prometheus::Counter>>(&family)) counters->show_at_zero(topic);
    }

    prometheus::Registry registry;
    Topics topics;  // that pools documents have named

private:
    using Any = std::variant<std::monostate, Family<prometheus::Counter>, Family<prometheus::Gauge>,
                             Family<prometheus::Histogram>>;

    Any make(const MetricInfo& info, const std::string& pod) {
        const auto build = [&](auto builder) -> auto& {
            return builder.Name(std::string(info.name))
                .Help(std::string(info.help))
                .Labels({{"pod", pod}})
                .Register(registry);
        };
        Any made;
        switch (info.type) {
            case MetricType::counter:
                made = Family<prometheus::Counter>(build(prometheus::BuildCounter()), info, topics);
                break;
            case MetricType::gauge:
                made = Family<prometheus::Gauge>(build(prometheus::BuildGauge()), info, topics);
                break;
            case MetricType::histogram:
                made = Family<prometheus::Histogram>(build(prometheus::BuildHistogram()), info, topics);
                break;
        }
        // A metric without labels is there from the start, so that its absence means something.
        if (info.labels.empty()) std::visit([](auto& family) { touch(family); }, made);
        if (auto* counters = std::get_if<Family<prometheus::Counter>>(&made)) counters->show_at_zero();
        return made;
    }
    static void touch(std::monostate&) {}
    template <class Series>
    static void touch(Family<Series>& family) {
        (void)family.series({});
    }

    std::vector<Any> families_;  // in the order of all_series
};

PrometheusMetrics::PrometheusMetrics(const std::string& pod, Of whose)
    : families_(std::make_unique<Families>(pod, whose)) {}
PrometheusMetrics::~PrometheusMetrics() = default;

void PrometheusMetrics::watch(UvLoop& loop) {
    loop.on_stall([this](engine::Duration at_work) {
        observe(DaemonMetric::loop_stall, std::chrono::duration<double>(at_work).count());
    });
}

void PrometheusMetrics::know_topic(std::string_view topic) { families_->know_topic(topic); }

void PrometheusMetrics::add(Metric metric, LabelValues labels, double by) {
    families_->series<prometheus::Counter>(metric, labels).Increment(by);
}

void PrometheusMetrics::set(Metric metric, double value, LabelValues labels) {
    families_->series<prometheus::Gauge>(metric, labels).Set(value);
}

void PrometheusMetrics::observe(Metric metric, double value, LabelValues labels) {
    if (value < 0) return;
    families_->series<prometheus::Histogram>(metric, labels).Observe(value);
}

void PrometheusMetrics::add(DaemonMetric metric, LabelValues labels, double by) {
    families_->series<prometheus::Counter>(metric, labels).Increment(by);
}

void PrometheusMetrics::set(DaemonMetric metric, double value, LabelValues labels) {
    families_->series<prometheus::Gauge>(metric, labels).Set(value);
}

void PrometheusMetrics::observe(DaemonMetric metric, double value, LabelValues labels) {
    if (value < 0) return;
    families_->series<prometheus::Histogram>(metric, labels).Observe(value);
}

std::string PrometheusMetrics::text() const {
    return prometheus::TextSerializer().Serialize(families_->registry.Collect());
}

}  // namespace lockstep::prod
