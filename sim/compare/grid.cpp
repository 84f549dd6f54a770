#include "sim/compare/grid.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "engine/config/tunables.h"

namespace lockstep::sim {

namespace {

std::optional<double> number_of(const std::string& text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
    return value;
}

double between(double from, double to, int step, int steps, bool ratios) {
    const double share = steps == 1 ? 0 : static_cast<double>(step) / (steps - 1);
    return ratios ? from * std::pow(to / from, share) : from + (to - from) * share;
}

}  // namespace

std::vector<VariantPlan> combinations(const std::vector<Axis>& axes) {
    std::vector<VariantPlan> made(1);
    for (const auto& [setting, values] : axes) {
        std::vector<VariantPlan> longer;
        for (const VariantPlan& shorter : made) {
            for (const std::string& value : values) {
                VariantPlan next = shorter;
                next.settings.emplace_back(setting, value);
                if (!next.name.empty()) next.name += ", ";
                next.name += fmt::format("{}={}", setting, value);
                longer.push_back(std::move(next));
            }
        }
        made = std::move(longer);
    }
    return made;
}

std::optional<std::vector<std::string>> values_between(const std::string& from, const std::string& to, int steps,
                                                       bool ratios) {
    const auto low = number_of(from);
    const auto high = number_of(to);
    const auto short_span = engine::parse_duration(from);
    const auto long_span = engine::parse_duration(to);
    const bool numbers = low && high;
    if (!numbers && !(short_span && long_span)) return std::nullopt;
    const double first = numbers ? *low : static_cast<double>(short_span->count());
    const double last = numbers ? *high : static_cast<double>(long_span->count());
    if (ratios && (first <= 0 || last <= 0)) return std::nullopt;
    std::vector<std::string> values;
    for (int step = 0; step < steps; ++step) {
        const double value = between(first, last, step, steps, ratios);
        // Whole microseconds: what people can read.
        values.push_back(numbers ? fmt::format("{:.6g}", value)
                                 : engine::format_duration(
                                       engine::Duration{static_cast<std::int64_t>(std::round(value / 1e3)) * 1000}));
    }
    return values;
}

}  // namespace lockstep::sim
