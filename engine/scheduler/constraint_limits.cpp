#include "engine/scheduler/constraint_limits.h"

#include <algorithm>

#include "engine/runtime/span.h"
#include "engine/wire/messages.h"

namespace lockstep::engine {

namespace {

const cap::BudgetConstraints* budgets(const SafetyDecision& decision) {
    const bool given =
        decision.answer && decision.answer->has_constraints() && decision.answer->constraints().has_budgets();
    return given ? &decision.answer->constraints().budgets() : nullptr;
}

}  // namespace

std::int64_t tenant_limit(const SafetyDecision& decision) {
    const auto* given = budgets(decision);
    return given == nullptr ? 0 : std::max<std::int64_t>(given->max_concurrent_jobs(), 0);
}

std::int64_t run_time_limit_ms(const SafetyDecision& decision) {
    const auto* given = budgets(decision);
    return given == nullptr ? 0 : std::clamp<std::int64_t>(given->max_runtime_ms(), 0, to_millis(kSpanMax));
}

RetryLimit retry_limit(const SafetyDecision& decision, const Timeouts& timeouts, const cap::JobRequest& request) {
    RetryLimit limit;
    const auto bound = [&limit](std::int64_t retries, const char* set_by) {
        if (retries > 0 && (limit.retries == 0 || retries < limit.retries)) limit = {retries, set_by};
    };
    if (const auto* given = budgets(decision)) bound(given->max_retries(), "policy");
    if (const auto topic = timeouts.topics.find(request.topic()); topic != timeouts.topics.end())
        bound(topic->second.max_retries, "its topic");
    if (const auto workflow = timeouts.workflows.find(request.workflow_id()); workflow != timeouts.workflows.end())
        bound(workflow->second.max_retries, "its workflow");
    return limit;
}

}  // namespace lockstep::engine
