// `lockstep-mutants [--mutant NAME[,NAME]...] ...`: the command `lockstep` with planted defects in its engine.
// `lockstep-mutants --reached FILE ...`: without any, and the file tells which of those in C++ the command came to.
#include <algorithm>
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>

#include "mutants.h"
#include "sim/mutants/active.h"

/// That of sim/main.cpp, under another name in this program.
int lockstep_main(int argc, char** argv);

int main(int argc, char** argv) {
    using lockstep::mutants::kKnown;
    using lockstep::mutants::Known;
    if (argc > 2 && lockstep::mutants::noting()) {
        const std::string_view file = argv[2];
        argv[2] = argv[0];
        const int code = lockstep_main(argc - 2, argv + 2);
        if (lockstep::mutants::write_reached()) return code;
        std::cerr << "lockstep-mutants: cannot write " << file << "; name a file in a folder that is there\n";
        return 2;
    }
    if (argc < 2 || std::string_view(argv[1]) != "--mutant") return lockstep_main(argc, argv);
    std::stringstream names(argc < 3 ? "" : argv[2]);
    for (std::string name; std::getline(names, name, ',') || argc < 3;) {
        if (std::ranges::find(kKnown, name, &Known::name) != kKnown.end()) continue;
        std::cerr << "lockstep-mutants: there is no mutant " << (name.empty() ? "without a name" : name)
                  << "; sim/mutants/apply.py --list --all names them\n";
        return 2;
    }
    argv[2] = argv[0];
    return lockstep_main(argc - 2, argv + 2);
}
