#include "engine/testing/recorders.h"

namespace lockstep::engine::testing {

double MetricRecorder::value(Metric metric, LabelValues labels) const {
    const auto found = values_.find(key(metric, labels));
    return found == values_.end() ? 0 : found->second;
}

int LogRecorder::times_reached(const std::string& name) const {
    const auto found = reached_.find(name);
    return found == reached_.end() ? 0 : found->second;
}

std::uint64_t SeededEntropy::next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

}  // namespace lockstep::engine::testing
