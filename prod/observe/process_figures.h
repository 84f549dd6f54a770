// What the kernel says of this process, as the series that every Prometheus client has (process_*).
#pragma once

namespace lockstep::prod {

class PrometheusMetrics;

/// Reads /proc/self and sets the gauges. What cannot be read keeps its value. The loop's thread only.
class ProcessFigures {
public:
    explicit ProcessFigures(PrometheusMetrics& metrics) : metrics_(metrics) {}
    void look();

private:
    PrometheusMetrics& metrics_;
    double cpu_seconds_told_ = 0;  // a counter can only be added to
};

}  // namespace lockstep::prod
