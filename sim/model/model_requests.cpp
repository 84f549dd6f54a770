// What the model makes of requests: as replicas are delivered them and as Redis has them.
#include <algorithm>

#include "engine/wire/messages.h"
#include "engine/wire/pointer.h"
#include "engine/wire/subjects.h"
#include "engine/wire/text.h"
#include "sim/model/job_keys.h"
#include "sim/model/model.h"
#include "sim/model/request_facts.h"
#include "sim/model/request_rules.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim {

namespace wire = engine::wire;

/// Whether it is to be dropped, and names a job.
bool Model::look_at_submission(const fakes::Event& event, Unanswered::Delivery& delivery) {
    delivery.first = clock_.present();
    if (!event.job.empty()) {
        auto& known = job_of(event).submission.first_delivered;
        const auto first = std::ranges::find(known, event.sequence, &Submission::FirstDelivery::sequence);
        if (first == known.end())
            known.push_back({event.sequence, delivery.first});
        else
            delivery.first = first->event;
    }
    if (event.packet == nullptr || !event.packet->has_job_request() || event.subject != wire::kSubjectSubmit)
        return false;
    const cap::JobRequest& request = event.packet->job_request();
    const std::string_view name = wire::trim(request.job_id());
    if (name.empty()) return false;
    Submission& submission = job(name).submission;
    const std::string_view flaw = flaw_of(request);
    delivery.asks_for = &job(name);
    delivery.is_borderline = is_borderline(request);
    delivery.is_valid = flaw.empty();
    submission.is_valid |= flaw.empty();
    if (flaw.empty()) return false;
    submission.flawed = delivery.first;
    submission.flaw = flaw;
    return true;
}

void Model::store_request(fakes::NodeId client, Job& stored, const std::string* before, std::string_view json) {
    if (const bool damaged = is_cut(client, before, json); damaged != stored.request_damaged)
        recount(stored, [&] { stored.request_damaged = damaged; });
    stored.human.request_stored(client, json, clock_.present());
    stored.submission.is_valid |= !is_scheduler(client);
    stored.scans.scan.is_unclear |= !is_scheduler(client);  // under another request it is judged anew
    RequestStored fact;
    if (stored.causes.request_stored) fact.tenant_before = stored.request.tenant;
    fact.stored_before = stored.request.last_stored;
    stored.request.stored_by = client;
    const bool marked =
        json.find("safety_bypass") != std::string_view::npos || json.find("CORDUM_") != std::string_view::npos;
    const std::shared_ptr<const cap::JobRequest> request = read_stored(stored, json);
    record_request(stored, request);
    // A replica that handles the job goes by what was stored when it acquired it.
    if (!is_scheduler(client) && before != nullptr && *before != json && stored.limits.lock_until_ms != 0)
        stored.limits.is_unsure = true;
    note_request_limits(stored, request.get());
    if (request == nullptr) fact.tenant_before = {};
    note(fact, client, &stored, clock_.present());
    if (request != nullptr && marked) stored.marks.submitted(*request, upcoming());
    flush_unless_in_command();
}

std::shared_ptr<const cap::JobRequest> Model::read_stored(Job& stored, std::string_view json) {
    constexpr std::size_t kContentsMax = 4;
    StoredRequest& known = stored.request;
    std::shared_ptr<const cap::JobRequest> request = requests_.read(json);
    known.is_invalid = request == nullptr || !flaw_of(*request).empty();
    if (request == nullptr) return nullptr;
    const std::string_view tenant = label_names_.name_of(label_names_.number_of(tenant_named_by(*request)));
    if (!stored.causes.request_stored)
        known.former = {};
    else if (tenant != known.tenant) {
        known.former = known.tenant;
        known.replaced = clock_.told_at();
    }
    known.tenant = tenant;
    known.conflict = tenant_conflict_in(*request);
    known.last_stored = upcoming();
    tenants_of_requests_.insert(label_names_.find(tenant));
    stored.causes.request_stored = true;
    stored.causes.input = input_names_.number_of(wire::key_of_pointer(request->context_ptr()));
    if (const auto& workflow = request->workflow_id(); !workflow.empty())
        stored.workflow = label_names_.name_of(label_names_.number_of(workflow));
    if (known.first_stored == 0) known.first_stored = clock_.present();
    const std::size_t text = std::hash<std::string_view>{}(json);
    std::erase_if(known.versions, [text](const auto& one) { return one.text == text; });
    if (known.versions.size() == kContentsMax) known.versions.erase(known.versions.begin());
    known.versions.push_back({text, request});
    const std::size_t content = digest_of_work(*request);
    std::erase(known.contents, content);
    if (known.contents.size() == kContentsMax) known.contents.erase(known.contents.begin());
    known.contents.push_back(content);
    return request;
}

void Model::name_tenant(fakes::NodeId client, Job& job, TenantNamed::Where where, std::string_view tenant) {
    const std::string_view bare = wire::trim(tenant);
    TenantNamed& fact = note(TenantNamed{}, client, &job, clock_.present());
    fact.where = where;
    fact.tenant = label_names_.name_of(label_names_.number_of(bare.empty() ? "default" : bare));
    if (where != TenantNamed::Where::record)
        fact.is_as_renamed = fact.tenant == job.renamed;
    else if (!is_scheduler(client))
        job.renamed = fact.tenant;
}

}  // namespace lockstep::sim
