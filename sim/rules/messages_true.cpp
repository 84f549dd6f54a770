// Each message that a scheduler or workflow engine publishes has the sender, the trace, the time and the message id that the documents
// say (wire.md 2.2 and 3.4; workflow.md 1), and the version 1. A handshake says what its sender is. What is published for a workflow run
// has stood in an outbox (redis-schema.md 11).
//
// What else is in a message is for those rules that are about its subject.
#include <chrono>
#include <cstdlib>

#include "engine/wire/messages.h"
#include "engine/wire/subjects.h"
#include "sim/rules/rules.h"
#include "sim/spec/envelopes.h"

namespace lockstep::sim::rules {

namespace {

/// Between clocks that run by themselves; an announcement of what was decided just before.
constexpr std::int64_t kClocksApartMs = 60'000;
/// What is sent again lives no longer than a run is kept after its end (wf_run_retention).
constexpr std::int64_t kKeptForMs = 30LL * 24 * 3600 * 1000;

void is_addressed_truly(const Published& sent, const Model& model, Verdict& verdict) {
    const cap::BusPacket& packet = *sent.packet;
    const auto due = spec::envelope_of(sent.subject, packet);
    verdict.exercised();
    verdict.require(due.has_value(), 0, "it publishes what no document knows on {}", sent.subject);
    if (!due) return;
    verdict.require(packet.protocol_version() == 1, 0, "what it publishes on {} is of version {}", sent.subject,
                    packet.protocol_version());
    verdict.require(packet.sender_id() == due->sender, 0, "what it publishes on {} is sent by {}, which is {}",
                    sent.subject, packet.sender_id(), due->sender);
    const std::string& trace = sent.job == nullptr ? packet.trace_id() : sent.job->sources.trace;
    // A gateway may write the record while a handler goes by what it found there.
    const bool is_as_found = sent.job != nullptr && packet.trace_id() == sent.job->sources.trace_found;
    const std::string& due_trace = due->trace ? *due->trace : is_as_found ? packet.trace_id() : trace;
    // A handler goes by its own delivery, which may be garbled where another one has written the record.
    const bool is_as_recorded = due->trace || !model.packets_garbled();
    const bool is_known = !due_trace.empty() && is_as_recorded && !(sent.job != nullptr && sent.job->lost.any());
    verdict.require(packet.trace_id() == due_trace || !is_known, 0,
                    "what it publishes on {} has the trace {}, which is {}", sent.subject, packet.trace_id(),
                    due_trace);
    if (due->message_id)
        verdict.require(sent.message_id == *due->message_id, 0,
                        "what it publishes on {} has the message id {}, which is {}", sent.subject, sent.message_id,
                        *due->message_id);
    if (packet.has_handshake()) {
        const std::string fault = spec::fault_of(packet.handshake());
        verdict.require(fault.empty(), 0, "its handshake is wrong: {}", fault);
    }
    if (model.clocks_jumped() || model.clocks_were_set() || sent.redis_ms == 0) return;
    const std::int64_t made = packet.created_at().seconds() * 1000 + packet.created_at().nanos() / 1'000'000;
    const std::int64_t ahead = made - sent.redis_ms;
    const std::int64_t oldest = due->made_before ? -kKeptForMs : -kClocksApartMs;
    verdict.require(ahead < kClocksApartMs && ahead > oldest, 0, "what it publishes on {} was made {} ms from now",
                    sent.subject, ahead);
}

void says_which_and_why(const Published& sent, const Model& model, Verdict& verdict) {
    verdict.cite("engine/wire/wire.md 3.4");
    const bool is_why = !sent.packet->has_job_cancel() || !sent.packet->job_cancel().reason().empty();
    verdict.require(is_why, 0, "it calls a job off without a reason");
    if (!sent.is_to_be_run || sent.job->lost.any() || sent.job->sources.dispatches == 0) return;
    const auto worker = engine::wire::worker_of(sent.subject);
    const std::string_view recorded = model.name_of(sent.job->dispatch.worker);
    verdict.require(!worker || *worker == recorded, 0, "it is published for worker {}, and its record says '{}'",
                    worker.value_or(""), recorded);
    const std::string due = fmt::format("jobreq:{}:{}", sent.job->name, sent.job->sources.dispatches);
    verdict.require(sent.message_id == due, 0, "its dispatch has the message id {}, which is {}", sent.message_id, due);
}

void is_asked_for(const Published& sent, const Model&, Verdict& verdict) {
    verdict.cite("engine/store/redis-schema.md 11");
    verdict.require(sent.is_asked_for, 0, "it publishes for a run on {} what no outbox of runs has had", sent.subject);
}

}  // namespace

void messages_true(Rules& rules, const engine::Tunables&) {
    rules.add(is_addressed_truly);
    rules.add(says_which_and_why);
    rules.add(is_asked_for);
}

}  // namespace lockstep::sim::rules
