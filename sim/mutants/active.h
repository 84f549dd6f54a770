// Which planted defects are on in this process. Only in the build of the mutants (LOCKSTEP_MUTANTS).
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string>
#include <vector>

namespace lockstep::mutants {

/// The numbers of the mutants that the command line names as its first argument (`--mutant NAME[,NAME]…`); none where it begins
/// otherwise. The same for the life of the process, and known before main: scripts are constants.
[[nodiscard]] const std::vector<int>& active();

/// Registers the mutants of a source: a static object of each source that has any.
class Registration {
public:
    Registration(std::initializer_list<int> numbers);
};

/// Why this program cannot switch on what the command line names as mutants: a name is unknown, or none of its sources and scripts
/// has registered it. Empty: it can. REQUIRES: main has begun.
[[nodiscard]] std::string refusal();

/// Whether the command line begins with `--reached FILE`: no mutant is on, and what is asked for is noted.
[[nodiscard]] bool noting();
/// Notes that the run came to where this mutant would change something.
void note_reached(int number);
/// The names of what was reached, one a line, into the file that the command line names. False: it cannot be written.
[[nodiscard]] bool write_reached();

[[nodiscard]] inline bool is_on(int number) {
    static const std::vector<int>& kActive = active();
    static const bool kNoting = noting();
    if (kNoting) note_reached(number);
    return std::ranges::find(kActive, number) != kActive.end();
}

}  // namespace lockstep::mutants
