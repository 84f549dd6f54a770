#include "reports/usage/manual.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "reports/usage/command_outline.h"

namespace lockstep::usage {

namespace {

/// Text as it is: a backslash, a hyphen that may be copied, and a line that would be taken for a request.
std::string roff(std::string_view text) {
    std::string out;
    bool begins_line = true;
    for (const char c : text) {
        if (begins_line && (c == '.' || c == '\'')) out += "\\&";
        if (c == '\\')
            out += "\\e";
        else if (c == '-')
            out += "\\-";
        else
            out += c;
        begins_line = c == '\n';
    }
    return out;
}

/// Lines stay lines.
std::string paragraph(const std::string& text) {
    return text.empty() ? "" : fmt::format(".PP\n.nf\n{}\n.fi\n", roff(text));
}

/// The first sentence, or what stands before a colon, as programs such as apropos show it.
std::string_view summary_of(std::string_view help) {
    std::string_view first = help.substr(0, help.find_first_of(":\n"));
    first = first.substr(0, first.find(". "));
    return first.ends_with('.') ? first.substr(0, first.size() - 1) : first;
}

std::string option_text(const OutlinedOption& option) {
    std::string name = option.names.empty()
                           ? fmt::format("\\fI{}\\fR", roff(option.place))
                           : fmt::format("\\fB{}\\fR", roff(fmt::format("{}", fmt::join(option.names, ", "))));
    if (option.takes_value && !option.names.empty())
        name += option.value_is_optional ? " [\\fIVALUE\\fR]" : " \\fIVALUE\\fR";
    std::string help = roff(option.help);
    if (!option.choices.empty()) help += roff(fmt::format(" (one of {})", fmt::join(option.choices, ", ")));
    if (!option.standard.empty()) help += roff(fmt::format(" [{}]", option.standard));
    if (option.required) help += " (required)";
    return fmt::format(".TP\n{}\n{}\n", name, help);
}

std::string synopsis(const std::string& program, const OutlinedCommand& command) {
    std::string line = fmt::format("\\fB{} {}\\fR", roff(program), roff(command.words()));
    for (const OutlinedOption& option : command.options)
        if (option.names.empty())
            line += fmt::format("{}\\fI{}\\fR{}", option.required ? " " : " [", roff(option.place),
                                option.required ? "" : "]");
    return line;
}

}  // namespace

std::string manual_page(const Command& command_line, std::string_view version) {
    const auto commands = outline_commands(command_line);
    const std::string program = command_line.name();
    std::string title = program;
    std::ranges::transform(title, title.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    const OutlinedCommand& root = commands.front();
    const std::string& help = root.help;
    std::string page = fmt::format(".TH {} 1 \"\" \"{} {}\"\n.SH NAME\n{} \\- {}\n", title, roff(program),
                                   roff(version), roff(program), roff(summary_of(help)));
    page += fmt::format(".SH SYNOPSIS\n.B {}\n[\\fIoptions\\fR] {}\n.SH DESCRIPTION\n{}\n.SH OPTIONS\n", roff(program),
                        root.needs_subcommand ? "\\fIcommand\\fR ..." : "[\\fIcommand\\fR ...]", roff(help));
    for (const OutlinedOption& option : root.options) page += option_text(option);
    page += ".SH COMMANDS\n";
    for (const OutlinedCommand& command : commands) {
        if (command.path.empty()) continue;
        page += fmt::format(".SS {}\n{}\n", synopsis(program, command), roff(command.help));
        for (const OutlinedOption& option : command.options)
            if (std::ranges::find(option.names, "--help") == option.names.end()) page += option_text(option);
        page += paragraph(command.footer);
    }
    if (!root.footer.empty()) page += ".SH NOTES\n" + paragraph(root.footer);
    return page;
}

}  // namespace lockstep::usage
