#include "prod/observe/trace_names.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <utility>

namespace lockstep::prod {

namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

// Numbers of packet.proto and job.proto. A packet is scanned and not decoded: it may be a megabyte, and two ids are wanted.
constexpr int kTraceIdOfPacket = 1;
constexpr int kJobRequest = 10;
constexpr int kJobResult = 11;
constexpr int kJobCancel = 16;
constexpr int kJobIdOfAll = 1;

bool holds_a_job(int field) { return field == kJobRequest || field == kJobResult || field == kJobCancel; }

/// False at the end, and where it is no message.
bool next_field(CodedInputStream& in, std::uint32_t& tag) {
    tag = in.ReadTag();
    return tag != 0;
}

bool is_text(std::uint32_t tag) {
    return WireFormatLite::GetTagWireType(tag) == WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
}

/// Of the message that begins here: its first field of that number, then everything up to its end.
std::string text_in_message(CodedInputStream& in, int number) {
    std::string found;
    int length = 0;
    if (!in.ReadVarintSizeAsInt(&length)) return {};
    const auto limit = in.PushLimit(length);
    std::uint32_t tag = 0;
    while (next_field(in, tag)) {
        const bool wanted = WireFormatLite::GetTagFieldNumber(tag) == number && is_text(tag) && found.empty();
        if (wanted ? !WireFormatLite::ReadBytes(&in, &found) : !WireFormatLite::SkipField(&in, tag)) break;
        if (!found.empty()) in.Skip(in.BytesUntilLimit());
    }
    in.PopLimit(limit);
    return found;
}

}  // namespace

void TraceNames::learn(std::string_view packet) {
    CodedInputStream in(reinterpret_cast<const std::uint8_t*>(packet.data()), static_cast<int>(packet.size()));
    std::string trace;
    std::string job;
    std::uint32_t tag = 0;
    while ((trace.empty() || job.empty()) && next_field(in, tag)) {
        const int field = WireFormatLite::GetTagFieldNumber(tag);
        if (field == kTraceIdOfPacket && is_text(tag)) {
            if (!WireFormatLite::ReadBytes(&in, &trace)) return;
        } else if (holds_a_job(field) && is_text(tag)) {
            job = text_in_message(in, kJobIdOfAll);
        } else if (!WireFormatLite::SkipField(&in, tag)) {
            return;
        }
    }
    const bool sensible = !trace.empty() && !job.empty() && trace.size() <= kIdMax && job.size() <= kIdMax;
    if (sensible) note(std::move(job), std::move(trace));
}

void TraceNames::note(std::string job, std::string trace) {
    const std::lock_guard lock(mutex_);
    if (const auto found = known_.find(job); found != known_.end()) {
        found->second->trace = std::move(trace);
        entries_.splice(entries_.begin(), entries_, found->second);
        return;
    }
    entries_.push_front({std::move(job), std::move(trace)});
    known_.emplace(entries_.front().job, entries_.begin());
    if (entries_.size() <= kTracesMax) return;
    known_.erase(entries_.back().job);
    entries_.pop_back();
}

std::string TraceNames::of(std::string_view job) const {
    const std::lock_guard lock(mutex_);
    const auto found = known_.find(job);
    return found == known_.end() ? std::string() : found->second->trace;
}

}  // namespace lockstep::prod
