// Each message that a scheduler or workflow engine publishes has the sender, the trace, the time and the message id that the documents
// say (wire.md 2.2 and 3.4; workflow.md 1), and the version 1. A handshake says what its sender is.
//
// What else is in a message is for those rules that are about its subject.
#include <chrono>
#include <cstdlib>

#include "engine/wire/messages.h"
#include "sim/rules/rules.h"
#include "sim/spec/envelopes.h"

namespace lockstep::sim::rules {

namespace {

/// Between clocks that run by themselves; an announcement of what was decided just before.
constexpr std::int64_t kClocksApartMs = 60'000;

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
    const std::string& due_trace = due->trace ? *due->trace : trace;
    const bool is_known = !due_trace.empty() && !(sent.job != nullptr && sent.job->lost.any());
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
    verdict.require(ahead < kClocksApartMs && (due->made_before || ahead > -kClocksApartMs), 0,
                    "what it publishes on {} was made {} ms from now", sent.subject, ahead);
}

}  // namespace

void messages_true(Rules& rules, const engine::Tunables&) { rules.add(is_addressed_truly); }

}  // namespace lockstep::sim::rules
