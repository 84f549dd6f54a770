// The command line of lockstepd: what it is asked to do, apart from what the environment says.
#pragma once

#include <cstdint>
#include <string>
#include <tl/expected.hpp>

#include "reports/usage/command.h"

namespace lockstep::prod {

class CommandLine {
public:
    enum class Task : std::uint8_t {
        serve,
        check,
        print_settings,
        print_reference,
        ask_health,
        print_completion,
        print_manual
    };

    CommandLine();
    CommandLine(const CommandLine&) = delete;
    CommandLine& operator=(const CommandLine&) = delete;

    /// The error is the exit code, after help, the version or what is wrong has been printed.
    [[nodiscard]] tl::expected<void, int> parse(int argc, const char* const* argv);

    [[nodiscard]] const usage::Command& app() const { return app_; }
    [[nodiscard]] Task task() const { return task_; }
    [[nodiscard]] const std::string& role() const { return role_; }      // empty: the environment says
    [[nodiscard]] const std::string& shell() const { return shell_; }    // of print_completion
    [[nodiscard]] bool as_json() const { return as_json_; }              // of print_settings
    [[nodiscard]] bool ask_readiness() const { return ask_readiness_; }  // of ask_health

private:
    usage::Program app_;
    Task task_ = Task::serve;
    bool check_only_ = false;
    bool ask_readiness_ = false;
    bool as_json_ = false;
    std::string role_;
    std::string shell_;
};

}  // namespace lockstep::prod
