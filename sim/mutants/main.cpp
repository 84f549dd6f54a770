// `lockstep-mutants [--mutant NAME[,NAME]...] ...`: the command `lockstep` with planted defects in its engine.
// `lockstep-mutants --reached FILE ...`: without any, and the file lists those in C++ that the command came to.
#include <iostream>
#include <string>
#include <string_view>

#include "sim/mutants/active.h"

/// That of sim/main.cpp, under another name in this program.
int lockstep_main(int argc, char** argv);

namespace {

int refuse(std::string_view why) {
    std::cerr << "lockstep-mutants: " << why << '\n';
    return 2;
}

}  // namespace

int main(int argc, char** argv) {
    namespace mutants = lockstep::mutants;
    if (argc > 1 && std::string_view(argv[1]) == "--mutant") {
        if (const std::string why = mutants::refusal(); !why.empty()) return refuse(why);
    } else if (!mutants::noting()) {
        return lockstep_main(argc, argv);
    }
    const std::string_view value = argv[2];
    argv[2] = argv[0];
    const int code = lockstep_main(argc - 2, argv + 2);
    if (mutants::noting() && !mutants::write_reached())
        return refuse("cannot write " + std::string(value) + "; name a file in an existing folder");
    return code;
}
