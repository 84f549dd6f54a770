#include "sim/page/idle_time.h"

#include <algorithm>
#include <utility>

#include "sim/page/event_family.h"

namespace lockstep::sim {

namespace {

using reports::Timeline;

constexpr std::int64_t kSecondUs = 1'000'000;
constexpr std::int64_t kMinuteUs = 60 * kSecondUs;
/// Shorter gaps are read faster than their marks.
constexpr std::int64_t kGapMin = 2 * kSecondUs;
/// Stays visible on both sides of a fold, so that what happens there does not look like one thing.
constexpr std::int64_t kMargin = kSecondUs / 10;
/// Each takes the same width: of more there would be nothing else to see.
constexpr std::size_t kFoldsMax = 30;
/// Around a violation that contradicts nothing earlier.
constexpr std::int64_t kBefore = kSecondUs / 5;

bool concerns_anybody(const HistoryEvent& event) {
    if (event.job != 0) return true;
    const Timeline::Family family = family_of(event);
    return family == Timeline::Family::life || family == Timeline::Family::fault;
}

void open_on_violation(Timeline& timeline) {
    const std::int64_t to = timeline.events[timeline.fact].us;
    const std::int64_t from = timeline.earlier != Timeline::kNone ? timeline.events[timeline.earlier].us : to - kBefore;
    const std::int64_t margin = std::max<std::int64_t>((to - from) / 4, 2000);
    timeline.opens = {"violation", std::max<std::int64_t>(from - margin, 0), to + margin};
}

void open_on_busiest_minute(const std::vector<std::int64_t>& moments, Timeline& timeline) {
    if (timeline.end_us <= kMinuteUs) {
        timeline.opens = {"whole run", 0, std::max<std::int64_t>(timeline.end_us, 1)};
        return;
    }
    std::size_t best = 0;
    std::size_t most = 0;
    for (std::size_t first = 0, behind = 0; first < moments.size(); ++first) {
        while (behind < moments.size() && moments[behind] < moments[first] + kMinuteUs) ++behind;
        if (behind - first <= most) continue;
        most = behind - first;
        best = first;
    }
    const std::int64_t from = moments.empty() ? 0 : std::min(moments[best], timeline.end_us - kMinuteUs);
    timeline.opens = {"busiest minute", from, from + kMinuteUs};
}

}  // namespace

std::vector<std::int64_t> moments_of(const History& history, const std::vector<bool>& noise) {
    std::vector<std::int64_t> moments;
    for (std::size_t i = 0; i < history.events.size(); ++i) {
        const HistoryEvent& event = history.events[i];
        if (!noise[i] && concerns_anybody(event)) moments.push_back(event.ns / 1000);
    }
    return moments;
}

std::vector<Timeline::Fold> idle_gaps(const std::vector<std::int64_t>& moments, std::int64_t end_us) {
    std::vector<Timeline::Fold> gaps;
    std::int64_t before = 0;
    const auto add = [&](std::int64_t next, std::int64_t margin_behind) {
        if (next - before >= kGapMin) gaps.push_back({before + kMargin, next - margin_behind});
        before = std::max(before, next);
    };
    for (const std::int64_t moment : moments) add(moment, kMargin);
    add(end_us, 0);
    if (gaps.size() > kFoldsMax) {
        std::ranges::sort(gaps, {}, [](const Timeline::Fold& fold) {
            return std::pair(fold.from_us - fold.to_us, fold.from_us);  // the longest, and of equal ones the first
        });
        gaps.resize(kFoldsMax);
        std::ranges::sort(gaps, {}, &Timeline::Fold::from_us);
    }
    return gaps;
}

void choose_opening(const std::vector<std::int64_t>& moments, Timeline& timeline) {
    if (timeline.fact != Timeline::kNone) return open_on_violation(timeline);
    open_on_busiest_minute(moments, timeline);
}

}  // namespace lockstep::sim
