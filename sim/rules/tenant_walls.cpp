// No message of one tenant changes jobs, runs, limits or settings of another (D-06, D-07, D-14).
//
// 1. A job belongs to the tenant of its stored request, by the tenant rule. Schedulers count it, list it and ask policy about it as that
//    tenant's; a request that they store again keeps its tenant. Where a gateway that knows the id as another one's writes that tenant into
//    the record of a job that is being handled, the job counts as that one's until its lock is taken again.
// 2. Policy is not asked about a request whose fields name two tenants.
// 3. A compensation is a job of the tenant of the job that it undoes, in all of its fields. That no failure undoes what another tenant did
//    is for saga_exact.
// 4. Each question to policy says what the documents of the system and of the tenant deny and allow (sim/spec/tenant_settings.h). What
//    counts are documents that there were since the lock of the job was taken; where one cannot be read, any that could be read before. A
//    rollback asks about what it is going to submit without the lock of the job and without settings: it is asked about again, as any job.
//
// 5. A job is not sent with an input that is the data of another job whose record names another tenant (D-30), as that stood when its
//    sender took the job's lock.
//
// A job of which Redis has evicted some records is not judged: its tenant is not known.
#include "engine/wire/messages.h"
#include "engine/wire/pointer.h"
#include "sim/model/job_keys.h"
#include "sim/rules/rules.h"
#include "sim/scenario/topology.h"
#include "sim/spec/tenant_settings.h"

namespace lockstep::sim::rules {

namespace {

bool has_tenant(const Job* job) { return job != nullptr && job->causes.request_stored && !job->is_torn; }

void keeps_its_tenant(const RequestStored& stored, const Model&, Verdict& verdict) {
    const Job& job = *stored.job;
    if (!is_scheduler(stored.node) || stored.tenant_before.empty() || job.is_torn) return;
    verdict.cite("engine/delivery-semantics.md#tenants-and-what-only-policy-writes, 2");
    verdict.require(stored.tenant_before == job.request.tenant, stored.stored_before,
                    "its stored request was {}'s, and becomes {}'s", stored.tenant_before, job.request.tenant);
}

void counts_for_its_tenant(const TenantNamed& named, const Model& model, Verdict& verdict) {
    constexpr std::string_view kWhere[] = {"its record names", "it counts as one of", "it takes or awaits a slot of"};
    if (!is_scheduler(named.node) || named.is_as_renamed || !has_tenant(named.job)) return;
    const StoredRequest& request = named.job->request;
    verdict.exercised(model.tenants_of_requests() > 1);
    verdict.require(named.tenant == request.tenant, request.last_stored, "it is a job of {}, and {} {}", request.tenant,
                    kWhere[static_cast<std::size_t>(named.where)], named.tenant);
}

/// It read the request before another one took its place, and asks about that.
bool asks_for_former_tenant(const PolicyAsked& asked) {
    const StoredRequest& request = asked.job->request;
    const Since taken = asked.job->lock.taken_by(asked.node);
    return !request.former.empty() && asked.question->tenant() == request.former && taken.event != 0 &&
           taken.at <= request.replaced;
}

void is_asked_about_for_its_tenant(const PolicyAsked& asked, const Model& model, Verdict& verdict) {
    if (!has_tenant(asked.job)) return;
    const StoredRequest& request = asked.job->request;
    verdict.exercised(model.tenants_of_requests() > 1);
    if (asks_for_former_tenant(asked)) return;
    verdict.cite("engine/delivery-semantics.md#tenants-and-what-only-policy-writes, 1");
    verdict.require(request.conflict.empty(), request.last_stored, "{}, and policy is asked about it",
                    request.conflict);
    verdict.require(!request.conflict.empty() || asked.question->tenant() == request.tenant, request.last_stored,
                    "it is a job of {}, and policy is asked as for {}", request.tenant, asked.question->tenant());
    const ConfigDocuments& documents = model.config_documents();
    const bool is_right = request.conflict.empty() && asked.question->tenant() == request.tenant;
    if (!is_right || !documents.limit_topics() || asked.job->lock.unreleased_by != asked.node) return;
    verdict.exercised();
    const Time since = asked.job->lock.taken_by(asked.node).at;
    const std::string complaint =
        spec::lifted_limits(asked.question->effective_config(), documents.texts_since(kSettingsKey, since),
                            documents.texts_since("cfg:org:" + std::string(request.tenant), since));
    verdict.cite("engine/delivery-semantics.md#tenants-and-what-only-policy-writes, 4");
    verdict.require(complaint.empty(), 0, "{}", complaint);
}

void is_undone_by_its_tenant(const CompensationSent& sent, const Model& model, Verdict& verdict) {
    if (!has_tenant(sent.job)) return;
    const StoredRequest& request = sent.job->request;
    verdict.exercised(model.tenants_of_requests() > 1);
    verdict.cite("engine/delivery-semantics.md#steps-that-are-undone, 4");
    verdict.require(sent.conflict.empty() && sent.tenant == request.tenant, request.last_stored,
                    "it is a job of {}, and is undone by one of {}", request.tenant,
                    sent.conflict.empty() ? sent.tenant : sent.conflict);
}

void reads_its_own(const Sent& sent, const Model& model, Verdict& verdict, const engine::Tunables& tunables) {
    if (sent.request == nullptr || !is_scheduler(sent.node) || !has_tenant(sent.job)) return;
    const std::string_view key = engine::wire::key_of_pointer(sent.request->context_ptr());
    const Job* owner = model.find(engine::wire::owner_of_data(key));
    if (owner == nullptr || owner == sent.job || owner->is_torn) return;
    const EventNumber taken = sent.job->lock.taken_by(sent.node).event;
    if (owner->tenant_recorded == 0 || owner->tenant_recorded > taken) return;
    // Where anybody may read by name.
    if (std::string_view(tunables.pointer_prefixes).find(key.substr(0, 4)) != std::string_view::npos) return;
    verdict.exercised(model.tenants_of_requests() > 1);
    verdict.cite("engine/delivery-semantics.md#whose-word-counts");
    verdict.require(owner->tenant->name == sent.job->request.tenant, owner->tenant_recorded,
                    "it is a job of {}, and is sent with {}, which belongs to a job of {}", sent.job->request.tenant,
                    key, owner->tenant->name);
}

}  // namespace

void tenant_walls(Rules& rules, const engine::Tunables& tunables) {
    rules.add([&tunables](const Sent& sent, const Model& model, Verdict& verdict) {
        reads_its_own(sent, model, verdict, tunables);
    });
    rules.add(keeps_its_tenant);
    rules.add(counts_for_its_tenant);
    rules.add(is_asked_about_for_its_tenant);
    rules.add(is_undone_by_its_tenant);
}

}  // namespace lockstep::sim::rules
