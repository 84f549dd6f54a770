// `lockstep-mutants [--mutant NAME] ...`: the command `lockstep` with one planted defect in its engine.
#include <algorithm>
#include <iostream>
#include <string_view>

#include "mutants.h"

/// That of sim/main.cpp, under another name in this program.
int lockstep_main(int argc, char** argv);

int main(int argc, char** argv) {
    using lockstep::mutants::kKnown;
    using lockstep::mutants::Known;
    if (argc < 2 || std::string_view(argv[1]) != "--mutant") return lockstep_main(argc, argv);
    if (argc < 3 || std::ranges::find(kKnown, std::string_view(argv[2]), &Known::name) == kKnown.end()) {
        std::cerr << "lockstep-mutants: there is no mutant " << (argc < 3 ? "without a name" : argv[2])
                  << "; sim/mutants/apply.py --list --all names them\n";
        return 2;
    }
    argv[2] = argv[0];
    return lockstep_main(argc - 2, argv + 2);
}
