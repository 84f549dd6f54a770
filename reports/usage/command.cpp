#include "reports/usage/command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <sstream>
#include <utility>

#include "reports/usage/text_only.h"

namespace lockstep::usage {

namespace {

/// Asked for where the program has no such option of its own, too.
bool asks_for_json(const CLI::App& app) {
    if (const CLI::Option* own = app.get_option_no_throw("--json"); own != nullptr && own->count() > 0) return true;
    return std::ranges::count(app.remaining(), "--json") > 0;
}

}  // namespace

void refuse(const std::string& why) { throw CLI::ValidationError(why); }

Option Option::type(const char* name) const {
    option_->type_name(name);
    const std::string_view type = name;
    const auto names = [type](std::string_view word) { return type.find(word) != std::string_view::npos; };
    return names("FILE") || names("DIR") || names("PATH") ? bytes() : *this;
}
Option Option::required() const { return Option(option_->required()); }
Option Option::expected(int values) const { return Option(option_->expected(values)); }
Option Option::repeatable() const { return Option(option_->expected(1)->take_all()->allow_extra_args(false)); }
Option Option::show_default() const { return Option(option_->capture_default_str()); }
Option Option::environment(const char* variable) const { return Option(option_->envname(variable)); }
Option Option::excludes(Option other) const { return Option(option_->excludes(other.option_)); }
Option Option::needs(const char* other) const { return Option(option_->needs(other)); }
Option Option::range(std::int64_t least, std::int64_t most) const {
    return Option(option_->check(CLI::Range(least, most)));
}
Option Option::unsigned_range(std::uint64_t least, std::uint64_t most) const {
    return Option(option_->check(CLI::Range(least, most)));
}
Option Option::existing_file() const { return Option(option_->check(CLI::ExistingFile)).bytes(); }

Command Command::subcommand(const std::string& name, const std::string& help) const {
    return Command(app_->add_subcommand(name, help));
}
Option Command::option(const std::string& names, Target target, const std::string& help) const {
    return std::visit([&](auto* value) { return Option(text_only(app_->add_option(names, *value, help))); }, target);
}
Option Command::option(const std::string& names, std::function<void(const std::string&)> take,
                       const std::string& help) const {
    return Option(text_only(app_->add_option_function<std::string>(names, take, help)));
}
Option Command::flag(const std::string& names, bool* target, const std::string& help) const {
    return Option(app_->add_flag(names, *target, help));
}
void Command::version_flag(std::function<std::string(bool as_json)> text, const std::string& help) const {
    app_->set_version_flag(
        "--version", [app = app_, text = std::move(text)] { return text(asks_for_json(*app)); }, help);
}
void Command::footer(const std::string& text) const { app_->footer(text); }
void Command::require_subcommand() const { app_->require_subcommand(1); }
void Command::fallthrough() const { app_->fallthrough(); }
void Command::on_parsed(std::function<void()> callback) const { app_->final_callback(std::move(callback)); }

std::string Command::name() const { return app_->get_name(); }
std::string Command::help() const { return app_->help(); }
bool Command::parsed() const { return app_->parsed(); }
std::vector<Command> Command::subcommands() const {
    std::vector<Command> out;
    for (CLI::App* child : app_->get_subcommands([](const CLI::App*) { return true; })) out.emplace_back(child);
    return out;
}
std::vector<std::string> Command::option_names(bool only_given) const {
    std::vector<std::string> out;
    for (const CLI::Option* option : app_->get_options()) {
        if (only_given && option->count() == 0) continue;
        for (const auto& name : option->get_lnames()) out.push_back("--" + name);
        for (const auto& name : option->get_snames()) out.push_back("-" + name);
    }
    return out;
}

Program::Program(const std::string& description, const std::string& name)
    : Command(new CLI::App(description, name)), own_(&app()) {}
Program::~Program() = default;

std::optional<Program::Ending> Program::parse(std::vector<std::string> words) const {
    std::ranges::reverse(words);  // as the parser takes them
    try {
        own_->parse(std::move(words));
    } catch (const CLI::ParseError& error) {
        std::ostringstream text;
        const int code = own_->exit(error, text, text);
        return Ending{code, text.str()};
    }
    return std::nullopt;
}

std::optional<int> Program::parse(int argc, const char* const* argv) const {
    try {
        own_->parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        // Through C's streams: those of C++ forget why a write has failed.
        std::ostringstream out;
        std::ostringstream err;
        const int code = own_->exit(error, out, err);
        std::fputs(out.str().c_str(), stdout);
        std::fputs(err.str().c_str(), stderr);
        return code;
    }
    return std::nullopt;
}

}  // namespace lockstep::usage
