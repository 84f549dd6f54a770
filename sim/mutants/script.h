// The texts of scripts with their planted defects. Only in the build of the mutants (LOCKSTEP_MUTANTS).
#pragma once

#include <initializer_list>
#include <string_view>

namespace lockstep::mutants {

struct Piece {
    int mutant;  // 0: it has none
    std::string_view original;
    std::string_view mutated;
};

/// The pieces one after the other, each as it was unless its mutant is on. Lives as long as the process. Registers the mutants.
[[nodiscard]] std::string_view script(std::initializer_list<Piece> pieces);

}  // namespace lockstep::mutants
