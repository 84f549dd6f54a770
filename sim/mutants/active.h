// Which planted defect is on in this process. Only in the build of the mutants (LOCKSTEP_MUTANTS).
#pragma once

namespace lockstep::mutants {

/// The number of the mutant that the command line names as its first argument (`--mutant NAME`); 0 where it names none, or one
/// that does not exist. The same for the life of the process, and known before main: scripts are constants.
[[nodiscard]] int active();

/// Whether the command line begins with `--reached FILE`: no mutant is on, and what is asked for is noted.
[[nodiscard]] bool noting();
/// Notes that the run came to where this mutant would change something.
void note_reached(int number);
/// The names of what was reached, one a line, into the file that the command line names. False: it cannot be written.
[[nodiscard]] bool write_reached();

[[nodiscard]] inline bool is_on(int number) {
    static const int kActive = active();
    static const bool kNoting = noting();
    if (kNoting) note_reached(number);
    return number == kActive;
}

}  // namespace lockstep::mutants
