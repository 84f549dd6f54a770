#include "sim/cli/failure_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <ostream>

#include "engine/wire/json_text.h"
#include "reports/atomic_file.h"
#include "sim/cli/build_name.h"
#include "sim/scenario/override.h"
#include "sim/search/failure.h"

namespace lockstep::sim::cli {

namespace {

/// The scenario of the file as the command line changed it.
tl::expected<Document, std::string> document_of(const Scenario& scenario, const SelectionArgs& args) {
    auto loaded = load_replayable(scenario.file, {.overrides = scenario.cell, .without = {}});
    if (!loaded) return tl::make_unexpected(loaded.error());
    Document document = std::move(loaded->failure.scenario);
    document.erase("proves");  // what is kept is one history
    if (!args.overrides.empty()) {
        nlohmann::json changed = engine::wire::sound_json(engine::wire::json_text(document));
        for (const std::string& assignment : args.overrides) {
            if (const auto done = apply_override(changed, assignment); !done) return tl::make_unexpected(done.error());
        }
        document = engine::wire::sound_ordered_json(engine::wire::json_text(changed));
    }
    for (const std::string& mechanism : args.without) document["without"].push_back(mechanism);
    return document;
}

std::string file_name(const std::string& signature, const RunResult& result) {
    const std::string kind = signature.substr(0, signature.find_first_of(": "));
    return as_file_name(fmt::format("{}-{}-seed{}.json", kind, result.name, result.seed));
}

std::string kept_text(const Document& document, const RunResult& result, const Scenario& scenario,
                      const Environment& environment) {
    Failure failure = failure_of(document, result, fmt::format("run, {}", scenario.file));
    failure.build = build_name(environment);
    return failure_text(failure);
}

}  // namespace

std::string as_file_name(std::string name) {
    std::ranges::replace_if(
        name, [](unsigned char c) { return std::isalnum(c) == 0 && c != '-' && c != '_' && c != '.'; }, '_');
    return name;
}

bool write_failures(const std::string& folder, const Selection& selection, const SweepOutcome& outcome,
                    const SelectionArgs& args, const Environment& environment, bool talk) {
    std::map<std::string, std::size_t> shortest;  // by signature: index of the result
    for (std::size_t i = 0; i < outcome.results.size(); ++i) {
        const std::string signature = signature_of(outcome.results[i]);
        if (signature.empty() || selection.scenarios[outcome.runs[i].scenario].counterexample) continue;
        const auto [known, fresh] = shortest.try_emplace(signature, i);
        if (!fresh && outcome.results[i].events < outcome.results[known->second].events) known->second = i;
    }
    bool written = true;
    for (const auto& [signature, index] : shortest) {
        const RunResult& result = outcome.results[index];
        const Scenario& scenario = selection.scenarios[outcome.runs[index].scenario];
        const auto document = document_of(scenario, args);
        const std::string path = (std::filesystem::path(folder) / file_name(signature, result)).string();
        const auto done = document
                              ? reports::write_atomically(path, kept_text(*document, result, scenario, environment))
                              : tl::make_unexpected(document.error());
        if (!done) {
            environment.err << "lockstep: --failures: " << done.error() << '\n';
            written = false;
        } else if (talk) {
            environment.out << fmt::format("KEPT {}\n  lockstep replay {}\n", signature, shell_quoted(path));
        }
    }
    return written;
}

}  // namespace lockstep::sim::cli
