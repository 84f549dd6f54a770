#include "sim/spec/undoing.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "engine/wire/json.h"
#include "engine/wire/json_text.h"
#include "engine/wire/messages.h"
#include "engine/wire/policy_marks.h"
#include "engine/wire/sha256.h"
#include "engine/wire/text.h"
#include "sim/model/request_facts.h"

namespace lockstep::sim::spec {

namespace {

namespace wire = engine::wire;

using RequestJson = nlohmann::json;
using Fields = std::map<std::string, std::string>;  // by path

RequestJson json_of(const cap::JobRequest& request) { return wire::sound_json(wire::to_json(request)); }

/// What only policy writes, what a human has granted, and the bus' own.
bool is_carried_over(std::string_view path) {
    const std::string_view name = path.substr(path.rfind('/') + 1);
    if (path.starts_with("env/")) return std::ranges::count(wire::kPolicyVariables, name) == 0;
    if (!path.starts_with("labels/") && !path.starts_with("meta/labels/")) return true;
    return !is_added_on_the_way(name) && std::ranges::count(wire::kPolicyLabels, name) == 0;
}

Fields fields_of(const RequestJson& request) {
    Fields fields;
    const RequestJson flat = request.flatten();
    for (const auto& [pointer, value] : flat.items()) {
        const std::string path = pointer.substr(1);
        if (!value.is_null() && is_carried_over(path))
            fields[path] = value.is_string() ? std::string(value) : wire::json_text(value);
    }
    for (const char* trimmed : {"topic", "workflowId", "tenantId", "meta/tenantId"})
        if (const auto found = fields.find(trimmed); found != fields.end()) found->second = wire::trim(found->second);
    return fields;
}

std::string first_difference(const Fields& is, const Fields& due) {
    for (const auto& [name, value] : due) {
        const auto found = is.find(name);
        if (found == is.end()) return fmt::format("it has no {}, and '{}' is due", name, value);
        if (found->second != value) return fmt::format("its {} is '{}', and '{}' is due", name, found->second, value);
    }
    for (const auto& [name, value] : is)
        if (!due.contains(name)) return fmt::format("its {} is '{}', and none is due", name, value);
    return {};
}

std::string key_by_rule(const Fields& due, const cap::JobRequest& job) {
    const auto field = [&due](const char* name) { return due.contains(name) ? due.at(name) : std::string{}; };
    std::string text = fmt::format("{}|{}|{}|{}|{}", field("workflowId"), job.job_id(), field("topic"),
                                   field("meta/capability"), field("stepIndex"));
    while (text.ends_with('|')) text.pop_back();
    while (text.starts_with('|')) text.erase(0, 1);
    return "saga:" + wire::sha256_hex(text).substr(0, 32);
}

}  // namespace

std::string misrecorded(const cap::JobRequest& recorded, const cap::JobRequest& job) {
    RequestJson due = json_of(job), undo = due["compensation"];
    for (const char* name : {"compensation", "jobId"}) due.erase(name);
    for (const char* whole : {"budget", "contextHints"})
        if (undo.contains(whole)) due.erase(whole);
    due.merge_patch(undo);
    due["priority"] = "JOB_PRIORITY_CRITICAL";
    due["parentJobId"] = job.job_id();
    const auto label = job.labels().find("workflow_id");
    if (wire::trim(job.workflow_id()).empty() && label != job.labels().end()) due["workflowId"] = label->second;
    Fields fields = fields_of(due);
    // Whatever the compensation says itself, it is its job's tenant's.
    fields["tenantId"] = tenant_named_by(job);
    if (fields.contains("env/tenant_id")) fields["env/tenant_id"] = tenant_named_by(job);
    fields.erase("meta/tenantId");
    if (!job.meta().tenant_id().empty()) fields["meta/tenantId"] = tenant_named_by(job);
    const std::string& given = job.compensation().meta().idempotency_key();
    fields["meta/idempotencyKey"] = given.empty() ? key_by_rule(fields, job) : given;
    return first_difference(fields_of(json_of(recorded)), fields);
}

std::string missubmitted(const cap::JobRequest& submitted, const cap::JobRequest& recorded) {
    constexpr std::string_view kTopicPrefix = "job.";
    const Fields is = fields_of(json_of(submitted));
    Fields due = fields_of(json_of(recorded));
    if (!due["topic"].starts_with(kTopicPrefix)) due["topic"].insert(0, kTopicPrefix);
    due["priority"] = "JOB_PRIORITY_CRITICAL";
    due["jobId"] = submitted.job_id();
    const auto named = due.contains("workflowId") ? due.find("workflowId") : due.find("labels/workflow_id");
    const std::string workflow = named == due.end() ? std::string{} : std::string(wire::trim(named->second));
    for (const std::string where : {"labels/", "env/"}) {
        due[where + "saga_compensation"] = due[where + "is_compensation"] = "true";
        // Which workflow, where the record names none, depends on where it stood.
        const auto said = is.find(where + "saga_workflow_id");
        due[where + "saga_workflow_id"] = !workflow.empty() ? workflow : said == is.end() ? "true" : said->second;
    }
    return first_difference(is, due);
}

}  // namespace lockstep::sim::spec
