#include "sim/cli/selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <ostream>
#include <set>

#include "engine/config/nearest.h"
#include "sim/cli/build_name.h"
#include "sim/scenario/catalogue.h"
#include "sim/scenario/glob.h"
#include "sim/scenario/proof.h"

namespace lockstep::sim::cli {

namespace {

constexpr const char* kDefaultFolder = "scenarios";

bool is_named(const Scenario& scenario, const std::string& glob) {
    return glob_matches(glob, scenario.name) || glob_matches(glob, scenario.file) ||
           glob_matches(glob, std::filesystem::path(scenario.file).stem().string());
}

bool is_tagged(const Scenario& scenario, const std::string& tag) {
    return std::ranges::find(scenario.tags, tag) != scenario.tags.end();
}

bool selected(const Scenario& scenario, const SelectionArgs& args) {
    const auto named = [&](const std::string& glob) { return is_named(scenario, glob); };
    const auto tagged = [&](const std::string& tag) { return is_tagged(scenario, tag); };
    return (args.filters.empty() || std::ranges::any_of(args.filters, named)) &&
           (args.tags.empty() || std::ranges::any_of(args.tags, tagged));
}

std::vector<std::string> unmatched(const std::vector<Scenario>& scenarios, const SelectionArgs& args) {
    std::vector<std::string> sentences;
    for (const std::string& tag : args.tags) {
        if (std::ranges::any_of(scenarios, [&](const Scenario& one) { return is_tagged(one, tag); })) continue;
        std::set<std::string> known;
        for (const Scenario& one : scenarios) known.insert(one.tags.begin(), one.tags.end());
        sentences.push_back(fmt::format("no scenario has the tag \"{}\"{}", tag,
                                        engine::suggestion(tag, std::vector<std::string>(known.begin(), known.end()))));
    }
    for (const std::string& glob : args.filters)
        if (std::ranges::none_of(scenarios, [&](const Scenario& one) { return is_named(one, glob); }))
            sentences.push_back(fmt::format("no scenario is called \"{}\"", glob));
    return sentences;
}

void keep_part(Selection& selection, const Shard& shard) {
    std::vector<PlannedRun> kept;
    for (std::size_t i = 0; i < selection.plan.size(); ++i) {
        if (shard.holds(i))
            kept.push_back(selection.plan[i]);
        else
            selection.shared_out.insert(selection.plan[i].scenario);
    }
    selection.plan = std::move(kept);
}

}  // namespace

bool mechanisms_known(const std::vector<std::string>& names, const Environment& environment) {
    bool known = true;
    for (const std::string& name : names) {
        const auto found = std::ranges::find(mechanism_table(), name, &NamedItem::name);
        if (found != mechanism_table().end() && found->available) continue;
        known = false;
        if (found != mechanism_table().end())
            environment.err << fmt::format(
                "lockstep: --without: the mechanism \"{}\" cannot be switched off in this version\n", name);
        else
            environment.err << fmt::format("lockstep: --without: there is no mechanism \"{}\"{}\n", name,
                                           engine::suggestion(name, names_of(mechanism_table())));
    }
    return known;
}

Loaded<std::vector<Scenario>> load_all(const std::vector<std::string>& paths, const LoadOptions& options) {
    const auto files = find_scenarios(paths.empty() ? std::vector<std::string>{kDefaultFolder} : paths);
    if (!files) return tl::make_unexpected(files.error());
    std::vector<Scenario> scenarios;
    std::vector<LoadError> errors;
    for (const auto& file : *files) {
        auto of_file = load_scenarios(file, options);
        if (of_file)
            std::ranges::move(*of_file, std::back_inserter(scenarios));
        else
            errors.insert(errors.end(), of_file.error().begin(), of_file.error().end());
    }
    if (!errors.empty()) return tl::make_unexpected(std::move(errors));
    return scenarios;
}

Verdict wrong_input(const std::string& command, const std::vector<LoadError>& errors) {
    Verdict verdict{.command = command, .exit = Exit::usage, .sentence = {}, .again = {}};
    verdict.sentence = fmt::format("{} mistake{}", errors.size(), errors.size() == 1 ? "" : "s");
    for (const LoadError& error : errors)
        verdict.problems.push_back({.file = error.file,
                                    .title = error.pointer.empty() ? "wrong input" : "at " + error.pointer,
                                    .detail = error.expected,
                                    .line = static_cast<std::uint64_t>(error.line),
                                    .column = static_cast<std::uint64_t>(error.column)});
    return verdict;
}

std::optional<Selection> select(const SelectionArgs& args, const std::string& command, const Environment& environment) {
    note_other_build("this command", args.recorded_by, environment);
    // Said once here instead of once per file.
    if (!mechanisms_known(args.without, environment)) return {};
    for (const std::string& path : args.paths) {
        if (!is_comparison_file(path)) continue;
        environment.err << fmt::format("{}: this is a comparison, no scenario: lockstep compare {}\n", path,
                                       shell_quoted(path));
        return {};
    }
    auto loaded = load_all(args.paths, {.overrides = args.overrides, .without = args.without});
    if (!loaded) {
        for (const LoadError& error : loaded.error()) environment.err << to_string(error) << '\n';
        tell_ci(wrong_input(command, loaded.error()), environment.err, environment);
        return {};
    }
    Selection selection;
    selection.unmatched = unmatched(*loaded, args);
    for (Scenario& scenario : *loaded) {
        if (!selected(scenario, args)) continue;
        selection.scenarios.push_back(std::move(scenario));
        const Scenario& added = selection.scenarios.back();
        if (added.proves && !args.one_half) selection.scenarios.push_back(counterexample_of(added));
    }
    selection.plan = plan_runs(selection.scenarios, args.seed ? &*args.seed : nullptr, args.seeds);
    keep_part(selection, args.shard);
    return selection;
}

std::string shell_quoted(const std::string& word) {
    const bool plain = !word.empty() && std::ranges::all_of(word, [](unsigned char c) {
        return std::isalnum(c) != 0 ||
               std::string_view("-_./=:,+@%").find(static_cast<char>(c)) != std::string_view::npos;
    });
    if (plain) return word;
    std::string out = "'";
    for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return out + "'";
}

std::string replay_command(const Scenario& scenario, std::uint64_t seed, const SelectionArgs& args,
                           const std::string& build, std::string_view subcommand) {
    std::string line = fmt::format("lockstep {} {} --seed {}", subcommand, shell_quoted(scenario.file), seed);
    for (const std::string& assignment : scenario.cell) line += " --set " + shell_quoted(assignment);
    for (const std::string& assignment : args.overrides) line += " --set " + shell_quoted(assignment);
    for (const std::string& mechanism : args.without) line += " --without " + mechanism;
    if (args.real) line += " --real";
    return line + " --recorded-by " + shell_quoted(build);
}

unsigned threads_of(const SelectionArgs& args, const Environment& environment) {
    return std::max(1U, args.threads == 0 ? environment.processors : args.threads);
}

}  // namespace lockstep::sim::cli
