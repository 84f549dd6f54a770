// Asks another build of this program.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <vector>

namespace lockstep::sim::cli {

struct Answer {
    int exit_code = 0;
    std::string text;  // its standard output
};

/// Runs `program` with these arguments until it has ended; its standard error is this program's. Ctrl-C reaches both. The error
/// says why it cannot be started.
[[nodiscard]] tl::expected<Answer, std::string> ask_program(const std::string& program,
                                                            const std::vector<std::string>& args);

}  // namespace lockstep::sim::cli
