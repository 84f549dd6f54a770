#include "engine/testing/recorders.h"

#include <algorithm>

namespace lockstep::engine::testing {

double MetricRecorder::value(Metric metric, LabelValues labels) const {
    const auto found = values_.find(key(metric, labels));
    return found == values_.end() ? 0 : found->second;
}

bool LogRecorder::told(std::string_view message, std::string_view key, std::string_view value) const {
    return std::ranges::any_of(text_fields_, [&](const TextField& field) {
        return field.message == message && field.key == key && field.value == value;
    });
}

void LogRecorder::write(LogLevel, std::string_view message, std::initializer_list<LogField> fields) {
    messages_.emplace_back(message);
    for (const LogField& field : fields) {
        if (const auto* text = std::get_if<std::string_view>(&field.value))
            text_fields_.push_back({std::string(message), std::string(field.key), std::string(*text)});
    }
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
