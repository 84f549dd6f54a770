// All metrics of a run: kept per node, asked for over all nodes. Histograms keep every sample, so that percentiles are
// exact. Counters and samples outlive the process that gave them; its gauges do not.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/ports/metrics.h"
#include "sim/world/trace.h"

namespace lockstep::sim {

/// A counter grew, a gauge was set, or a sample was taken. Valid during the call.
struct MetricChange {
    fakes::NodeId node;
    const engine::MetricInfo& metric;
    double value = 0;  // by which a counter grew
    std::span<const std::string_view> labels;
};

class MetricStore final : public EventObserver {
public:
    void add(fakes::NodeId node, engine::Metric metric, engine::LabelValues labels, double by);
    void set(fakes::NodeId node, engine::Metric metric, double value, engine::LabelValues labels);
    void observe(fakes::NodeId node, engine::Metric metric, double value, engine::LabelValues labels);
    /// Called with each change, after it.
    void set_listener(std::function<void(MetricChange)> listener) { listener_ = std::move(listener); }
    /// Forgets the gauges of a node that goes down.
    void on_event(const fakes::Event& event, Time now) override;

    /// The value over all nodes and all series of the metric whose labels include these. Nothing when there is no such
    /// metric, no such series, or no sample.
    /// `statistic`: counters and gauges "" or "sum" (total), "max" (largest series); histograms "count" (also ""),
    /// "sum", "max", and "p50", "p99" and the like (nearest rank).
    [[nodiscard]] std::optional<double> value(std::string_view metric, const std::map<std::string, std::string>& labels,
                                              std::string_view statistic) const;

    /// Every series over all nodes: `name{label="value"}` for counters and gauges; for histograms with :count, :sum,
    /// :max, :p50 and :p99.
    [[nodiscard]] std::map<std::string, double> summary() const;

private:
    struct Series {
        double value = 0;
        std::vector<double> samples;
    };
    /// By label values, each followed by the separator.
    using SeriesByLabels = std::map<std::string, Series, std::less<>>;
    using OfNode = std::array<SeriesByLabels, engine::kMetricCount>;

    void tell(fakes::NodeId node, engine::Metric metric, double value, engine::LabelValues labels) const;
    [[nodiscard]] Series& series(fakes::NodeId node, engine::Metric metric, engine::LabelValues labels);
    [[nodiscard]] SeriesByLabels merged(engine::Metric metric) const;

    std::vector<OfNode> nodes_;
    std::function<void(MetricChange)> listener_;
    std::string key_;  // reused, so that a known series costs no allocation
};

}  // namespace lockstep::sim
