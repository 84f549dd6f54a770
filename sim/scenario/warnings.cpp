#include "sim/scenario/warnings.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>

#include "engine/config/nearest.h"
#include "engine/config/relations.h"
#include "engine/runs/definition.h"
#include "engine/runs/definition_slips.h"
#include "engine/wire/json_member.h"
#include "engine/wire/json_text.h"
#include "engine/wire/subjects.h"
#include "fakes/policy/decision.h"
#include "sim/scenario/check.h"
#include "sim/scenario/text_file.h"

namespace lockstep::sim {

namespace {

using nlohmann::json;

constexpr std::string_view kConfig = "/cluster/config/";

class Warnings {
public:
    Warnings(const Scenario& scenario, std::string_view text) : scenario_(scenario), places_(places_in(text)) {}

    std::vector<LoadError> all() {
        contradictions();
        fail_modes();
        policy();
        pools();
        for (std::size_t i = 0; i < scenario_.load.size(); ++i) workflow(scenario_.load[i], i);
        return std::move(found_);
    }

private:
    /// False: the file does not say it.
    bool add(const std::string& pointer, const std::string& what) {
        const auto place = places_.find(pointer);
        if (place == places_.end()) return false;
        found_.push_back({scenario_.file, pointer, what, place->second.line, place->second.column});
        return true;
    }

    /// What the file does not say is from --set.
    void add_anyway(const std::string& pointer, const std::string& what) {
        if (!add(pointer, what)) found_.push_back({scenario_.file, pointer, what, 0, 0});
    }

    void contradictions() {
        const engine::Tunables& config = scenario_.cluster.config;
        const auto as_it_is = [](std::string_view name) { return std::string(name); };
        for (const engine::Relation& relation : engine::relations()) {
            if (relation.holds(config)) continue;
            const std::string what = describe(relation, config, as_it_is);
            for (const std::string_view tunable : {relation.first, relation.second})
                if (add(fmt::format("{}{}", kConfig, tunable), what)) break;
        }
    }

    /// Any word may stand there, as in the documents of other services, and only one makes a difference.
    void fail_modes() {
        const engine::Tunables& config = scenario_.cluster.config;
        static const std::vector<std::string> kModes{"open", "closed"};
        for (const auto& [name, mode, instead] :
             {std::tuple{"policy_check_fail_mode", &config.policy_check_fail_mode, "closed"},
              {"output_policy_fail_mode", &config.output_policy_fail_mode, "open"}})
            if (std::ranges::find(kModes, *mode) == kModes.end())
                add_anyway(fmt::format("{}{}", kConfig, name),
                           fmt::format("\"{}\" counts as \"{}\"{}", *mode, instead, engine::suggestion(*mode, kModes)));
    }

    /// A word that policy does not know denies, which is the documented reading.
    void policy() {
        const json document = engine::wire::read_json(scenario_.cluster.documents.policy);
        const json rules = document.is_object() ? document.value("rules", json::array()) : json::array();
        for (std::size_t i = 0; rules.is_array() && i < rules.size(); ++i) {
            const std::string word = engine::wire::text_member(rules[i], "decision");
            static const std::vector<std::string> kWords{"allow", "deny", "require_approval", "allow_with_constraints",
                                                         "throttle"};
            if (fakes::policy::decision_named(word)) continue;
            add(fmt::format("/cluster/kernel/policy/rules/{}{}", i, word.empty() ? "" : "/decision"),
                word.empty() ? "a rule without a decision denies"
                             : fmt::format("\"{}\" counts as \"deny\"{}", word, engine::suggestion(word, kWords)));
        }
        const json output = engine::wire::read_json(scenario_.cluster.documents.output_policy);
        if (output.is_object() && output.contains("rules") && !output.value("enabled", false) &&
            !scenario_.cluster.config.output_policy_enabled)
            add("/cluster/output_policy", "without \"enabled\": true nothing asks these rules");
    }

    /// Of the beginning: workers may come later, and settings change.
    void pools() {
        const json document = engine::wire::read_json(scenario_.cluster.documents.pools);
        const json topics = document.is_object() ? document.value("topics", json::object()) : json::object();
        if (scenario_.cluster.workers.empty() || !topics.is_object()) return;
        std::vector<std::string> staffed;
        for (const WorkerGroup& group : scenario_.cluster.workers) staffed.push_back(group.pool);
        for (const Fault& fault : scenario_.faults)
            if (const auto* with = fault.part<faults::Restarting>(); with != nullptr && with->worker.pool)
                staffed.push_back(*with->worker.pool);
        for (const auto& [topic, names] : topics.items()) {
            const json list = names.is_array() ? names : json::array({names});
            const auto is_staffed = [&](const json& name) {
                return name.is_string() && std::ranges::find(staffed, name.get<std::string>()) != staffed.end();
            };
            if (list.empty() || std::ranges::any_of(list, is_staffed)) continue;
            const std::string name = list[0].is_string() ? list[0].get<std::string>() : "";
            add(child("/cluster/pools/topics", topic),
                fmt::format("no worker is in the pool \"{}\"{}", name, engine::suggestion(name, staffed)));
        }
    }

    void topic_of_step(const std::string& topic, const std::string& at) {
        const json document = engine::wire::read_json(scenario_.cluster.documents.pools);
        const json topics = document.is_object() ? document.value("topics", json::object()) : json::object();
        if (topics.contains(topic) || scenario_.cluster.config.topic_fallback || engine::wire::is_approval_gate(topic))
            return;
        std::vector<std::string> known;
        for (const auto& [name, pools] : topics.items()) known.push_back(name);
        add(at, fmt::format("no pool takes the topic \"{}\"{}", topic, engine::suggestion(topic, known)));
    }

    void workflow(const Load& line, std::size_t index) {
        if (line.kind != Load::Kind::workflow || line.order.kind != RunOrder::Kind::put) return;
        const auto document = engine::wire::read_json(line.order.definition);
        const auto definition = engine::read_definition(document);
        if (!definition) return;  // written by a gateway that stores what cannot be run, too
        const std::string at = fmt::format("/load/{}/workflow/put", index);
        for (const auto& [id, step] : definition->steps)
            if (step.type == engine::StepType::job && !step.topic.empty())
                topic_of_step(step.topic, child(at + "/steps", id) + "/topic");
        const engine::DefinitionRemarks remarks = engine::remarks_on(document, *definition);
        for (const auto& list : {remarks.refused, remarks.warnings})
            for (const engine::DefinitionMistake& slip : list)
                if (!add(at + slip.pointer, slip.message)) add(at, slip.message);
    }

    const Scenario& scenario_;
    const std::map<std::string, engine::Position> places_;
    std::vector<LoadError> found_;
};

}  // namespace

std::vector<LoadError> warnings_of(const Scenario& scenario) {
    const auto text = text_of_file(scenario.file);
    return text ? Warnings(scenario, *text).all() : std::vector<LoadError>{};
}

}  // namespace lockstep::sim
