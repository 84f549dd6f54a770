// lockstep_monitoring ROOT: writes the files that are made from the table of series into the repository at ROOT.
#include <fmt/core.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "prod/monitoring/files.h"

int main(int argc, char** argv) {
    if (argc != 2) {
        fmt::print(stderr, "usage: lockstep_monitoring ROOT (the folder of the repository)\n");
        return 2;
    }
    for (const auto& [path, content] : lockstep::prod::monitoring_files()) {
        const auto file = std::filesystem::path(argv[1]) / path;
        std::ofstream out(file, std::ios::binary | std::ios::trunc);
        out << content;
        out.close();
        if (!out) {
            fmt::print(stderr, "lockstep_monitoring: {} cannot be written; is {} the repository?\n", file.string(),
                       argv[1]);
            return 1;
        }
    }
    return 0;
}
