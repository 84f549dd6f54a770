#include "engine/scheduler/constraint_limits.h"

#include <algorithm>

#include "engine/wire/messages.h"

namespace lockstep::engine {

namespace {

const cap::BudgetConstraints* budgets(const SafetyDecision& decision) {
    const bool given = decision.answer && decision.answer->has_constraints() && decision.answer->constraints().has_budgets();
    return given ? &decision.answer->constraints().budgets() : nullptr;
}

}  // namespace

std::int64_t tenant_limit(const SafetyDecision& decision) {
    const auto* given = budgets(decision);
    return given == nullptr ? 0 : std::max<std::int64_t>(given->max_concurrent_jobs(), 0);
}

std::int64_t retry_limit(const SafetyDecision& decision) {
    const auto* given = budgets(decision);
    return given == nullptr ? 0 : std::max<std::int64_t>(given->max_retries(), 0);
}

}  // namespace lockstep::engine
