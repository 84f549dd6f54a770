#include "engine/runs/definition_slips.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>

#include "engine/config/json_positions.h"
#include "engine/config/nearest.h"

namespace lockstep::engine {

using nlohmann::json;

namespace {

using Names = std::span<const std::string_view>;

// workflow.md 3
constexpr auto kOfWorkflow = std::to_array<std::string_view>(
    {"id", "org_id", "team_id", "name", "description", "version", "timeout_sec", "steps", "config", "parameters",
     "created_by", "created_at", "updated_at", "input_schema"});
constexpr auto kOfStep = std::to_array<std::string_view>({"id",
                                                          "name",
                                                          "type",
                                                          "topic",
                                                          "worker_id",
                                                          "depends_on",
                                                          "condition",
                                                          "for_each",
                                                          "max_parallel",
                                                          "input",
                                                          "input_schema",
                                                          "input_schema_id",
                                                          "output_schema",
                                                          "output_schema_id",
                                                          "output_path",
                                                          "result_data_path",
                                                          "meta",
                                                          "on_error",
                                                          "retry",
                                                          "timeout_sec",
                                                          "delay_sec",
                                                          "delay_until",
                                                          "route_labels",
                                                          "compensation"});
constexpr auto kOfRetry =
    std::to_array<std::string_view>({"max_retries", "initial_backoff_sec", "max_backoff_sec", "multiplier"});
constexpr auto kOfMeta = std::to_array<std::string_view>(
    {"actor_id", "actor_type", "idempotency_key", "pack_id", "capability", "risk_tags", "requires", "labels"});
/// Those with a meaning, and those that are jobs by a documented name.
constexpr auto kTypes = std::to_array<std::string_view>({"approval", "delay", "condition", "notify", "switch",
                                                         "parallel", "loop", "subworkflow", "transform", "storage",
                                                         "worker", "llm", "http", "container", "script", "input"});

class SlipFinder {
public:
    std::vector<DefinitionMistake> slips;

    void workflow(const json& document) {
        members(document, "", kOfWorkflow);
        const auto steps = document.find("steps");
        if (steps == document.end() || !steps->is_object()) return;
        for (const auto& [id, object] : steps->items())
            if (object.is_object()) step(object, child_pointer("/steps", id));
    }

private:
    void step(const json& object, const std::string& pointer) {
        members(object, pointer, kOfStep);
        for (const auto& [name, known] : {std::pair{"retry", Names(kOfRetry)}, std::pair{"meta", Names(kOfMeta)}}) {
            const auto inner = object.find(name);
            if (inner != object.end() && inner->is_object()) members(*inner, child_pointer(pointer, name), known);
        }
        const auto type = object.find("type");
        if (type == object.end() || !type->is_string()) return;
        const auto& name = type->get_ref<const std::string&>();
        if (const std::string near = meant(name, kTypes); !near.empty())
            slips.push_back({child_pointer(pointer, "type"),
                             fmt::format("there is no type \"{}\"; did you mean \"{}\"?", name, near)});
    }

    void members(const json& object, const std::string& pointer, Names known) {
        for (const auto& [name, value] : object.items())
            if (const std::string near = meant(name, known); !near.empty())
                slips.push_back({child_pointer(pointer, name),
                                 fmt::format("nothing reads \"{}\"; did you mean \"{}\"?", name, near)});
    }

    /// Empty for a name that is known, or near none.
    static std::string meant(std::string_view name, Names known) {
        if (std::ranges::find(known, name) != known.end()) return {};
        const std::vector<std::string> candidates(known.begin(), known.end());
        return std::string(nearest(name, candidates));
    }
};

}  // namespace

std::vector<DefinitionMistake> slips_in(const json& document) {
    SlipFinder finder;
    if (document.is_object()) finder.workflow(document);
    return std::move(finder.slips);
}

}  // namespace lockstep::engine
