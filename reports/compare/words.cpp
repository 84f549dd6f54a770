#include "reports/compare/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace lockstep::reports {

namespace {

std::string with_separators(std::string digits) {
    const std::size_t sign = digits.starts_with('-') ? 1 : 0;
    const std::size_t whole = std::min(digits.find('.'), digits.size());
    for (std::size_t at = whole; at > sign + 3;) digits.insert(at -= 3, ",");
    return digits;
}

std::string without_trailing_zeros(std::string text) {
    if (text.find('.') == std::string::npos) return text;
    text.erase(text.find_last_not_of('0') + 1);
    if (text.ends_with('.')) text.pop_back();
    return text;
}

/// So many decimals that four digits count, three below one.
int decimals_of(double size) {
    if (size >= 1000) return 0;
    if (size >= 100) return 1;
    if (size >= 10) return 2;
    if (size >= 1) return 3;
    return std::min(9, 2 - static_cast<int>(std::floor(std::log10(size))));
}

std::string sign_of(double value) { return value > 0 ? "+" : value < 0 ? "-" : ""; }

std::string signed_quantity(double value, std::string_view unit) {
    return sign_of(value) + quantity_text(std::fabs(value), unit);
}

}  // namespace

std::string number_text(double value) {
    constexpr double kPlainMax = 1e15;
    if (!std::isfinite(value)) return "none";
    const double size = std::fabs(value);
    if (size == 0) return "0";
    if (size >= kPlainMax || size < 1e-6) return fmt::format("{:.3g}", value);
    return with_separators(without_trailing_zeros(fmt::format("{:.{}f}", value, decimals_of(size))));
}

std::string quantity_text(double value, std::string_view unit) { return quantity_text(value, unit, value); }

std::string quantity_text(double value, std::string_view unit, double largest) {
    constexpr double kMillisMax = 10'000;
    if (!std::isfinite(value)) return "none";
    if (unit == "ms" && std::max(std::fabs(value), std::fabs(largest)) >= kMillisMax) {
        const double seconds = value / 1000;
        return number_text(std::fabs(value) >= kMillisMax ? std::round(seconds * 10) / 10 : seconds) + " s";
    }
    if (unit.empty() || unit == "count" || unit == "ratio") return number_text(value);
    return number_text(value) + " " + std::string(unit);
}

std::string percent_text(double relative) {
    if (!std::isfinite(relative)) return "none";
    const double size = std::fabs(relative) * 100;
    const int decimals = size >= 10 ? 0 : size >= 0.1 ? 1 : 2;
    return with_separators(without_trailing_zeros(fmt::format("{:.{}f}", size, decimals))) + " %";
}

std::string signed_percent_text(double relative) {
    const std::string size = percent_text(relative);
    return size == "0 %" || !std::isfinite(relative) ? size : sign_of(relative) + size;
}

std::string difference_text(const Effect& effect, std::string_view unit) {
    if (effect.kind == Effect::Kind::none) return "none";
    if (std::isfinite(effect.relative)) return signed_percent_text(effect.relative);
    return signed_quantity(effect.difference, unit);
}

std::string interval_text(const Effect& effect, std::string_view unit) {
    if (effect.relative_interval.known())
        return fmt::format("{} to {}", signed_percent_text(effect.relative_interval.low),
                           signed_percent_text(effect.relative_interval.high));
    if (effect.difference_interval.known())
        return fmt::format("{} to {}", signed_quantity(effect.difference_interval.low, unit),
                           signed_quantity(effect.difference_interval.high, unit));
    return "";
}

std::string change_text(const Effect& effect, std::string_view unit) {
    const std::string direction = effect.difference > 0 ? "higher" : effect.difference < 0 ? "lower" : "unchanged";
    const std::string size = std::isfinite(effect.relative) ? percent_text(effect.relative) + " " : "";
    const double largest = std::max(std::fabs(effect.base_mean), std::fabs(effect.mean));
    return fmt::format("{}{} ({} → {})", size, direction, quantity_text(effect.base_mean, unit, largest),
                       quantity_text(effect.mean, unit, largest));
}

std::string_view kind_text(Effect::Kind kind) {
    switch (kind) {
        case Effect::Kind::none: return "none";
        case Effect::Kind::same: return "the same";
        case Effect::Kind::noise: return "noise";
        case Effect::Kind::better: return "better";
        case Effect::Kind::worse: return "worse";
        case Effect::Kind::changed: return "changed";
    }
    return "";
}

namespace {

std::string noise_words(const Effect& effect, double threshold) {
    const std::string matters = percent_text(threshold);
    if (effect.negligible) return fmt::format("noise, and surely less than {}", matters);
    if (!effect.difference_interval.known()) return fmt::format("too few seeds: at least {} are needed", kSeedsMin);
    switch (effect.told) {
        case Effect::Told::nothing: return "noise: no number of seeds would tell";
        case Effect::Told::observed:
            return fmt::format("noise: about {} seeds would tell whether the difference is real",
                               number_text(static_cast<double>(effect.seeds_to_tell)));
        case Effect::Told::threshold:
            return fmt::format("noise: about {} seeds would tell whether it is less than {}",
                               number_text(static_cast<double>(effect.seeds_to_tell)), matters);
    }
    return "";
}

}  // namespace

std::string effect_words(const Effect& effect, double threshold) {
    std::string words;
    switch (effect.kind) {
        case Effect::Kind::none: words = "nothing of the kind in both"; break;
        case Effect::Kind::same: words = "the same"; break;
        case Effect::Kind::noise: words = noise_words(effect, threshold); break;
        default:
            words = kind_text(effect.kind);
            if (effect.negligible) words += fmt::format(", by less than {}", percent_text(threshold));
    }
    if (effect.one_sided > 0)
        words += fmt::format("; {} left out: only one of the two has it", counted(effect.one_sided, "pair"));
    return words;
}

std::string counted(std::size_t count, std::string_view noun) {
    return fmt::format("{} {}{}", number_text(static_cast<double>(count)), noun, count == 1 ? "" : "s");
}

std::string in_quotes(std::string_view text) { return fmt::format("\"{}\"", text); }

std::string enumerated(const std::vector<std::string>& items) {
    std::string out;
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (i > 0) out += i + 1 == items.size() ? " and " : ", ";
        out += items[i];
    }
    return out;
}

}  // namespace lockstep::reports
