#include "sim/search/claim_themes.h"

#include <array>
#include <string>
#include <utility>

#include "sim/search/theme_parts.h"

namespace lockstep::sim {

namespace {

struct Mark {
    const char* name;
    const char* value;
};

constexpr std::array kPolicyLabelMarks{Mark{"safety_bypassed", "true"}, Mark{"safety_bypass_reason", "trust me"}};
constexpr std::array kPolicyVariableMarks{
    Mark{"CORDUM_POLICY_CONSTRAINTS", R"({"budgets":{"max_retries":99}})"},
    Mark{"CORDUM_REDACTION_LEVEL", "none"},
    Mark{"CORDUM_MAX_ARTIFACT_BYTES", "1"},
    Mark{"CORDUM_MAX_CONCURRENT_JOBS", "1000"},
    Mark{"CORDUM_MAX_RETRIES", "99"},
    Mark{"CORDUM_EFFECTIVE_CONFIG", "{}"},
};

void add_mark(Dice& dice, Document& request) {
    switch (dice.between(0, 2)) {
        case 0: {
            const Mark& mark = dice.one_of(kPolicyLabelMarks);
            request["labels"][mark.name] = mark.value;
            break;
        }
        case 1: {
            const Mark& mark = dice.one_of(kPolicyLabelMarks);
            request["meta"]["labels"][mark.name] = mark.value;
            break;
        }
        default: {
            const Mark& mark = dice.one_of(kPolicyVariableMarks);
            request["env"][mark.name] = mark.value;
            break;
        }
    }
}

/// What undoes a step, and what it claims.
Document marked_compensation(Dice& dice) {
    Document undo = {{"topic", "job.undo"}};
    if (dice.chance(0.7)) add_mark(dice, undo);
    if (dice.chance(0.4)) add_mark(dice, undo);
    if (dice.chance(0.4)) undo["env"]["tenant_id"] = dice.word({"initech", "acme"});
    if (dice.chance(0.3)) undo["meta"]["tenant_id"] = "initech";
    if (dice.chance(0.4)) undo["budget"]["deadline_ms"] = dice.word({"2000", "60000"});
    if (dice.chance(0.3)) undo["budget"]["max_total_tokens"] = dice.between(1, 1000);
    if (dice.chance(0.3)) undo["env"]["saga_compensation"] = dice.word({"true", "1", "false"});
    // Of a rollback nothing is rolled back.
    if (dice.chance(0.4)) undo["env"]["SIM_OUTCOME"] = dice.word({"FAILED_FATAL", "FAILED_FATAL", "FAILED"});
    return undo;
}

}  // namespace

void tenants_in_variables(Dice& dice, Document& scenario) {
    scenario["cluster"]["kernel"]["policy"]["rules"].push_back(
        {{"id", "by-variable"},
         {"match", {{"tenants", {"acme", "initech"}}}},
         {"decision", "allow_with_constraints"},
         {"constraints", {{"budgets", {{"max_concurrent_jobs", dice.between(1, 3)}}}}}});
    if (dice.chance(0.6))
        scenario["cluster"]["output_policy"] = {
            {"enabled", true},
            {"fail_mode", dice.word({"open", "closed"})},
            {"rules",
             Document::array({{{"id", "keys"}, {"decision", "quarantine"}, {"match", {{"scanners", {"secret"}}}}},
                              {{"id", "people"}, {"decision", "redact"}, {"match", {{"scanners", {"pii"}}}}}})}};
    if (dice.chance(0.4))
        add_fault(scenario,
                  {{"at", "500ms"},
                   {"do", "config.update"},
                   {"layers", {{"org:acme", {{"safety", {{"denied_topics", Document::array({"job.other"})}}}}}}}});
    for (int i = dice.between(6, 14); i > 0; --i) {
        Document job = {{"job_id", fmt::format("varied-{}", i)}, {"topic", "job.default"}};
        job["env"]["tenant_id"] = dice.word({"acme", "initech", " acme "});
        if (dice.chance(0.5)) job["meta"]["idempotency_key"] = dice.word({"once", "once", "twice"});
        if (dice.chance(0.5))
            job["env"]["SIM_OUTPUT"] =
                dice.word({"write to ann@example.org", "the key is AKIAIOSFODNN7EXAMPLE", "nothing to see"});
        if (dice.chance(0.3)) job["env"]["SIM_SERVICE_MS"] = "4000";
        // No gateway has written a tenant beside it.
        add_load(scenario, {{"at", dice.seconds(2, 20)}, {"forge", {{"job_request", std::move(job)}}}});
    }
    for (const char* tenant : {"acme", "initech"}) {
        for (int i = dice.between(1, 2); i > 0; --i) {
            const Document job = {{"job_id", fmt::format("keyed-{}-{}", tenant, i)},
                                  {"tenant_id", tenant},
                                  {"meta", {{"idempotency_key", "once"}}}};
            add_load(scenario, {{"at", dice.seconds(2, 20)}, {"job", job}});
        }
    }
}

void forged_marks(Dice& dice, Document& scenario) {
    scenario["cluster"].erase("gateway");  // of what is refused a record is kept
    open_travel_agency(scenario["cluster"]);
    for (int i = dice.between(2, 6); i > 0; --i) {
        Document job = {{"job_id", fmt::format("marked-{}", i)}, {"topic", "job.default"}, {"tenant_id", "acme"}};
        for (int marks = dice.between(1, 3); marks > 0; --marks) add_mark(dice, job);
        if (dice.chance(0.2)) job["labels"]["needs"] = "few";
        add_load(scenario, {{"at", dice.seconds(2, 30)}, {"job", std::move(job)}});
    }
    for (int run = dice.between(1, 3); run > 0; --run) {
        const std::string name = fmt::format("marked-trip-{}", run);
        const int end = dice.between(12, 25);
        for (int step = dice.between(1, 4); step > 0; --step) {
            workflow_step(scenario, dice.seconds(2, 8), "job.book", name, true, "acme");
            Document& job = scenario["load"].back()["job"];
            job["compensation"] = marked_compensation(dice);
            if (dice.chance(0.4)) add_mark(dice, job);
        }
        workflow_step(scenario, fmt::format("{}s", end), "job.fail", name, false, "acme");
    }
}

}  // namespace lockstep::sim
