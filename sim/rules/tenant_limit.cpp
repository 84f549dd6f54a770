// A job is committed SCHEDULED only while fewer other jobs of its tenant are active than its limit: the one that policy gave last with
// its answer about the job.
#include "sim/rules/rules.h"

namespace lockstep::sim::rules {

namespace {

void within_the_tenants_limit(const StateChanged& change, const Model&, Verdict& verdict) {
    const Job& job = *change.job;
    const std::int64_t limit = job.tenant_limit;
    if (change.to != State::scheduled || is_active(change.from) || limit <= 0 || job.is_torn) return;
    const std::int64_t others = Model::active(*job.tenant, job);
    verdict.exercised(others + 1 == limit && job.tenant->waiting > 0);
    verdict.require(others < limit, change.tenant_activated,
                    "it was scheduled at a limit of {} while {} other jobs of its tenant were active", limit, others);
}

}  // namespace

void tenant_limit(Rules& rules, const engine::Tunables&) { rules.add<PolicyAnswered>(within_the_tenants_limit); }

}  // namespace lockstep::sim::rules
