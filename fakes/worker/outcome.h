// How a simulated worker ends a job: one of the protocol's statuses, or one of the ways in which workers misbehave.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/wire/fwd.h"
#include "fakes/rng.h"

namespace lockstep::fakes {

struct WorkOutcome {
    enum class Kind : std::uint8_t {
        status,      // a result with this status after the service time
        hang,        // never any result; the place stays taken
        crash,       // the worker's node dies instead of sending the result
        late,        // success, long after the scheduler has given the job up
        duplicate,   // success, sent twice
        contradict,  // success, and a little later a failure: two reports of one job that do not agree
        early,       // success, sent at once, before the scheduler can have recorded RUNNING
        progress,    // success after a result that says RUNNING, as some workers report that they have begun
    };
    Kind kind = Kind::status;
    cap::JobStatus status{};

    /// `SUCCEEDED`, `FAILED_FATAL` ... (CAP names without prefix), or the name of a kind.
    [[nodiscard]] static std::optional<WorkOutcome> named(std::string_view name);
};

/// Outcomes with their weights. Drawing takes exactly one number, whatever the weights.
class OutcomeTable {
public:
    /// Weights by name; a negative one counts as zero, and without any positive weight every job succeeds. REQUIRES:
    /// every name is known (the scenario's loader has checked it).
    explicit OutcomeTable(const std::map<std::string, double>& weights);
    [[nodiscard]] WorkOutcome draw(Rng& rng) const;

private:
    struct Entry {
        double up_to;  // running sum of the weights
        WorkOutcome outcome;
    };
    std::vector<Entry> entries_;
};

}  // namespace lockstep::fakes
