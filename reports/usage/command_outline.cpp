#include "reports/usage/command_outline.h"

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>

namespace lockstep::usage {

namespace {

/// The words between the braces of a type such as TEXT:{bash,fish}.
std::vector<std::string> choices_in(const std::string& type) {
    std::vector<std::string> words;
    const auto open = type.find('{');
    const auto close = type.rfind('}');
    if (open == std::string::npos || close == std::string::npos || close < open) return words;
    std::size_t from = open + 1;
    while (from < close) {
        const auto comma = std::min(type.find(',', from), close);
        words.push_back(type.substr(from, comma - from));
        from = comma + 1;
    }
    return words;
}

OutlinedOption outline_option(const CLI::Option& option) {
    OutlinedOption out;
    for (const auto& name : option.get_lnames()) out.names.push_back("--" + name);
    for (const auto& name : option.get_snames()) out.names.push_back("-" + name);
    if (option.get_positional()) out.place = option.get_name(true, false);
    out.help = option.get_description();
    out.standard = option.get_default_str();
    out.choices = choices_in(option.get_type_name());
    out.takes_value = option.get_items_expected_max() > 0;
    out.value_is_optional = out.takes_value && option.get_items_expected_min() == 0;
    out.required = option.get_required();
    return out;
}

void add_outline(const CLI::App& app, std::vector<std::string> path, std::vector<OutlinedCommand>& out) {
    OutlinedCommand command;
    command.path = path;
    command.help = app.get_description();
    command.footer = app.get_footer();
    for (const CLI::Option* option : app.get_options()) command.options.push_back(outline_option(*option));
    const auto children = app.get_subcommands([](const CLI::App*) { return true; });
    for (const CLI::App* child : children) command.subcommands.push_back(child->get_name());
    command.needs_subcommand = app.get_require_subcommand_min() > 0;
    out.push_back(std::move(command));
    for (const CLI::App* child : children) {
        path.push_back(child->get_name());
        add_outline(*child, path, out);
        path.pop_back();
    }
}

}  // namespace

std::string OutlinedCommand::words() const { return fmt::format("{}", fmt::join(path, " ")); }

std::vector<OutlinedCommand> outline_commands(const Command& program) {
    std::vector<OutlinedCommand> commands;
    add_outline(program.app(), {}, commands);
    return commands;
}

}  // namespace lockstep::usage
