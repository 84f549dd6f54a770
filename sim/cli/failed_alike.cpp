#include "sim/cli/failed_alike.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

#include "sim/cli/violation_text.h"
#include "sim/scenario/text_file.h"
#include "sim/search/failure.h"

namespace lockstep::sim::cli {

namespace {

/// Where a part of a file stands, or else the nearest part around it, or else its name.
engine::Position place_of(const std::string& file, std::string pointer) {
    const auto text = text_of_file(file);
    if (!text) return {};
    const auto places = places_in(*text);
    while (!pointer.empty() && !places.contains(pointer)) pointer.erase(pointer.rfind('/'));
    const auto found = places.find(pointer.empty() ? "/name" : pointer);
    return found == places.end() ? engine::Position{} : found->second;
}

}  // namespace

std::vector<FailedAlike> failed_alike(const Selection& selection, const SweepOutcome& outcome) {
    std::map<std::pair<std::size_t, std::string>, std::size_t> known;
    std::vector<FailedAlike> all;
    for (std::size_t i = 0; i < outcome.results.size(); ++i) {
        const RunResult& result = outcome.results[i];
        if (result.passed || result.interrupted) continue;
        const std::size_t scenario = outcome.runs[i].scenario;
        const std::string signature = signature_of(result);
        const auto [entry, fresh] = known.try_emplace({scenario, signature}, all.size());
        if (fresh) all.push_back({&selection.scenarios[scenario], signature, {}});
        all[entry->second].results.push_back(&result);
    }
    return all;
}

std::string seeds_text(const std::vector<const RunResult*>& results) {
    constexpr std::size_t kPartsMax = 12;
    std::vector<std::string> parts;
    for (std::size_t i = 0; i < results.size();) {
        const std::uint64_t first = results[i]->seed;
        std::uint64_t last = first;
        while (++i < results.size() && results[i]->seed == last + 1) ++last;
        parts.push_back(first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last));
    }
    const std::size_t left_out = parts.size() > kPartsMax ? parts.size() - kPartsMax : 0;
    parts.resize(parts.size() - left_out);
    return fmt::format("seed{} {}{}", results.size() == 1 ? "" : "s", fmt::join(parts, ", "),
                       left_out == 0 ? "" : fmt::format(" and {} more", left_out));
}

reports::Annotation annotation_of(const FailedAlike& failed, const std::string& replay) {
    const RunResult& run = failed.first();
    std::string what = "the run did not pass";
    std::string detail = "a counterexample that holds proves nothing";
    std::string pointer = failed.scenario->expect.pointer;
    const auto missed = std::ranges::find(run.expectations, false, &ExpectationOutcome::held);
    if (!run.error.empty()) {
        what = "the harness itself failed";
        detail = run.error;
    } else if (!run.violations.empty()) {
        what = run.violations.front().invariant;
        detail = violation_lines(run.violations.front()).front();
        pointer += "/invariants";
    } else if (missed != run.expectations.end()) {
        what = "expectation";
        detail = missed_text(*missed);
        pointer = missed->pointer;
    }
    const engine::Position place = place_of(failed.scenario->file, pointer);
    return {.file = failed.scenario->file,
            .title = fmt::format("{} {}: {}", failed.scenario->name, seeds_text(failed.results), what),
            .detail = detail + "\nreplay: " + replay,
            .line = static_cast<std::uint64_t>(place.line),
            .column = static_cast<std::uint64_t>(place.column)};
}

}  // namespace lockstep::sim::cli
