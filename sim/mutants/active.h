// Which planted defect is on in this process. Only in the build of the mutants (LOCKSTEP_MUTANTS).
#pragma once

namespace lockstep::mutants {

/// The number of the mutant that the command line names as its first argument (`--mutant NAME`); 0 where it names none, or one
/// that does not exist. The same for the life of the process, and known before main: scripts are constants.
[[nodiscard]] int active();

[[nodiscard]] inline bool is_on(int number) {
    static const int kActive = active();
    return number == kActive;
}

}  // namespace lockstep::mutants
