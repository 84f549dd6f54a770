#include "reports/usage/completion.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "reports/usage/command_outline.h"

namespace lockstep::usage {

namespace {

using Words = std::vector<std::string>;

/// A word that may come next, and what it is for.
struct Candidate {
    std::string word;
    std::string help;
};

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

std::string quoted(const std::string& text) {
    std::string out = "'";
    for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return out + "'";
}

/// Of fish, whose single quotes know two escapes.
std::string quoted_for_fish(const std::string& text) {
    std::string out = "'";
    for (const char c : text) {
        if (c == '\'' || c == '\\') out += '\\';
        out += c;
    }
    return out + "'";
}

const OutlinedCommand* child_of(const std::vector<OutlinedCommand>& commands, const OutlinedCommand& parent,
                                const std::string& name) {
    Words path = parent.path;
    path.push_back(name);
    const auto found = std::ranges::find(commands, path, &OutlinedCommand::path);
    return found == commands.end() ? nullptr : &*found;
}

std::vector<OutlinedOption> options_at(const std::vector<OutlinedCommand>& commands, const OutlinedCommand& command) {
    std::vector<OutlinedOption> options = command.options;
    if (command.path.empty()) return options;
    for (const OutlinedOption& option : commands.front().options)
        if (!option.names.empty() && option.names.front() != "--help" && option.names.front() != "--version")
            options.push_back(option);
    return options;
}

std::vector<Candidate> candidates(const std::vector<OutlinedCommand>& commands, const OutlinedCommand& command) {
    std::vector<Candidate> out;
    for (const std::string& name : command.subcommands) {
        const OutlinedCommand* child = child_of(commands, command, name);
        out.push_back({name, child == nullptr ? "" : first_line(child->help)});
    }
    for (const OutlinedOption& option : options_at(commands, command)) {
        for (const std::string& name : option.names) out.push_back({name, first_line(option.help)});
        if (option.names.empty())
            for (const std::string& word : option.choices) out.push_back({word, first_line(option.help)});
    }
    return out;
}

/// The cases that lead from a path and the next word to the longer path: the same syntax in bash and zsh.
std::string path_cases(const std::vector<OutlinedCommand>& commands) {
    std::string cases;
    for (const OutlinedCommand& command : commands)
        if (!command.path.empty()) cases += fmt::format("      {0}) at={0} ;;\n", quoted(" " + command.words()));
    return cases;
}

std::string case_of(const OutlinedCommand& command) {
    return command.path.empty() ? "''" : quoted(" " + command.words());
}

/// The cases of options that need a value, after which no option is completed.
template <class Then>
std::string value_cases(const std::vector<OutlinedCommand>& commands, Then then) {
    std::string cases;
    for (const OutlinedCommand& command : commands) {
        for (const OutlinedOption& option : options_at(commands, command)) {
            if (!option.takes_value || option.value_is_optional || option.names.empty()) continue;
            Words patterns;
            for (const std::string& name : option.names)
                patterns.push_back(quoted((command.path.empty() ? "" : " " + command.words()) + " " + name));
            cases += fmt::format("    {}) {} ;;\n", fmt::join(patterns, "|"), then(option));
        }
    }
    return cases;
}

std::string bash_script(const std::string& program, const std::vector<OutlinedCommand>& commands) {
    std::string cases;
    for (const OutlinedCommand& command : commands) {
        Words words;
        for (const Candidate& candidate : candidates(commands, command)) words.push_back(candidate.word);
        cases += fmt::format("    {}) words=\"{}\" ;;\n", case_of(command), fmt::join(words, " "));
    }
    const std::string values = value_cases(commands, [](const OutlinedOption& option) {
        return option.choices.empty()
                   ? std::string("mapfile -t COMPREPLY < <(compgen -f -- \"$current\"); return")
                   : fmt::format("mapfile -t COMPREPLY < <(compgen -W \"{}\" -- \"$current\"); return",
                                 fmt::join(option.choices, " "));
    });
    return fmt::format(
        "# Completion of {0} for bash: source <({0} completion bash)\n"
        "_{0}() {{\n"
        "  local current=${{COMP_WORDS[COMP_CWORD]}} at= words= i\n"
        "  COMPREPLY=()\n"
        "  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
        "    case \"$at ${{COMP_WORDS[i]}}\" in\n"
        "{1}"
        "    esac\n"
        "  done\n"
        "  case \"$at ${{COMP_WORDS[COMP_CWORD-1]}}\" in\n"
        "{2}"
        "  esac\n"
        "  case \"$at\" in\n"
        "{3}"
        "  esac\n"
        "  for i in $words; do\n"
        "    [[ $current == -* || $i != -* ]] && [[ $i == \"$current\"* ]] && COMPREPLY+=(\"$i\")\n"
        "  done\n"
        "  [[ $current == -* || ${{#COMPREPLY[@]}} -gt 0 ]] || mapfile -t COMPREPLY < <(compgen -f -- \"$current\")\n"
        "}}\n"
        "complete -o filenames -F _{0} {0}\n",
        program, path_cases(commands), values, cases);
}

std::string zsh_script(const std::string& program, const std::vector<OutlinedCommand>& commands) {
    std::string cases;
    for (const OutlinedCommand& command : commands) {
        std::string list;
        for (const Candidate& candidate : candidates(commands, command))
            list += " " + quoted(candidate.word + (candidate.help.empty() ? "" : ":" + candidate.help));
        cases += fmt::format("    {}) found=({}) ;;\n", case_of(command), list);
    }
    const std::string values = value_cases(commands, [](const OutlinedOption& option) {
        return option.choices.empty() ? std::string("_files; return")
                                      : fmt::format("compadd -- {}; return", fmt::join(option.choices, " "));
    });
    return fmt::format(
        "#compdef {0}\n"
        "# Completion of {0} for zsh: source <({0} completion zsh), or as _{0} in a folder of $fpath\n"
        "_{0}() {{\n"
        "  local at='' i\n"
        "  local -a found\n"
        "  for ((i = 2; i < CURRENT; ++i)); do\n"
        "    case \"$at ${{words[i]}}\" in\n"
        "{1}"
        "    esac\n"
        "  done\n"
        "  case \"$at ${{words[CURRENT-1]}}\" in\n"
        "{2}"
        "  esac\n"
        "  case \"$at\" in\n"
        "{3}"
        "  esac\n"
        "  _describe -t commands '{0}' found || _files\n"
        "}}\n"
        "if [ \"$funcstack[1]\" = _{0} ]; then _{0} \"$@\"; else compdef _{0} {0}; fi\n",
        program, path_cases(commands), values, cases);
}

std::string fish_line(const std::string& program, const OutlinedCommand& command, const OutlinedOption& option) {
    std::string line = fmt::format("complete -c {} -n '__{}_at \"{}\"'", program, program, command.words());
    for (const std::string& name : option.names)
        line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    if (option.takes_value && !option.value_is_optional && !option.names.empty())
        line += option.choices.empty() ? " -r" : " -x";
    if (!option.choices.empty())
        line += fmt::format("{} -a '{}'", option.names.empty() ? " -f" : "", fmt::join(option.choices, " "));
    return fmt::format("{} -d {}\n", line, quoted_for_fish(first_line(option.help)));
}

std::string fish_script(const std::string& program, const std::vector<OutlinedCommand>& commands) {
    std::string lines;
    Words paths;
    for (const OutlinedCommand& command : commands) {
        if (!command.path.empty()) paths.push_back(quoted_for_fish(command.words()));
        for (const std::string& name : command.subcommands) {
            const OutlinedCommand* child = child_of(commands, command, name);
            lines += fmt::format("complete -c {0} -f -n '__{0}_at \"{1}\"' -a {2} -d {3}\n", program, command.words(),
                                 name, quoted_for_fish(child == nullptr ? "" : first_line(child->help)));
        }
        for (const OutlinedOption& option : options_at(commands, command))
            if (!option.names.empty() || !option.choices.empty()) lines += fish_line(program, command, option);
    }
    return fmt::format(
        "# Completion of {0} for fish: {0} completion fish | source\n"
        "set -g __{0}_paths {1}\n"
        "function __{0}_at\n"
        "  set -l at ''\n"
        "  for word in (commandline -opc)[2..-1]\n"
        "    set -l longer (string trim -- \"$at $word\")\n"
        "    if contains -- \"$longer\" $__{0}_paths\n"
        "      set at \"$longer\"\n"
        "    end\n"
        "  end\n"
        "  test \"$at\" = \"$argv[1]\"\n"
        "end\n"
        "{2}",
        program, fmt::join(paths, " "), lines);
}

}  // namespace

std::optional<Shell> shell_called(std::string_view name) {
    if (name == "bash") return Shell::bash;
    if (name == "zsh") return Shell::zsh;
    if (name == "fish") return Shell::fish;
    return std::nullopt;
}

std::string completion_script(const Command& program, Shell shell) {
    const auto commands = outline_commands(program);
    switch (shell) {
        case Shell::bash: return bash_script(program.name(), commands);
        case Shell::zsh: return zsh_script(program.name(), commands);
        case Shell::fish: return fish_script(program.name(), commands);
    }
    return {};
}

}  // namespace lockstep::usage
