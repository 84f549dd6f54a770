#include "reports/usage/completion.h"

#include "reports/usage/manual.h"
#include "sim/cli/options/options.h"

namespace lockstep::sim::cli {

usage::Command add_completion(const usage::Command& app, std::string& shell) {
    const usage::Command sub = app.subcommand("completion", "print a completion script for a shell");
    sub.footer("Example:\n  source <(lockstep completion bash)\n");
    sub.option("SHELL", &shell, "bash, zsh or fish").required().one_of({"bash", "zsh", "fish"});
    return sub;
}

usage::Command add_manual(const usage::Command& app) {
    const usage::Command sub = app.subcommand("man", "print the manual page");
    sub.footer("Example:\n  lockstep man | man -l -\n");
    return sub;
}

std::string completion_of(const usage::Command& app, const std::string& shell) {
    return usage::completion_script(app, *usage::shell_called(shell));
}

std::string manual_of(const usage::Command& app, const std::string& version) {
    return usage::manual_page(app, version);
}

}  // namespace lockstep::sim::cli
