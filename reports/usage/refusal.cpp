#include "reports/usage/command.h"

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <ranges>
#include <utility>

#include "engine/config/nearest.h"

namespace lockstep::usage {

namespace {

using Chain = std::vector<const CLI::App*>;

/// The program and the commands that were recognised, each below the one before it.
Chain recognised(const CLI::App& program) {
    Chain chain{&program};
    while (true) {
        const auto below = std::as_const(*chain.back()).get_subcommands();
        if (below.empty()) return chain;
        chain.push_back(below.back());
    }
}

std::string words_of(const Chain& chain) {
    return fmt::format("{}", fmt::join(chain | std::views::transform(&CLI::App::get_name), " "));
}

std::vector<std::string> commands_of(const CLI::App& app) {
    std::vector<std::string> names;
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
        names.push_back(command->get_name());
    return names;
}

/// Of one letter there are so many that none is near another.
std::vector<std::string> options_of(const CLI::App& app) {
    std::vector<std::string> names;
    for (const CLI::Option* option : app.get_options())
        for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    return names;
}

/// What the parser left over first; empty: nothing.
std::string left_over(const Chain& chain) {
    for (const CLI::App* app : chain)
        for (const std::string& word : app->remaining())
            if (word != "--") return word;
    return {};
}

/// Whether the options of `command` may stand behind one below it, too.
bool reaches_below(const Chain& chain, const CLI::App* command) {
    return command == chain.back() || chain.back()->get_fallthrough();
}

std::string no_such_option(const Chain& chain, const std::string& word) {
    const std::string name = word.substr(0, word.find('='));
    std::vector<std::string> known;
    for (const CLI::App* command : chain | std::views::reverse) {
        if (!reaches_below(chain, command)) continue;
        const auto more = options_of(*command);
        known.insert(known.end(), more.begin(), more.end());
    }
    return fmt::format("{}: no such option{}", name, engine::suggestion(name, known));
}

/// A slip in a word above hides that the words behind it belong below it.
std::string no_such_command(const Chain& chain, const std::string& word) {
    for (const CLI::App* command : chain | std::views::reverse) {
        const auto known = commands_of(*command);
        if (!engine::nearest(word, known).empty())
            return fmt::format("\"{}\": no such command{}", word, engine::suggestion(word, known));
    }
    const auto known = commands_of(*chain.back());
    if (known.empty()) return fmt::format("\"{}\": one word more than it takes", word);
    return fmt::format("\"{}\": no such command{}", word, engine::suggestion(word, known));
}

std::string refusal(const CLI::App& program, const CLI::Error& error) {
    const Chain chain = recognised(program);
    const std::string word = left_over(chain);
    std::string what = error.what();
    if (!word.empty()) what = word.starts_with('-') ? no_such_option(chain, word) : no_such_command(chain, word);
    const std::string place = words_of(chain);
    return fmt::format("{}: {}\nSee {} --help.\n", place, what, place);
}

}  // namespace

void Command::explain_refusals() const {
    app_->failure_message([](const CLI::App* program, const CLI::Error& error) { return refusal(*program, error); });
}

Option Option::one_of(std::vector<std::string> words) const {
    std::string shown = fmt::format("{{{}}}", fmt::join(words, ","));
    const auto mistake = [words = std::move(words)](const std::string& word) {
        if (std::ranges::find(words, word) != words.end()) return std::string();
        return fmt::format("there is no \"{}\"{}", word, engine::suggestion(word, words));
    };
    return Option(option_->check(CLI::Validator(mistake, std::move(shown))));
}

}  // namespace lockstep::usage
