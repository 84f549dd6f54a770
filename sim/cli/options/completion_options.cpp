#include "reports/usage/completion.h"

#include <CLI/CLI.hpp>

#include "reports/usage/manual.h"
#include "reports/usage/refusal.h"
#include "sim/cli/options/options.h"

namespace lockstep::sim::cli {

CLI::App* add_completion(CLI::App& app, std::string& shell) {
    CLI::App* sub = app.add_subcommand("completion", "print a completion script for a shell");
    sub->footer("Example:\n  source <(lockstep completion bash)\n");
    sub->add_option("SHELL", shell, "bash, zsh or fish")->required()->check(usage::one_of({"bash", "zsh", "fish"}));
    return sub;
}

CLI::App* add_manual(CLI::App& app) {
    CLI::App* sub = app.add_subcommand("man", "print the manual page");
    sub->footer("Example:\n  lockstep man | man -l -\n");
    return sub;
}

std::string completion_of(const CLI::App& app, const std::string& shell) {
    return usage::completion_script(app, *usage::shell_called(shell));
}

std::string manual_of(const CLI::App& app, const std::string& version) { return usage::manual_page(app, version); }

}  // namespace lockstep::sim::cli
