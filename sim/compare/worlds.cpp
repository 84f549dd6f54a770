#include "sim/compare/worlds.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <iterator>

#include "sim/scenario/text_file.h"
#include "sim/search/draw.h"

namespace lockstep::sim {

namespace {

struct Source {
    std::string file;
    std::string text;
};

std::string hash_of(const std::string& text) { return fmt::format("{:016x}", XXH3_64bits(text.data(), text.size())); }

Loaded<std::vector<Source>> sources_of(const ComparisonPlan& plan) {
    const auto files = find_scenarios(plan.scenarios);
    if (!files) return tl::make_unexpected(files.error());
    std::vector<Source> sources;
    for (const auto& file : *files) {
        auto text = text_of_file(file);
        if (!text)
            return tl::make_unexpected(
                std::vector<LoadError>{{file.string(), "", "expected a file that can be read", 0, 0}});
        sources.push_back({file.string(), std::move(*text)});
    }
    for (std::uint64_t i = 0; i < plan.drawn; ++i) {
        const std::uint64_t number = plan.first_drawn + i;
        sources.push_back({fmt::format("draw {}", number), pretty(draw_scenario(number, {}))});
    }
    return sources;
}

/// The faults of a scenario that are placed on events, by their places in the file.
std::vector<const Fault*> placed_on_events(const Scenario& scenario) {
    std::vector<const Fault*> found;
    for (const Fault& fault : scenario.faults)
        if (fault.on) found.push_back(&fault);
    return found;
}

LoadError refusal(const std::string& file, const Fault& fault) {
    return {
        file, fault.pointer,
        fmt::format(
            "expected faults that are placed in time (\"at\"): {} is placed on an event, which comes at another time "
            "in another variant; \"event_faults\": \"not_shared\" lets it through",
            fault.kind()),
        0, 0};
}

void append(std::vector<LoadError>& all, const std::vector<LoadError>& more) {
    for (const LoadError& error : more) {
        const bool told =
            std::ranges::any_of(all, [&](const LoadError& known) { return to_string(known) == to_string(error); });
        if (!told) all.push_back(error);
    }
}

}  // namespace

Loaded<ComparedWorlds> load_worlds(const ComparisonPlan& plan) {
    const auto sources = sources_of(plan);
    if (!sources) return tl::make_unexpected(sources.error());
    ComparedWorlds all;
    std::vector<LoadError> errors;
    for (const Source& source : *sources) {
        for (const VariantPlan& variant : plan.variants) {
            auto world = parse_scenario(source.text, source.file, {.overrides = variant.overrides(), .without = {}});
            if (!world) {
                append(errors, world.error());
                continue;
            }
            world->proves.reset();
            all.worlds.push_back(std::move(*world));
        }
        if (!errors.empty()) continue;
        const Scenario& first = all.worlds[all.worlds.size() - plan.variants.size()];
        all.scenarios.push_back({source.file, first.name, hash_of(source.text)});
        for (const Fault* fault : placed_on_events(first)) {
            if (!plan.event_faults) append(errors, {refusal(source.file, *fault)});
            all.not_shared.push_back(
                fmt::format("{}: the fault {} at {} is placed on an event and happens when that does", source.file,
                            fault->kind(), fault->pointer));
        }
    }
    if (!errors.empty()) return tl::make_unexpected(std::move(errors));
    return all;
}

}  // namespace lockstep::sim
