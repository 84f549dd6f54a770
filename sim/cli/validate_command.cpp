#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <ostream>

#include "engine/wire/json_text.h"
#include "reports/result_json.h"
#include "sim/cli/commands.h"
#include "sim/cli/selection.h"
#include "sim/cli/verdict.h"
#include "sim/compare/worlds.h"
#include "sim/scenario/warnings.h"

namespace lockstep::sim::cli {

namespace {

/// What no file can see alone: two scenarios of one name cannot be told apart in reports.
std::vector<LoadError> names_given_twice(const std::vector<Scenario>& scenarios) {
    std::map<std::string, std::string> file_of;
    std::vector<LoadError> errors;
    for (const Scenario& scenario : scenarios) {
        const auto [entry, first] = file_of.emplace(scenario.name, scenario.file);
        if (!first)
            errors.push_back(
                {scenario.file, "/name",
                 fmt::format("expected a name of its own; {} is also named \"{}\"", entry->second, scenario.name), 0,
                 0});
    }
    return errors;
}

/// What is wrong with a comparison, or with what its variants set.
std::vector<LoadError> wrong_with(const std::filesystem::path& comparison) {
    const auto plan = load_comparison(comparison);
    if (!plan) return plan.error();
    const auto worlds = load_worlds(*plan);
    return worlds ? std::vector<LoadError>{} : worlds.error();
}

void print_json(const std::vector<LoadError>& errors, std::size_t files, std::ostream& out) {
    using nlohmann::json;
    json list = json::array();
    for (const LoadError& error : errors)
        list.push_back({{"file", error.file},
                        {"pointer", error.pointer},
                        {"expected", error.expected},
                        {"line", error.line},
                        {"column", error.column}});
    const json document{{"version", reports::kResultJsonVersion},
                        {"schema_version", reports::kSchemaVersion},
                        {"files", files},
                        {"errors", std::move(list)}};
    out << engine::wire::json_text(document, 2) << '\n';
}

}  // namespace

Exit validate_command(const ValidateArgs& args, const Environment& environment) {
    const auto scenarios = load_all(args.paths);
    std::vector<LoadError> errors = scenarios ? names_given_twice(*scenarios) : scenarios.error();
    const auto comparisons = find_comparisons(args.paths.empty() ? std::vector<std::string>{"scenarios"} : args.paths);
    for (const auto& comparison : comparisons) {
        const auto wrong = wrong_with(comparison);
        errors.insert(errors.end(), wrong.begin(), wrong.end());
    }
    if (scenarios && scenarios->empty() && comparisons.empty())
        errors.push_back(
            {args.paths.empty() ? "scenarios" : args.paths[0], "", "there are no scenario files here", 0, 0});
    const std::size_t files = (scenarios ? scenarios->size() : 0) + comparisons.size();
    if (args.json)
        print_json(errors, files, environment.out);
    else
        for (const LoadError& error : errors) environment.err << to_string(error) << '\n';
    if (!errors.empty()) return conclude(wrong_input("validate", errors), environment.err, environment);
    for (const Scenario& scenario : *scenarios)
        for (const LoadError& warning : warnings_of(scenario))
            environment.err << "warning: " << to_string(warning) << '\n';
    tell_ci({.command = "validate",
             .exit = Exit::passed,
             .sentence = fmt::format("{} file{} sound", files, files == 1 ? " is" : "s are"),
             .again = {}},
            environment.err, environment);
    if (args.json) return Exit::passed;
    const std::size_t of_scenarios = files - comparisons.size();
    environment.out << fmt::format("{} scenario file{} sound\n", of_scenarios, of_scenarios == 1 ? " is" : "s are");
    if (!comparisons.empty())
        environment.out << fmt::format("{} comparison{} sound\n", comparisons.size(),
                                       comparisons.size() == 1 ? " is" : "s are");
    return Exit::passed;
}

}  // namespace lockstep::sim::cli
