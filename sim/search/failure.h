// A failure as it is kept: the scenario that shows it, the seed, what was violated and the digest of that very run. Written
// by `run`, `explore` and `shrink`; read by `replay`, `shrink` and `explain`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "sim/run/result.h"
#include "sim/scenario/document.h"

namespace lockstep::sim {

/// A sentence without what differs from run to run: words with a digit in them (times, counts, ids), names of these nodes and of
/// topics become '#', and so does a list of such.
[[nodiscard]] std::string without_names(std::string_view text, const std::vector<std::string>& nodes = {});

/// What makes two failures the same bug, as far as can be told from outside: the invariant, and its sentence without what
/// differs from run to run (names of jobs, nodes and topics, how many a list has, numbers). An expectation that did not hold
/// counts by its text, a broken harness by its message. Empty for a run that passed.
[[nodiscard]] std::string signature_of(const RunResult& result);

struct Failure {
    Document scenario;
    std::uint64_t seed = 1;
    std::string signature;
    std::optional<Violation> violation;
    std::uint64_t digest = 0;
    std::uint64_t events = 0;
    std::string origin;   // how it came about, for people: "explore, draw 17", "shrunk from …"
    std::string build{};  // of the program that recorded it; empty = not known
};

[[nodiscard]] Failure failure_of(Document scenario, const RunResult& result, std::string origin);

/// One JSON document, laid out as `pretty` does.
[[nodiscard]] std::string failure_text(const Failure& failure);
/// Reads what `failure_text` wrote. The error is a sentence that names the place.
[[nodiscard]] tl::expected<Failure, std::string> parse_failure(std::string_view text);

/// A failure file, or a scenario file: then a failure without signature and digest, under the seed of the file.
struct Replayable {
    Failure failure;
    Scenario scenario;
    bool is_scenario_file = false;
};
/// `options` change the scenario, of either kind of file.
[[nodiscard]] tl::expected<Replayable, std::string> load_replayable(const std::filesystem::path& path,
                                                                    const LoadOptions& options = {});

}  // namespace lockstep::sim
