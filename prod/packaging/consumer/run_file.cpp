// Runs a scenario file through the library, and prints what `lockstep run --json` says of it in one line: name, digest, verdict.
#include <cstdio>
#include <cstdlib>

#include <sim/run/run_scenario.h>
#include <sim/scenario/loader.h>

int main(int argc, char** argv) {
    if (argc != 3) {
        std::fputs("usage: run_file FILE SEED\n", stderr);
        return 2;
    }
    const auto scenario = lockstep::sim::load_scenario(argv[1]);
    if (!scenario) {
        for (const auto& error : scenario.error()) {
            std::fprintf(stderr, "%s\n", to_string(error).c_str());
        }
        return 2;
    }
    const auto result = lockstep::sim::run_scenario(*scenario, std::strtoull(argv[2], nullptr, 10), {});
    std::printf("%s %016llx %s\n", result.name.c_str(), static_cast<unsigned long long>(result.digest),
                result.passed ? "passed" : "failed");
    return result.passed ? 0 : 1;
}
