#include "sim/spec/policy_questions.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/wire/messages.h"
#include "engine/wire/policy_marks.h"
#include "engine/wire/text.h"
#include "sim/model/job_keys.h"
#include "sim/model/request_facts.h"

namespace lockstep::sim::spec {

namespace {

namespace wire = engine::wire;

std::string without_blanks(std::string_view text) { return std::string(wire::trim(text)); }

std::string_view variable_of(const cap::JobRequest& request, const char* name) {
    const auto found = request.env().find(name);
    return found == request.env().end() ? std::string_view() : std::string_view(found->second);
}

template <class Labels>
void strip(Labels& labels) {
    erase_labels(labels, [](std::string_view label) {
        return is_added_on_the_way(label) || std::ranges::count(wire::kPolicyLabels, label) > 0;
    });
}

}  // namespace

cap::PolicyCheckRequest said_by_request(const cap::PolicyCheckRequest& question) {
    cap::PolicyCheckRequest said;
    said.set_job_id(question.job_id());
    said.set_topic(without_blanks(question.topic()));
    said.set_tenant(question.tenant());
    said.set_priority(question.priority());
    said.set_principal_id(question.principal_id());
    said.set_memory_id(question.memory_id());
    *said.mutable_labels() = question.labels();
    *said.mutable_meta() = question.meta();
    *said.mutable_budget() = question.budget();
    said.mutable_budget()->clear_deadline_ms();  // a limit of policy's may be tighter (limits_in_force)
    strip(*said.mutable_labels());
    strip(*said.mutable_meta()->mutable_labels());
    return said;
}

cap::PolicyCheckRequest input_question_about(const cap::JobRequest& request) {
    cap::PolicyCheckRequest due;
    due.set_job_id(without_blanks(request.job_id()));
    due.set_topic(request.topic());
    due.set_tenant(tenant_named_by(request));
    due.set_priority(request.priority());
    due.set_principal_id(request.principal_id());
    due.set_memory_id(request.memory_id());
    *due.mutable_labels() = request.labels();
    *due.mutable_meta() = request.meta();
    *due.mutable_budget() = request.budget();
    return said_by_request(due);
}

cap_output::OutputCheckRequest said_by_request(const cap_output::OutputCheckRequest& question) {
    cap_output::OutputCheckRequest said;
    said.set_job_id(question.job_id());
    said.set_topic(question.topic());
    said.set_tenant(question.tenant());
    said.set_workflow_id(question.workflow_id());
    said.set_step_id(question.step_id());
    said.set_principal_id(question.principal_id());
    said.set_pack_id(question.pack_id());
    *said.mutable_capabilities() = question.capabilities();
    *said.mutable_risk_tags() = question.risk_tags();
    *said.mutable_labels() = question.labels();
    *said.mutable_original_labels() = question.original_labels();
    strip(*said.mutable_labels());
    strip(*said.mutable_original_labels());
    return said;
}

cap_output::OutputCheckRequest output_question_about(const cap::JobRequest& request) {
    cap_output::OutputCheckRequest due;
    due.set_job_id(without_blanks(request.job_id()));
    due.set_topic(without_blanks(request.topic()));
    due.set_tenant(tenant_named_by(request));
    due.set_workflow_id(without_blanks(request.workflow_id()));
    const auto label = request.labels().find("step_id");
    const std::string step = label == request.labels().end() ? std::string() : without_blanks(label->second);
    due.set_step_id(step.empty() ? without_blanks(variable_of(request, "step_id")) : step);
    due.set_principal_id(without_blanks(request.principal_id()));
    due.set_pack_id(without_blanks(request.meta().pack_id()));
    const std::string capability = without_blanks(request.meta().capability());
    if (!capability.empty()) due.add_capabilities(capability);
    for (const std::string& tool : request.meta().requires_()) due.add_capabilities(without_blanks(tool));
    for (const std::string& tag : request.meta().risk_tags()) due.add_risk_tags(without_blanks(tag));
    *due.mutable_labels() = request.labels();
    *due.mutable_original_labels() = request.labels().empty() ? request.meta().labels() : request.labels();
    return said_by_request(due);
}

std::vector<std::string> documents_of(const cap::JobRequest& request) {
    std::vector<std::string> keys{std::string(kSettingsKey), "cfg:org:" + tenant_named_by(request)};
    const auto add = [&keys](std::string_view scope, std::string_view id) {
        if (!id.empty()) keys.push_back(fmt::format("cfg:{}:{}", scope, id));
    };
    add("team", variable_of(request, "team_id"));
    add("workflow", request.workflow_id());
    add("step", variable_of(request, "step_id"));
    return keys;
}

}  // namespace lockstep::sim::spec
