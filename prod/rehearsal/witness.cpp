#include "prod/rehearsal/witness.h"

#include <fmt/core.h>

#include <sstream>

#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "engine/wire/subjects.h"

namespace lockstep::prod::rehearsal {

namespace {

namespace wire = engine::wire;
using fakes::Event;
using fakes::EventKind;
using sim::Topology;

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
    now_ = now;
    if (const auto* message = std::get_if<BusMessage>(&record)) return see_message(*message);
    see_execution(std::get<Execution>(record).line);
}

void Witness::see_line(const MonitorLine& line) {
    now_ = engine::WallTime(std::chrono::microseconds(line.at_us));
    if (line.words.size() == 2 && line.words[1] == kMarkerSubject) {
        ++redis_markers_;
        return;
    }
    mirror_.apply(line);
}

void Witness::see_message(const BusMessage& message) {
    if (message.subject == kMarkerSubject) {
        ++bus_markers_;
        return;
    }
    if (message.subject.starts_with("$JS.ACK.")) return see_verdict(message);
    if (message.subject.starts_with('$') || message.subject.starts_with('_')) return;
    const auto packet = wire::decode(message.payload);
    Event event;
    event.subject = message.subject;
    event.payload = message.payload;
    if (packet) event.packet = &*packet;
    if (packet && packet->has_job_result()) event.job = packet->job_result().job_id();
    if (packet && packet->has_job_request()) event.job = packet->job_request().job_id();
    if (const auto delivered = parse_ack_subject(message.reply)) {
        event.kind = EventKind::deliver;
        event.stream = delivered->stream;
        event.name = delivered->consumer;
        event.sequence = delivered->sequence;
        event.number = delivered->deliveries;
        emit(event);
        return;
    }
    event.kind = EventKind::core_publish;
    emit(event);
    // What becomes of jobs for workers is told by the workers themselves: a stream drops doubles unseen.
    if (!wire::stream_of(message.subject) || message.subject.starts_with("worker.")) return;
    event.kind = EventKind::stored;
    emit(event);
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
