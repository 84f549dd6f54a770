// The reference page and the list of names for --help, from the table of variables.
#include <fmt/core.h>

#include <algorithm>

#include "engine/config/tunables.h"
#include "prod/config/known_variables.h"
#include "prod/config/variables.h"

namespace lockstep::prod {

namespace {

constexpr std::string_view kHead =
    "# Settings of lockstepd, lockstepctl and lockstep-worker\n\n"
    "Printed by `lockstepd config reference`; a test holds this page to it. `lockstepd config print` shows what is in "
    "force\n"
    "and where each value comes from, `lockstepd --check` reports every mistake. Durations are written `500ms`, `30s`, "
    "`1h30m`;\n"
    "true and false also `1`, `yes`, `y`, `on` and `0`, `no`, `n`, `off`. An empty variable is an unset one.\n"
    "No duration is above ten years (`87600h`), and no whole number above a billion, of bytes and bits above 10^12.\n\n"
    "Where *or a file* stands, `NAME_FILE` may name a file that holds the value, and a credential of systemd of that "
    "name is\n"
    "the value. For files a credential of the variable's name is the path.\n";

std::string or_none(std::string_view text) { return text.empty() ? "–" : fmt::format("`{}`", text); }

std::string default_of(const Variable& variable) {
    const engine::TunableInfo* info = engine::find_tunable(variable.tunable);
    if (info == nullptr) return or_none(variable.otherwise);
    return variable.instead_of.empty() ? or_none(engine::tunable_text(engine::Tunables{}, *info)) : "–";
}

std::string bounds_of(const Variable& variable) {
    std::string text;
    if (!variable.words.empty()) {
        for (const std::string_view word : variable.words)
            text += fmt::format("{}`{}`", text.empty() ? "" : ", ", word);
    } else if (variable.kind == VariableKind::count && variable.least > 0) {
        text = variable.most > 0 ? fmt::format("{} to {}", variable.least, variable.most)
                                 : fmt::format("at least {}", variable.least);
    } else if (variable.shortest > engine::Duration::zero()) {
        text = fmt::format("at least `{}`", engine::format_duration(variable.shortest));
    }
    return text;
}

std::string row_of(const Variable& variable) {
    std::string about(variable.help);
    if (const std::string bounds = bounds_of(variable); !bounds.empty()) about += fmt::format(" ({})", bounds);
    if (!variable.instead_of.empty()) about += fmt::format("; for `{}`", variable.instead_of);
    if (may_stand_in_file(variable)) about += "; *or a file*";
    return fmt::format("| `{}` | {} | {} |\n", variable.name, default_of(variable), about);
}

bool has_variable(std::string_view tunable) {
    return std::ranges::any_of(variable_table(), [&](const Variable& variable) {
        return variable.tunable == tunable && variable.instead_of.empty();
    });
}

constexpr std::string_view kColumns = "| variable | default | what it is |\n| --- | --- | --- |\n";

}  // namespace

std::string reference_page() {
    std::string page(kHead);
    std::string_view section;
    for (const Variable& variable : variable_table()) {
        if (variable.section != section) page += fmt::format("\n## {}\n\n{}", variable.section, kColumns);
        section = variable.section;
        page += row_of(variable);
    }
    page +=
        "\n## Tunables\n\nEach has a variable; those that stand above under a name of their own may also be set as "
        "`LOCKSTEP_<TUNABLE>`,\n"
        "and the documented name wins.\n\n";
    page += kColumns;
    for (const engine::TunableInfo& info : engine::tunable_table())
        if (!has_variable(info.name))
            page += fmt::format("| `{}` | {} | {} |\n", tunable_variable(info.name),
                                or_none(engine::tunable_text(engine::Tunables{}, info)), info.help);
    return page;
}

std::string variables_by_section(std::size_t width) {
    std::string text;
    std::string line;
    std::string_view section;
    for (const Variable& variable : variable_table()) {
        const std::string word = fmt::format(" {}", variable.name);
        if (variable.section != section || line.size() + word.size() > width) {
            text += line.empty() ? "" : line + "\n";
            line = variable.section != section ? fmt::format("  {}:", variable.section) : "   ";
        }
        section = variable.section;
        line += word;
    }
    return text + line + "\n";
}

}  // namespace lockstep::prod
