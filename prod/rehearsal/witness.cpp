#include "prod/rehearsal/witness.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/wire/json_text.h"
#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "engine/wire/subjects.h"

namespace lockstep::prod::rehearsal {

namespace {

namespace wire = engine::wire;
using fakes::Event;
using fakes::EventKind;
using sim::Topology;

bool is_of_nats(std::string_view subject) { return subject.starts_with('$') || subject.starts_with('_'); }

/// Both live as long as the event.
Event about(const BusMessage& message, const tl::expected<cap::BusPacket, wire::DecodeError>& packet) {
    Event event;
    event.subject = message.subject;
    event.payload = message.payload;
    if (packet) event.packet = &*packet;
    if (packet && packet->has_job_result()) event.job = packet->job_result().job_id();
    if (packet && packet->has_job_request()) event.job = packet->job_request().job_id();
    if (packet && packet->has_job_cancel()) event.job = packet->job_cancel().job_id();
    return event;
}

}  // namespace

Witness::Witness(const Topology& topology, Mirror::Owner owner, engine::WallTime began)
    : topology_(topology), began_(began), now_(began), mirror_(*this, Topology::kRedis, std::move(owner)) {}

sim::Time Witness::now() const { return sim::Time(std::max(now_ - began_, engine::Duration{0})); }

bool Witness::emit(const Event& told) {
    Event event = told;
    event.job_number = job_numbers_.number_of(event.job);
    ++events_;
    told_at_ = now();
    for (const auto& [observer, wanted] : observers_)
        if (wanted.contains(event.kind)) observer->on_event(event, told_at_);
    return true;
}

void Witness::see(const Record& record, engine::WallTime now) {
    if (const auto* line = std::get_if<MonitorLine>(&record)) return see_line(*line);
    mirror_.end_command();
    const auto* heard = std::get_if<BusMessage>(&record);
    if (heard != nullptr && heard->is_early) return see_early(*heard);
    now_ = now;
    if (const auto* deed = std::get_if<Deed>(&record)) return see_deed(*deed);
    if (heard != nullptr) return see_message(*heard);
    see_execution(std::get<Execution>(record).line);
}

void Witness::see_line(const MonitorLine& line) {
    now_ = engine::WallTime(std::chrono::microseconds(line.at_us));
    if (line.words.size() == 2 && line.words[1] == kMarkerSubject) {
        mirror_.end_command();
        ++redis_markers_;
        return;
    }
    mirror_.apply(line);
}

/// What it explains.
void Witness::see_early(const BusMessage& message) {
    if (message.subject == kMarkerSubject || is_of_nats(message.subject)) return;
    const auto packet = wire::decode(message.payload);
    Event event = about(message, packet);
    event.kind = EventKind::core_publish;
    const auto delivered = parse_ack_subject(message.reply);
    if (delivered) {
        event.kind = EventKind::deliver;
        event.stream = delivered->stream;
        event.name = delivered->consumer;
        event.sequence = delivered->sequence;
        event.number = delivered->deliveries;
    }
    emit(event);
}

/// What has to explain it.
void Witness::see_message(const BusMessage& message) {
    if (message.subject == kMarkerSubject) {
        ++bus_markers_;
        return;
    }
    if (message.subject.starts_with("$JS.ACK.")) return see_verdict(message);
    if (see_taken(message)) return;
    if (is_of_nats(message.subject)) return;
    if (parse_ack_subject(message.reply)) return;
    const auto packet = wire::decode(message.payload);
    Event event = about(message, packet);
    event.kind = EventKind::core_publish;
    event.when = fakes::When::before;
    emit(event);
    if (!wire::stream_of(message.subject)) return;
    // Who wants no answer gets none.
    if (message.reply.empty()) return tell_stored(message, 0);
    offered_.insert_or_assign(message.reply, message);
}

bool Witness::see_taken(const BusMessage& answer) {
    const auto offered = offered_.find(answer.subject);
    if (offered == offered_.end()) return false;
    const BusMessage message = std::move(offered->second);
    offered_.erase(offered);
    const auto json = wire::read_json(answer.payload);
    const auto sequence = json.is_object() ? json.find("seq") : json.end();
    if (sequence == json.end() || !sequence->is_number_unsigned() || json.contains("error")) return true;
    // The answer to the first one may have been lost with a server.
    const bool is_new = message.message_id.empty() || stored_ids_.insert(message.message_id).second;
    if (is_new || !json.value("duplicate", false)) tell_stored(message, sequence->get<std::uint64_t>());
    return true;
}

void Witness::tell_stored(const BusMessage& message, std::uint64_t sequence) {
    const auto packet = wire::decode(message.payload);
    Event event = about(message, packet);
    event.kind = EventKind::stored;
    event.message_id = message.message_id;
    event.sequence = sequence;
    emit(event);
}

void Witness::see_deed(const Deed& deed) {
    emit({.kind = deed.kind,
          .when = deed.when,
          .flag = deed.accepted,
          .node = deed.node,
          .job = deed.job,
          .to = deed.to});
}

void Witness::see_verdict(const BusMessage& message) {
    if (!message.payload.starts_with("+TERM")) return;
    const auto acked = parse_ack_subject(message.subject);
    if (!acked) return;
    Event event;
    event.kind = EventKind::term;
    event.stream = acked->stream;
    event.name = acked->consumer;
    event.sequence = acked->sequence;
    emit(event);
}

void Witness::see_execution(const std::string& line) {
    std::istringstream words(line);
    std::string job;
    std::int64_t at_us = 0;
    std::string worker;
    if (!(words >> job >> at_us >> worker)) return;
    const std::string subject = fmt::format("worker.{}.jobs", worker);
    const std::string execution = fmt::format("the execution begun at {} us", at_us);
    Event event;
    event.node = topology_.find(worker);
    event.job = job;
    event.subject = subject;
    event.message_id = execution;
    for (const EventKind kind : {EventKind::core_deliver, EventKind::job_started}) {
        event.kind = kind;
        emit(event);
    }
}

}  // namespace lockstep::prod::rehearsal
