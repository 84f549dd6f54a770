#include "sim/oracles/undoing.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>

#include "engine/wire/json.h"
#include "engine/wire/message_id.h"
#include "engine/wire/messages.h"
#include "engine/wire/policy_marks.h"
#include "engine/wire/sha256.h"
#include "engine/wire/text.h"
#include "sim/model/request_facts.h"

namespace lockstep::sim {

namespace {

namespace wire = engine::wire;

using Facts = std::map<std::string, std::string>;

constexpr const char* kMarkOfUndoing = "saga_compensation";
constexpr std::array kMarksOfUndoing{kMarkOfUndoing, "is_compensation", "saga_workflow_id"};

std::string bare(std::string_view text) { return std::string(wire::trim(text)); }

/// Not carried over: what only policy writes, what a human has granted, and the bus' own.
bool stays_behind(const std::string& name) {
    return name == wire::kMessageIdLabel || wire::ascii_lower(name).starts_with("approval_") ||
           std::ranges::count(wire::kPolicyLabels, name) > 0;
}

template <class Map>
void note_labels(const Map& labels, const std::string& what, Facts& facts) {
    for (const auto& [name, value] : labels)
        if (!stays_behind(name)) facts[what + name] = value;
}

template <class Map>
void note_env(const Map& env, Facts& facts) {
    for (const auto& [name, value] : env) {
        if (std::ranges::count(wire::kPolicyVariables, name) == 0) facts["env " + name] = value;
    }
}

void note(const std::string& name, const std::string& value, Facts& facts) {
    if (!value.empty()) facts[name] = value;
}

template <class List>
std::string joined(const List& list) {
    std::string text;
    for (const std::string& item : list) text += item + "\n";
    return text;
}

/// What a request says, whatever it is one for.
Facts facts_of(const cap::JobRequest& job) {
    Facts facts;
    note("topic", bare(job.topic()), facts);
    note("job that it undoes", job.parent_job_id(), facts);
    note("workflow", bare(job.workflow_id()), facts);
    note("step", fmt::format("{}", job.step_index()), facts);
    note("priority", fmt::format("{}", static_cast<int>(job.priority())), facts);
    note("context", job.context_ptr(), facts);
    note("adapter", job.adapter_id(), facts);
    note("memory", job.memory_id(), facts);
    note("principal", job.principal_id(), facts);
    note("tenant", bare(job.tenant_id()), facts);
    if (job.has_context_hints()) facts["context hints"] = wire::to_json(job.context_hints());
    if (job.has_budget()) facts["budget"] = wire::to_json(job.budget());
    const cap::JobMetadata& meta = job.meta();
    note("actor", meta.actor_id(), facts);
    note("kind of actor", fmt::format("{}", static_cast<int>(meta.actor_type())), facts);
    note("capability", meta.capability(), facts);
    note("pack", meta.pack_id(), facts);
    note("tenant of its metadata", bare(meta.tenant_id()), facts);
    note("idempotency key", meta.idempotency_key(), facts);
    note("risk tags", joined(meta.risk_tags()), facts);
    note("requirements", joined(meta.requires_()), facts);
    note_labels(meta.labels(), "label of its metadata ", facts);
    note_labels(job.labels(), "label ", facts);
    note_env(job.env(), facts);
    return facts;
}

std::string key_by_rule(const cap::JobRequest& job, const std::string& workflow, const std::string& capability) {
    const std::string step = job.step_index() == 0 ? std::string{} : fmt::format("{}", job.step_index());
    std::string text =
        fmt::format("{}|{}|{}|{}|{}", workflow, job.job_id(), bare(job.compensation().topic()), capability, step);
    while (text.ends_with('|')) text.pop_back();
    while (text.starts_with('|')) text.erase(0, 1);
    return "saga:" + wire::sha256_hex(text).substr(0, 32);
}

Facts due_for(const cap::JobRequest& job) {
    const cap::Compensation& undo = job.compensation();
    Facts facts = facts_of(job);
    const auto replace = [&facts](const char* name, const std::string& by) {
        if (!by.empty()) facts[name] = by;
    };
    const auto label = job.labels().find("workflow_id");
    const std::string of_label = label == job.labels().end() ? std::string{} : bare(label->second);
    const std::string workflow = bare(job.workflow_id()).empty() ? of_label : bare(job.workflow_id());
    replace("topic", bare(undo.topic()));
    replace("job that it undoes", job.job_id());
    replace("workflow", workflow);
    replace("priority", fmt::format("{}", static_cast<int>(cap::JOB_PRIORITY_CRITICAL)));
    replace("context", undo.context_ptr());
    replace("adapter", undo.adapter_id());
    replace("memory", undo.memory_id());
    replace("principal", undo.principal_id());
    replace("tenant", tenant_named_by(job));
    if (undo.has_context_hints()) facts["context hints"] = wire::to_json(undo.context_hints());
    if (undo.has_budget()) facts["budget"] = wire::to_json(undo.budget());
    const cap::JobMetadata& meta = undo.meta();
    replace("actor", meta.actor_id());
    if (meta.actor_type() != cap::ACTOR_TYPE_UNSPECIFIED)
        replace("kind of actor", fmt::format("{}", static_cast<int>(meta.actor_type())));
    replace("capability", meta.capability());
    replace("pack", meta.pack_id());
    replace("risk tags", joined(meta.risk_tags()));
    replace("requirements", joined(meta.requires_()));
    if (!job.meta().tenant_id().empty()) replace("tenant of its metadata", tenant_named_by(job));
    const std::string capability = facts.contains("capability") ? facts["capability"] : std::string{};
    const std::string& given = meta.idempotency_key();
    facts["idempotency key"] = given.empty() ? key_by_rule(job, workflow, capability) : given;
    note_labels(meta.labels(), "label of its metadata ", facts);
    note_labels(undo.labels(), "label ", facts);
    note_env(undo.env(), facts);
    // Whatever the compensation says itself, it is its job's tenant's.
    if (const auto named = facts.find("env tenant_id"); named != facts.end()) named->second = tenant_named_by(job);
    return facts;
}

/// The first fact of which the one says something else than the other.
std::string difference(const Facts& is, const Facts& due) {
    for (const auto& [name, value] : due) {
        const auto found = is.find(name);
        if (found == is.end()) return fmt::format("it has no {}, and '{}' is due", name, value);
        if (found->second != value) return fmt::format("its {} is '{}', and '{}' is due", name, found->second, value);
    }
    for (const auto& [name, value] : is)
        if (!due.contains(name)) return fmt::format("its {} is '{}', and none is due", name, value);
    return {};
}

template <class Map>
bool marked(const Map& map) {
    const auto found = map.find(kMarkOfUndoing);
    if (found == map.end()) return false;
    const std::string value = wire::ascii_lower(wire::trim(found->second));
    return !value.empty() && value != "false";
}

}  // namespace

std::string misrecorded(const cap::JobRequest& recorded, const cap::JobRequest& job) {
    return difference(facts_of(recorded), due_for(job));
}

std::string missubmitted(const cap::JobRequest& submitted, const cap::JobRequest& recorded) {
    Facts is = facts_of(submitted);
    Facts due = facts_of(recorded);
    constexpr std::string_view kTopicPrefix = "job.";
    if (!due["topic"].starts_with(kTopicPrefix)) due["topic"] = std::string(kTopicPrefix) + due["topic"];
    due["priority"] = fmt::format("{}", static_cast<int>(cap::JOB_PRIORITY_CRITICAL));
    for (const char* where : {"label ", "env "}) {
        for (const char* mark : kMarksOfUndoing) {
            const std::string name = std::string(where) + mark;
            // Which workflow, where the record names none, depends on where it stood.
            due[name] = std::string_view(mark) == "saga_workflow_id" && is.contains(name) ? is[name] : "true";
        }
    }
    return difference(is, due);
}

bool is_marked_as_compensation(const cap::JobRequest& request) {
    return marked(request.labels()) || marked(request.env());
}

}  // namespace lockstep::sim
