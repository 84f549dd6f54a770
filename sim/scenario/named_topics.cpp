#include "sim/scenario/named_topics.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "engine/wire/subjects.h"
#include "engine/workflow/workflow_engine.h"
#include "sim/scenario/read.h"

namespace lockstep::sim::detail {

namespace {

namespace wire = engine::wire;
using nlohmann::json;

/// Every key and every text in it.
void add_texts(const json& value, std::set<std::string>& texts) {
    if (value.is_string()) texts.insert(value.get<std::string>());
    if (!value.is_structured()) return;
    for (const auto& [key, part] : value.items()) {
        if (value.is_object()) texts.insert(key);
        add_texts(part, texts);
    }
}

}  // namespace

bool strangers_speak(const Scenario& scenario) {
    return std::ranges::any_of(scenario.load, [](const Load& line) {
        return line.kind == Load::Kind::forge || line.kind == Load::Kind::redis;
    });
}

std::set<std::string> topics_named(const json& document, const std::set<std::string>& topics) {
    std::set<std::string> named = topics;
    named.insert({"", std::string(wire::kTopicApprovalGate), std::string(wire::kTopicApprovalGateLegacy)});
    for (const char* key : {"cluster", "load"})
        if (const json* part = member(document, key)) add_texts(*part, named);
    return named;
}

std::vector<std::string> subjects_of(const std::set<std::string>& topics, const Topology& topology) {
    std::vector<std::string> all(wire::kAllSubjects.begin(), wire::kAllSubjects.end());
    all.emplace_back(engine::kSubjectRunWake);
    std::ranges::copy_if(topics, std::back_inserter(all),
                         [](const std::string& text) { return text.starts_with("job."); });
    for (const fakes::NodeId node : topology.of_role(NodeRole::worker))
        if (const std::string_view worker = topology.name(node); !worker.empty())
            all.push_back(wire::worker_subject(engine::WorkerId(std::string(worker))));
    return all;
}

}  // namespace lockstep::sim::detail
