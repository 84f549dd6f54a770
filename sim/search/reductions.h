// Ways to make a scenario smaller, each a list of candidates, most ambitious first. A candidate may be nonsense: the loader
// refuses it then, and the next one is tried.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/run/result.h"
#include "sim/scenario/document.h"

namespace lockstep::sim {

struct Reduction {
    const char* name;
    std::vector<Document> (*candidates)(const Document&);
    /// The structure comes first. What is taken away of it shifts what is drawn, so that the failure may vanish by chance: it is
    /// worth a try under other seeds. Whatever makes the file read well waits until nothing of the structure can go.
    enum class Stage : std::uint8_t { structure, finish } stage = Stage::structure;
    /// Makes failures of its own unless the candidate also has to hold with all mechanisms, see same_failure.h.
    bool when_curable = false;
};

/// In the order in which they are worth trying: what makes the runs shorter comes first.
[[nodiscard]] std::span<const Reduction> reductions();

/// The document without the faults and load that played no part in this run of it: what had no effect, or came later than the
/// violation.
[[nodiscard]] std::vector<Document> without_bystanders(const Document& document, const RunResult& result);

}  // namespace lockstep::sim
