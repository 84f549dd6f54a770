// The metrics port on prometheus-cpp. Families are those of the engine's table, each with the constant label `pod`.
//
// 1. Updates come from the loop's thread only; the text may be read from any thread.
// 2. Label values come from outside (topics, worker ids), so each family keeps at most kSeriesMax of them; later ones are
//    counted together under `other`. A sender of made-up topics must not exhaust our memory.
#pragma once

#include <memory>
#include <string>

#include "engine/ports/metrics.h"

namespace lockstep::prod {

class PrometheusMetrics final : public engine::Metrics {
public:
    static constexpr std::size_t kSeriesMax = 2000;

    explicit PrometheusMetrics(const std::string& pod);
    ~PrometheusMetrics() override;

    void add(engine::Metric metric, engine::LabelValues labels, double by) override;
    void set(engine::Metric metric, double value, engine::LabelValues labels) override;
    void observe(engine::Metric metric, double value, engine::LabelValues labels) override;

    /// Everything in Prometheus' text format. Any thread.
    [[nodiscard]] std::string text() const;

private:
    class Families;
    std::unique_ptr<Families> families_;
};

}  // namespace lockstep::prod
