#include <algorithm>

#include "sim/scenario/values.h"
#include "sim/search/reduction_parts.h"

namespace lockstep::sim::detail {

namespace {

Document with_count(const Document& document, std::size_t line, std::int64_t count) {
    Document smaller = document;
    smaller["load"][line]["count"] = count;
    if (count == 1) {
        smaller["load"][line].erase("count");
        smaller["load"][line].erase("rate");
    }
    return smaller;
}

/// The last of the line in place of the first: a fault that is placed in time meets the jobs that it met before.
Candidates the_last(const Document& document, std::size_t line, std::int64_t before, std::int64_t count) {
    const Document& load = document["load"][line];
    if (!load.contains("rate") || !load["rate"].is_string()) return {};
    const auto per_second = parse_rate(load["rate"].get<std::string>());
    const auto at = load.contains("at") ? engine::parse_duration(load["at"].get<std::string>())
                                        : tl::expected<engine::Duration, std::string>(engine::Duration{});
    if (!per_second || *per_second <= 0 || !at) return {};
    const auto later = std::chrono::milliseconds(
        static_cast<std::int64_t>(1000.0 * static_cast<double>(before - count) / *per_second));
    Document smaller = with_count(document, line, count);
    smaller["load"][line]["at"] = engine::format_duration(*at + later);
    return {std::move(smaller)};
}

/// Fewer jobs, fewer events: what was placed on the 40th is placed on an earlier one.
Candidates with_earlier_events(Document smaller, std::int64_t before, std::int64_t count) {
    bool any = false;
    for (std::size_t i = 0; i < size_of_list(smaller, "faults"); ++i) {
        const Document::json_pointer at("/faults/" + std::to_string(i) + "/on/nth");
        if (!smaller.contains(at)) continue;
        const auto nth = smaller[at].get<std::int64_t>();
        smaller[at] = std::max<std::int64_t>(1, nth * count / before);
        any = any || smaller[at] != nth;
    }
    return any ? Candidates{std::move(smaller)} : Candidates{};
}

}  // namespace

Candidates fewer_load_lines(const Document& document) { return without_parts(document, "load"); }

Candidates fewer_jobs(const Document& document) {
    Candidates out;
    for (std::size_t i = 0; i < size_of_list(document, "load"); ++i) {
        const Document& line = document["load"][i];
        if (!line.contains("count") || !line["count"].is_number_integer()) continue;
        const auto count = line["count"].get<std::int64_t>();
        for (const std::int64_t next : smaller_counts(count)) {
            out.push_back(with_count(document, i, next));
            append(out, the_last(document, i, count, next));
            append(out, with_earlier_events(with_count(document, i, next), count, next));
        }
        if (count == 1) out.push_back(with_count(document, i, 1));
    }
    return out;
}

}  // namespace lockstep::sim::detail
