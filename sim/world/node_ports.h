// The log and metrics ports of the nodes. What the nodes say is collected here for the whole run: a crash takes a
// process's memory, not what it has already told.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "engine/ports/log.h"
#include "engine/ports/metrics.h"
#include "fakes/world.h"
#include "sim/world/metric_store.h"

namespace lockstep::sim {

class NodeLog final : public engine::Log {
public:
    /// How often each mark was passed.
    using Marks = std::map<std::string, std::uint64_t, std::less<>>;

    /// Messages below `least` are dropped unformatted; nothing at all is written without one.
    NodeLog(fakes::NodeId node, fakes::Trace& trace, Marks& marks, const engine::LogLevel* least)
        : node_(node), trace_(trace), marks_(marks), least_(least) {}

    void reached(std::string_view name) override;
    [[nodiscard]] bool enabled(engine::LogLevel level) const override { return least_ != nullptr && level >= *least_; }

private:
    void write(engine::LogLevel level, std::string_view message,
               std::initializer_list<engine::LogField> fields) override;

    const fakes::NodeId node_;
    fakes::Trace& trace_;
    Marks& marks_;
    const engine::LogLevel* least_;
};

class NodeMetrics final : public engine::Metrics {
public:
    NodeMetrics(fakes::NodeId node, MetricStore& store) : node_(node), store_(store) {}

    void add(engine::Metric metric, engine::LabelValues labels, double by) override {
        store_.add(node_, metric, labels, by);
    }
    void set(engine::Metric metric, double value, engine::LabelValues labels) override {
        store_.set(node_, metric, value, labels);
    }
    void observe(engine::Metric metric, double value, engine::LabelValues labels) override {
        store_.observe(node_, metric, value, labels);
    }

private:
    const fakes::NodeId node_;
    MetricStore& store_;
};

}  // namespace lockstep::sim
