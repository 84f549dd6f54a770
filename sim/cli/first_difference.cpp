#include "sim/cli/first_difference.h"

#include <fmt/format.h>

#include <algorithm>

namespace lockstep::sim::cli {

namespace {

/// A difference that does not show within so many pairs is reported as rare.
constexpr int kPairsMax = 5;
/// Whole events that are kept of a run at a time; of most runs these are all. About 30 MB.
constexpr std::uint64_t kWindow = 50'000;

const RecordedEvent* find(const Recorded& recorded, std::uint64_t number) {
    const auto found = std::ranges::find(recorded.events, number, &RecordedEvent::number);
    return found == recorded.events.end() ? nullptr : &*found;
}

bool holds(const Recorded& recorded, std::uint64_t number) {
    return number > recorded.hashes.size() || find(recorded, number) != nullptr;
}

std::string line_of(const RecordedEvent* event, std::string_view run) {
    if (event == nullptr) return fmt::format("    {}: the run had ended\n", run);
    return fmt::format("    {}: at {}.{:09}s on {}: {}\n", run, event->ns / 1'000'000'000, event->ns % 1'000'000'000,
                       event->node.empty() ? "the world" : event->node, event->text);
}

}  // namespace

std::optional<std::uint64_t> parting(const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b) {
    const auto [in_a, in_b] = std::ranges::mismatch(a, b);
    if (in_a == a.end() && in_b == b.end()) return {};
    return static_cast<std::uint64_t>(in_a - a.begin()) + 1;
}

std::string describe_parting(const RecordedEvent* a, const RecordedEvent* b, std::string_view a_is,
                             std::string_view b_is) {
    std::string out = line_of(a, a_is) + line_of(b, b_is);
    if (a == nullptr || b == nullptr) return out;
    for (const std::string& field : differing_fields(*a, *b)) out += fmt::format("      {}\n", field);
    return out;
}

std::string first_difference(const RunAgain& run) {
    Recording recording{.hashes = true, .first = 1, .last = kWindow};
    for (int pair = 0; pair < kPairsMax; ++pair) {
        const RunResult a = run(true, recording);
        const RunResult b = run(false, recording);
        if (a.interrupted || b.interrupted) return "  interrupted before the first difference was found\n";
        const auto number = parting(a.recorded.hashes, b.recorded.hashes);
        if (!number) continue;
        if (holds(a.recorded, *number) && holds(b.recorded, *number))
            return fmt::format("  event {} is the first that differs\n{}", *number,
                               describe_parting(find(a.recorded, *number), find(b.recorded, *number), "first", "then"));
        recording.first = *number - std::min(*number - 1, kWindow / 2);
        recording.last = recording.first + kWindow - 1;
    }
    return fmt::format("  the same, or different at changing places, in {} further pairs of runs\n", kPairsMax);
}

}  // namespace lockstep::sim::cli
