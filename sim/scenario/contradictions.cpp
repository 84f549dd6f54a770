#include "sim/scenario/contradictions.h"

#include <string>

#include "engine/config/relations.h"
#include "sim/scenario/text_file.h"

namespace lockstep::sim {

std::vector<LoadError> contradictions_in(const Scenario& scenario) {
    std::vector<LoadError> found;
    const auto text = text_of_file(scenario.file);
    if (!text) return found;
    const auto places = places_in(*text);
    for (const engine::Relation& relation : engine::relations()) {
        if (relation.holds(scenario.cluster.config)) continue;
        for (const std::string_view tunable : {relation.first, relation.second}) {
            const std::string pointer = "/cluster/config/" + std::string(tunable);
            const auto place = places.find(pointer);
            if (place == places.end()) continue;
            const auto as_it_is = [](std::string_view name) { return std::string(name); };
            found.push_back({scenario.file, pointer, describe(relation, scenario.cluster.config, as_it_is),
                             place->second.line, place->second.column});
            break;
        }
    }
    return found;
}

}  // namespace lockstep::sim
