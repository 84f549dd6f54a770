// A request that the rules reject never runs, and a valid one is never dropped (wire.md 6.2; D-06).
//
// 1. Where no valid submission names a job, and only schedulers have stored its request, no request is left for it in Redis, and none is
//    sent to a worker. Requests that others have stored bypass these rules, as documented, but for the tenant's (tenant_walls).
// 2. A valid submission is acknowledged only after a replica has read or written something of its job since its first delivery.
// 3. A job ends with the dead letter `invalid_request` only when its stored request breaks a rule.
// 4. What is sent to be run is a request that has been stored under the id of the job, with its compensation, but for what policy and
//    approvals mark in it.
//    Another one than the first is stored only where Redis has lost one, or another writer has replaced it. While what is stored cannot
//    be read, what was delivered counts.
// 5. What counts is what a replica was delivered: what was garbled on its way is taken for what it says.
#include <algorithm>
#include <ranges>

#include "engine/wire/pointer.h"
#include "engine/wire/text.h"
#include "sim/rules/rules.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim::rules {

namespace {

namespace wire = engine::wire;

bool is_readable_by_all(std::string_view key, const engine::Tunables& tunables) {
    return std::ranges::any_of(tunables.pointer_prefixes | std::views::split(','), [key](auto part) {
        const std::string_view prefix = wire::trim(std::string_view(part.begin(), part.end()));
        return !prefix.empty() && key.starts_with(prefix);
    });
}

/// Its input would be data that is not its tenant's to have (D-30). `when_stored`: a job that was recorded after it does not count, since
/// the data may have had no owner when this was checked.
bool points_beyond(const Job& job, const Model& model, const engine::Tunables& tunables, bool when_stored) {
    const std::string_view input = model.input_of(job);
    if (input.empty() || is_readable_by_all(input, tunables)) return false;
    const std::string_view owner = wire::owner_of_data(input);
    if (owner.empty()) return true;
    const Job* other = model.find(owner);
    if (other == nullptr || other == &job) return false;
    // What Redis has left of its record may name no tenant.
    if (!when_stored && other->lost.any()) return true;
    // Its gateway may have recorded it and not yet whose it is.
    if (other->request.first_stored == 0) return !when_stored && other->in_hash != State::absent;
    return other->request.tenant != job.request.tenant &&
           (!when_stored || other->request.first_stored < job.request.first_stored);
}

bool is_to_be_dropped(const Job& job) { return job.submission.flawed != 0 && !job.submission.is_valid; }

void is_rejected(const Delivered& delivered, const Model&, Verdict& verdict) { verdict.exercised(delivered.is_flawed); }

void is_not_dropped(const DeliveryAnswered& answered, const Model&, Verdict& verdict) {
    const auto& delivery = answered.delivery;
    if (!delivery || !answered.is_ack || !delivery->is_valid) return;
    verdict.exercised(delivery->is_borderline);
    verdict.about(delivery->asks_for);
    verdict.require(delivery->asks_for->submission.looked_at >= delivery->first, delivery->first,
                    "its submission is valid, and is taken off the stream though no replica has looked at the job");
}

void is_not_kept(const RequestStored& stored, const Model&, Verdict& verdict) {
    const Submission& submission = stored.job->submission;
    verdict.require(!is_scheduler(stored.node) || !is_to_be_dropped(*stored.job), submission.flawed,
                    "a scheduler stores its request, and its only submission is to be dropped: {}", submission.flaw);
}

void is_called_invalid(const JobWritten& written, const Model& model, Verdict& verdict,
                       const engine::Tunables& tunables) {
    constexpr std::string_view kInvalid = "invalid_request";
    const std::string& entry = written.change->letter_entry;
    if (entry.find(kInvalid) == std::string::npos) return;
    const auto letter = read_letter(entry);
    if (!letter || letter->code != kInvalid) return;
    verdict.exercised();
    verdict.require(written.job->request.is_invalid || points_beyond(*written.job, model, tunables, false), 0,
                    "its dead letter calls it invalid, and its stored request keeps every rule");
}

void may_be_sent(const Sent& sent, const Model& model, Verdict& verdict, const engine::Tunables& tunables) {
    if (!is_scheduler(sent.node)) return;
    const Job& job = *sent.job;
    verdict.require(!is_to_be_dropped(job), job.submission.flawed,
                    "it is published on worker.{}.jobs, and its only submission is to be dropped: {}",
                    model.name_of(sent.worker), job.submission.flaw);
    // Like everything that policy is not asked about, this is checked once the request is stored.
    verdict.cite("engine/delivery-semantics.md#whose-word-counts");
    verdict.require(!points_beyond(job, model, tunables, true), job.request.first_stored,
                    "its worker is sent it, and its input would be {}", model.input_of(job));
}

void is_run_as_stored(const Published& sent, const Model&, Verdict& verdict) {
    if (!sent.is_to_be_run) return;
    verdict.cite("engine/wire/wire.md 8, step 4");
    verdict.exercised(sent.job->request.contents.size() > 1);
    verdict.require(sent.is_as_stored, 0, "what is sent to be run has never been stored under its id");
}

}  // namespace

void valid_requests(Rules& rules, const engine::Tunables& tunables) {
    rules.add(is_rejected);
    rules.add(is_not_dropped);
    rules.add<Delivered>(is_not_kept);
    rules.add([&tunables](const JobWritten& written, const Model& model, Verdict& verdict) {
        is_called_invalid(written, model, verdict, tunables);
    });
    rules.add([&tunables](const Sent& sent, const Model& model, Verdict& verdict) {
        may_be_sent(sent, model, verdict, tunables);
    });
    rules.add(is_run_as_stored);
}

}  // namespace lockstep::sim::rules
