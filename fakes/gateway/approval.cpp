#include "fakes/gateway/approval.h"

#include <fmt/core.h>

#include <chrono>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/wire/job_hash.h"
#include "engine/wire/json.h"
#include "engine/wire/message_id.h"
#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "engine/wire/subjects.h"
#include "fakes/gateway/record_fields.h"
#include "fakes/kernel/client.h"

namespace lockstep::fakes {
namespace {

using namespace std::chrono_literals;
namespace wire = engine::wire;

constexpr engine::Duration kLockTtl = 10s;
constexpr engine::Duration kPublishPatience = 5s;
constexpr engine::Duration kKernelPatience = 2s;
constexpr const char* kSender = "api-gateway";
constexpr const char* kGrantLabel = "approval_granted";

bool terminal(std::string_view state) {
    for (const char* name : {"SUCCEEDED", "FAILED", "CANCELLED", "TIMEOUT", "DENIED", "OUTPUT_QUARANTINED"}) {
        if (state == name) return true;
    }
    return false;
}

std::string_view base_of(std::string_view snapshot) { return snapshot.substr(0, snapshot.find('|')); }

bool label_is(const cap::JobRequest& request, const char* label, std::string_view value) {
    const auto found = request.labels().find(label);
    return found != request.labels().end() && found->second == value;
}

bool workflow_gate(const cap::JobRequest& request) {
    return wire::is_approval_gate(request.topic()) || label_is(request, "gate_type", "workflow_approval");
}

void grant(cap::JobRequest& request) {
    auto& labels = *request.mutable_labels();
    labels[kGrantLabel] = "true";
    labels["approval_reason"] = "approved by an operator";
    labels["approval_note"] = "";
    labels[std::string(wire::kMessageIdLabel)] = "approval:" + request.job_id();
}

}  // namespace

Approvals::Approvals(World& world, NodeId node, engine::Executor& executor, engine::Bus& bus, JobRecords& records,
                     KernelClient* kernel)
    : world_(world), node_(node), executor_(executor), bus_(bus), records_(records), kernel_(kernel) {}

engine::Task<Approvals::Attempt> Approvals::approve(std::string job) { return under_lock(std::move(job), true); }

engine::Task<Approvals::Attempt> Approvals::reject(std::string job) { return under_lock(std::move(job), false); }

std::string Approvals::token(std::string_view job) {
    Rng rng = world_.draws("gateway").next(job);
    const std::uint64_t a = rng.next();
    const std::uint64_t b = rng.next();
    return fmt::format("{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}", a >> 32, (a >> 16) & 0xffff, a & 0xfff,
                       0x8000 | ((b >> 48) & 0x3fff), b & 0xffff'ffff'ffff);
}

engine::Task<Approvals::Attempt> Approvals::under_lock(std::string job, bool approval) {
    // A person looks before deciding: the lock is not taken from the scheduler only to find that there is nothing to
    // do.
    const auto seen = co_await records_.read(job);
    if (!seen.applied()) co_return Attempt::not_yet;
    const bool decided_before = !seen.value().approved_by.empty();
    if (seen.value().state != "APPROVAL_REQUIRED" && !decided_before) {
        co_return terminal(seen.value().state) ? Attempt::refused : Attempt::not_yet;
    }
    Lock lock{job, token(job), executor_.monotonic() + kLockTtl};
    const auto taken = co_await records_.lock(job, lock.token, kLockTtl);
    if (!taken.applied() || !taken.value()) co_return Attempt::not_yet;  // one of unknown fate runs out by itself
    Attempt attempt = Attempt::not_yet;
    if (approval) {
        attempt = co_await approve_locked(lock);
    } else {
        attempt = co_await reject_locked(lock);
    }
    const auto released = co_await records_.unlock(job, lock.token);
    static_cast<void>(released);  // it runs out by itself
    co_return attempt;
}

engine::Task<Approvals::Attempt> Approvals::approve_locked(Lock lock) {
    const auto read = co_await records_.read(lock.job);
    if (!read.applied()) co_return Attempt::not_yet;
    const JobRecords::Stored& stored = read.value();
    if (terminal(stored.state)) co_return Attempt::refused;
    auto parsed = wire::from_json<cap::JobRequest>(stored.request_json);
    if (!parsed) co_return stored.state.empty() ? Attempt::not_yet : Attempt::refused;
    cap::JobRequest request = std::move(*parsed);

    // An earlier attempt got as far as PENDING, and perhaps not to its message: that one is absorbed by its id.
    const bool granted_before = label_is(request, kGrantLabel, "true") && !stored.approved_by.empty();
    if (granted_before && stored.state != "APPROVAL_REQUIRED") {
        if (stored.state != "PENDING") co_return Attempt::done;
        co_return co_await publish_approved(std::move(request), stored.trace_id);
    }
    if (stored.state != "APPROVAL_REQUIRED") co_return Attempt::not_yet;
    const Attempt compared = co_await compare(stored, request);
    if (compared != Attempt::done) co_return compared;

    grant(request);
    if (!holds(lock)) co_return Attempt::not_yet;
    const auto rewritten = co_await records_.write_request(request);
    if (!rewritten.applied() || !holds(lock)) co_return Attempt::not_yet;
    const auto recorded = co_await records_.write_fields(lock.job, approval_record(stored, "approved by an operator"));
    if (!recorded.applied() || !holds(lock)) co_return Attempt::not_yet;
    const auto pending = co_await records_.set_state(lock.job, "PENDING");
    if (!pending.applied() || !pending.value().made) co_return Attempt::not_yet;
    co_return co_await publish_approved(std::move(request), stored.trace_id);
}

engine::Task<Approvals::Attempt> Approvals::compare(JobRecords::Stored stored, cap::JobRequest request) {
    const bool asked = stored.decision == "REQUIRE_APPROVAL" || stored.approval_required == "true";
    if (!asked || stored.job_hash.empty())
        co_return Attempt::not_yet;  // the decision is written with the state, or soon
    if (stored.job_hash != wire::job_hash(request)) co_return Attempt::refused;
    if (kernel_ == nullptr || workflow_gate(request)) co_return Attempt::done;
    const auto snapshots = co_await kernel_->list_snapshots(executor_.monotonic() + kKernelPatience);
    if (!snapshots) co_return Attempt::not_yet;
    const bool same = !snapshots->empty() && base_of(snapshots->front()) == base_of(stored.snapshot);
    co_return same ? Attempt::done : Attempt::refused;
}

std::vector<std::string> Approvals::approval_record(const JobRecords::Stored& stored, const char* reason) const {
    return {"approval_by",
            "operator",
            "approval_role",
            "admin",
            "approval_at",
            records::micros(world_.wall(node_)),
            "approval_reason",
            reason,
            "approval_note",
            "",
            "approval_policy_snapshot",
            stored.snapshot,
            "approval_job_hash",
            stored.job_hash};
}

engine::Task<Approvals::Attempt> Approvals::publish_approved(cap::JobRequest request, std::string trace_id) {
    const std::string subject(wire::kSubjectSubmit);
    const auto packet = wire::make_packet(std::move(request), std::move(trace_id), kSender, world_.wall(node_));
    const auto sent = co_await bus_.publish(subject, wire::serialise(packet), wire::message_id(packet, subject),
                                            executor_.monotonic() + kPublishPatience);
    co_return sent.applied() ? Attempt::done : Attempt::not_yet;
}

engine::Task<Approvals::Attempt> Approvals::reject_locked(Lock lock) {
    const auto read = co_await records_.read(lock.job);
    if (!read.applied()) co_return Attempt::not_yet;
    const JobRecords::Stored& stored = read.value();
    // DENIED with an approval record: by an earlier attempt, which perhaps did not get to its messages.
    const bool rejected_before = stored.state == "DENIED" && !stored.approved_by.empty();
    if (terminal(stored.state) && !rejected_before) co_return Attempt::refused;
    if (!rejected_before) {
        if (stored.state != "APPROVAL_REQUIRED") co_return Attempt::not_yet;
        const auto recorded =
            co_await records_.write_fields(lock.job, approval_record(stored, "rejected by an operator"));
        if (!recorded.applied() || !holds(lock)) co_return Attempt::not_yet;
        const auto denied = co_await records_.set_state(lock.job, "DENIED");
        if (!denied.applied() || !denied.value().made) co_return Attempt::not_yet;
    }
    cap::JobResult letter;
    letter.set_job_id(lock.job);
    letter.set_status(cap::JOB_STATUS_DENIED);
    letter.set_error_code("approval_rejected");
    letter.set_error_code_enum(cap::ERROR_CODE_SAFETY_DENIED);
    letter.set_error_message("rejected by an operator");
    const auto kept = co_await records_.write_dead_letter(letter, stored.topic, "APPROVAL_REQUIRED");
    if (!kept.applied()) co_return Attempt::not_yet;
    const bool told = co_await publish_result(letter, std::string(wire::kSubjectDlq));
    if (!told) co_return Attempt::not_yet;
    if (stored.topic != wire::kTopicApprovalGate) co_return Attempt::done;
    const bool workflow_told = co_await publish_result(letter, std::string(wire::kSubjectResult));
    co_return workflow_told ? Attempt::done : Attempt::not_yet;
}

engine::Task<bool> Approvals::publish_result(cap::JobResult letter, std::string subject) {
    const std::string trace_id = letter.job_id();
    const auto packet = wire::make_packet(std::move(letter), trace_id, kSender, world_.wall(node_));
    const auto sent = co_await bus_.publish(subject, wire::serialise(packet), wire::message_id(packet, subject),
                                            executor_.monotonic() + kPublishPatience);
    co_return sent.applied();
}

}  // namespace lockstep::fakes
