#include "sim/cli/first_difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "fakes/printable.h"

namespace lockstep::sim::cli {

namespace {

constexpr const char* kInterrupted = "  interrupted before the first difference was found\n";
constexpr std::size_t kShownMax = 48;  // bytes, from shortly before the difference
constexpr std::size_t kShownBefore = 8;

std::string line_of(const std::optional<RecordedEvent>& event, std::string_view run) {
    if (!event) return fmt::format("    {}: the run had ended\n", run);
    return fmt::format("    {}: at {}.{:09}s on {}: {}\n", run, event->ns / 1'000'000'000, event->ns % 1'000'000'000,
                       event->node.empty() ? "the world" : event->node, event->text);
}

std::string shown(std::string_view bytes, std::size_t from) {
    std::string out;
    fakes::append_printable(out, bytes.substr(std::min(from, bytes.size()), kShownMax));
    return '"' + out + '"';
}

/// What the lines do not show, such as payloads.
std::string line_of_bytes(std::string_view a, std::string_view b) {
    const auto parted = static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
    const std::size_t from = parted - std::min(parted, kShownBefore);
    return fmt::format("      different from byte {}: {}, then {}\n", parted, shown(a, from), shown(b, from));
}

}  // namespace

std::string first_difference(const RunAgain& run) {
    const RunResult a = run(true, {.hashes = true});
    const RunResult b = run(false, {.hashes = true});
    if (a.interrupted || b.interrupted) return kInterrupted;
    const std::vector<std::uint64_t>& hashes = a.recorded.hashes;
    if (hashes == b.recorded.hashes) return "  the same in a further pair of runs\n";
    const auto agreed = std::ranges::mismatch(hashes, b.recorded.hashes).in1 - hashes.begin();
    const std::uint64_t number = static_cast<std::uint64_t>(agreed) + 1;
    const RunResult c = run(true, {.event = number});
    const RunResult d = run(false, {.event = number});
    if (c.interrupted || d.interrupted) return kInterrupted;
    const std::optional<RecordedEvent>& first = c.recorded.event;
    const std::optional<RecordedEvent>& then = d.recorded.event;
    std::string out = fmt::format("  event {} is the first that differs\n", number);
    out += line_of(first, "first") + line_of(then, "then");
    if (!first || !then || first->text != then->text) return out;
    return out + (first->bytes == then->bytes ? "      the same in a further pair of runs\n"
                                              : line_of_bytes(first->bytes, then->bytes));
}

}  // namespace lockstep::sim::cli
