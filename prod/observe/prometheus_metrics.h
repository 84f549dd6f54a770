// The metrics port on prometheus-cpp. Families are those of the table (series.h), each with the constant label `pod`.
//
// 1. Updates come from the loop's thread only; the text may be read from any thread.
// 2. A counter is there at zero, from the start or from when its topic is known, for every label value that can be known before it
//    occurs: the first event of a series that appears with it is no increase to Prometheus. Half of the series of a family are left to
//    those that cannot.
// 3. Label values come from outside. A topic has series of its own only if a pools document has named it; all others are counted
//    together under `other`: whoever submits jobs must not make series. Of workers each family tells the first kWorkerLabelsMax
//    apart; later ones are `other` as well. No family has more than kSeriesMax series, whatever its labels.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "engine/ports/metrics.h"
#include "prod/observe/series.h"

namespace lockstep::prod {

class UvLoop;

class PrometheusMetrics final : public engine::Metrics {
public:
    static constexpr std::size_t kSeriesMax = 2000;
    static constexpr std::size_t kSeriesAtZeroMax = kSeriesMax / 2;

    /// Which series of the table a process has: all, or those that a program with an event loop has, whatever it does.
    enum class Of : std::uint8_t { daemon, any_loop };
    explicit PrometheusMetrics(const std::string& pod, Of whose = Of::daemon);
    /// Counts the rounds of this loop in which nothing else was served. Outlives the loop's last round.
    void watch(UvLoop& loop);
    /// From now on this topic is told apart. It stays so when the pools name it no more: its jobs may live on.
    void know_topic(std::string_view topic);
    ~PrometheusMetrics() override;

    void add(engine::Metric metric, engine::LabelValues labels, double by) override;
    void set(engine::Metric metric, double value, engine::LabelValues labels) override;
    void observe(engine::Metric metric, double value, engine::LabelValues labels) override;

    /// Of the daemon's own; by the same rules.
    void add(DaemonMetric metric, engine::LabelValues labels = {}, double by = 1);
    void set(DaemonMetric metric, double value, engine::LabelValues labels = {});
    void observe(DaemonMetric metric, double value, engine::LabelValues labels = {});

    /// Everything in Prometheus' text format. Any thread.
    [[nodiscard]] std::string text() const;

private:
    class Families;
    std::unique_ptr<Families> families_;
};

}  // namespace lockstep::prod
