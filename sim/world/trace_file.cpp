#include "sim/world/trace_file.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <utility>

#include "engine/wire/messages.h"
#include "fakes/printable.h"

namespace lockstep::sim {

namespace {

constexpr std::size_t kFlushAt = std::size_t{1} << 16U;
constexpr std::size_t kTextMax = 512;  // payloads shown as text
constexpr std::size_t kHexMax = 32;    // bytes shown of other payloads
constexpr std::string_view kHexDigits = "0123456789abcdef";

void append_number(std::string& out, std::int64_t value) {
    std::array<char, 24> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    out.append(digits.data(), end);
}

/// Bytes outside printable ASCII are escaped one by one, as if they were Latin-1: unambiguous, whatever they were.
void append_text(std::string& out, std::string_view text) {
    out += '"';
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (!fakes::is_printable(c)) {
            out += "\\u00";
            out += kHexDigits[byte >> 4U];
            out += kHexDigits[byte & 0xfU];
        } else {
            out += c;
        }
    }
    out += '"';
}

void append_field(std::string& out, std::string_view key, std::string_view value) {
    if (value.empty()) return;
    out += ",\"";
    out += key;
    out += "\":";
    append_text(out, value);
}

void append_field(std::string& out, std::string_view key, std::int64_t value) {
    out += ",\"";
    out += key;
    out += "\":";
    append_number(out, value);
}

std::string_view outcome_text(fakes::EventOutcome outcome) {
    switch (outcome) {
        case fakes::EventOutcome::none: return "";
        case fakes::EventOutcome::applied: return "applied";
        case fakes::EventOutcome::not_applied: return "not_applied";
        case fakes::EventOutcome::unknown: return "unknown";
    }
    return "";
}

std::pair<std::string_view, std::string_view> type_and_job(const cap::BusPacket& packet) {
    switch (packet.payload_case()) {
        case cap::BusPacket::kJobRequest: return {"JobRequest", packet.job_request().job_id()};
        case cap::BusPacket::kJobResult: return {"JobResult", packet.job_result().job_id()};
        case cap::BusPacket::kJobProgress: return {"JobProgress", packet.job_progress().job_id()};
        case cap::BusPacket::kJobCancel: return {"JobCancel", packet.job_cancel().job_id()};
        case cap::BusPacket::kHeartbeat: return {"Heartbeat", {}};
        case cap::BusPacket::kAlert: return {"SystemAlert", {}};
        case cap::BusPacket::kHandshake: return {"Handshake", {}};
        case cap::BusPacket::PAYLOAD_NOT_SET: break;
    }
    return {"unknown", {}};
}

void append_payload(std::string& out, const fakes::Event& event) {
    if (event.packet != nullptr) {
        const auto [type, job] = type_and_job(*event.packet);
        append_field(out, "packet", type);
        if (job != event.job) append_field(out, "packet_job", job);
        append_field(out, "sender", event.packet->sender_id());
        append_field(out, "bytes", static_cast<std::int64_t>(event.payload.size()));
        return;
    }
    if (event.payload.empty()) return;
    const bool text = event.payload.size() <= kTextMax && std::ranges::all_of(event.payload, [](char c) {
                          return fakes::is_printable(c) || c == '\n' || c == '\r' || c == '\t';
                      });
    if (text) {
        append_field(out, "payload", event.payload);
        return;
    }
    append_field(out, "bytes", static_cast<std::int64_t>(event.payload.size()));
    std::string hex;
    for (const char c : event.payload.substr(0, kHexMax)) {
        hex += kHexDigits[static_cast<unsigned char>(c) >> 4U];
        hex += kHexDigits[static_cast<unsigned char>(c) & 0xfU];
    }
    append_field(out, "hex", hex);
}

}  // namespace

void append_event_json(const fakes::Event& event, Time now, const Topology& topology, std::string& out) {
    out += "{\"ns\":";
    append_number(out, now.time_since_epoch().count());
    append_field(out, "event", fakes::to_string(event.kind));
    if (event.when != fakes::When::applied) append_field(out, "when", fakes::to_string(event.when));
    if (event.node.valid()) append_field(out, "node", topology.name(event.node));
    if (event.peer.valid()) append_field(out, "peer", topology.name(event.peer));
    append_field(out, "outcome", outcome_text(event.outcome));
    append_field(out, "subject", event.subject);
    append_field(out, "job", event.job);
    append_field(out, "command", event.command);
    append_field(out, "script", event.script);
    append_field(out, "key", event.key);
    append_field(out, "name", event.name);
    append_field(out, "from", event.from);
    append_field(out, "to", event.to);
    append_field(out, "stream", event.stream);
    append_field(out, "message_id", event.message_id);
    if (event.sequence != 0) append_field(out, "sequence", static_cast<std::int64_t>(event.sequence));
    if (event.number != 0) append_field(out, "number", event.number);
    if (event.flag) out += ",\"flag\":true";
    append_payload(out, event);
    out += '}';
}

TraceFile::TraceFile(reports::AtomicFile& file, const Topology& topology, const std::string& heading)
    : file_(file), topology_(topology) {
    if (!heading.empty()) buffer_ = heading + "\n";
}

TraceFile::~TraceFile() { flush(); }

void TraceFile::on_event(const fakes::Event& event, Time now) {
    append_event_json(event, now, topology_, buffer_);
    buffer_ += '\n';
    if (buffer_.size() >= kFlushAt) flush();
}

void TraceFile::flush() {
    file_.write(buffer_);
    buffer_.clear();
}

}  // namespace lockstep::sim
