// Ports that only listen (metrics, log), and entropy that repeats itself.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/ports/entropy.h"
#include "engine/ports/log.h"
#include "engine/ports/metrics.h"

namespace lockstep::engine::testing {

class MetricRecorder final : public Metrics {
public:
    void add(Metric metric, LabelValues labels, double by) override { values_[key(metric, labels)] += by; }
    void set(Metric metric, double value, LabelValues labels) override { values_[key(metric, labels)] = value; }
    void observe(Metric metric, double, LabelValues labels) override { values_[key(metric, labels)] += 1; }

    /// A counter's sum, a gauge's last value, the number of a histogram's samples.
    [[nodiscard]] double value(Metric metric, LabelValues labels = {}) const;

private:
    using Key = std::pair<Metric, std::vector<std::string>>;
    static Key key(Metric metric, LabelValues labels) { return {metric, {labels.begin(), labels.end()}}; }

    std::map<Key, double> values_;
};

class LogRecorder final : public Log {
public:
    void reached(std::string_view name) override { ++reached_[std::string(name)]; }
    [[nodiscard]] bool enabled(LogLevel) const override { return true; }

    [[nodiscard]] int times_reached(const std::string& name) const;
    [[nodiscard]] const std::vector<std::string>& messages() const { return messages_; }
    /// Whether an event with this text had this field.
    [[nodiscard]] bool told(std::string_view message, std::string_view key, std::string_view value) const;

private:
    void write(LogLevel, std::string_view message, std::initializer_list<LogField> fields) override;

    struct TextField {
        std::string message, key, value;
    };
    std::map<std::string, int> reached_;
    std::vector<std::string> messages_;
    std::vector<TextField> text_fields_;
};

/// SplitMix64 from a fixed seed.
class SeededEntropy final : public Entropy {
public:
    explicit SeededEntropy(std::uint64_t seed = 1) : state_(seed) {}
    std::uint64_t next() override;

private:
    std::uint64_t state_;
};

}  // namespace lockstep::engine::testing
