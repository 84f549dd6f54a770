#include "sim/cli/options/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

namespace lockstep::sim::cli {

CLI::App* add_completion(CLI::App& app, std::string& shell) {
    CLI::App* sub = app.add_subcommand("completion", "print a completion script for a shell");
    sub->footer("Example:\n  source <(lockstep completion bash)\n");
    sub->add_option("SHELL", shell, "bash")->required()->check(CLI::IsMember({"bash"}));
    return sub;
}

std::string bash_completion(const CLI::App& app) {
    std::string cases;
    std::vector<std::string> names;
    for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
        names.push_back(sub->get_name());
        std::vector<std::string> words;
        for (const CLI::Option* option : sub->get_options()) {
            for (const auto& name : option->get_lnames()) words.push_back("--" + name);
            for (const auto& name : option->get_snames()) words.push_back("-" + name);
        }
        if (sub->get_name() == "list") words.insert(words.end(), list_topics().begin(), list_topics().end());
        if (sub->get_name() == "completion") words.emplace_back("bash");
        cases += fmt::format("    {}) words=\"{}\" ;;\n", sub->get_name(), fmt::join(words, " "));
    }
    return fmt::format(
        "# Completion of lockstep for bash: source <(lockstep completion bash)\n"
        "_lockstep() {{\n"
        "  local current=${{COMP_WORDS[COMP_CWORD]}} words=\n"
        "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
        "    mapfile -t COMPREPLY < <(compgen -W \"{} --help --version\" -- \"$current\")\n"
        "    return\n"
        "  fi\n"
        "  case ${{COMP_WORDS[1]}} in\n"
        "{}"
        "  esac\n"
        "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
        "  [[ $current == -* ]] || mapfile -t -O \"${{#COMPREPLY[@]}}\" COMPREPLY < <(compgen -f -- \"$current\")\n"
        "}}\n"
        "complete -o filenames -F _lockstep lockstep\n",
        fmt::join(names, " "), cases);
}

}  // namespace lockstep::sim::cli
