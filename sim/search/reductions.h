// Ways to make a scenario smaller, each a list of candidates, most ambitious first. A candidate may be nonsense: the loader
// refuses it then, and the next one is tried.
#pragma once

#include <span>
#include <vector>

#include "sim/search/document.h"

namespace lockstep::sim {

struct Reduction {
    const char* name;
    std::vector<Document> (*candidates)(const Document&);
};

/// In the order in which they are worth trying.
[[nodiscard]] std::span<const Reduction> reductions();

}  // namespace lockstep::sim
