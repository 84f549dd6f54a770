#include "prod/ordeal/messages.h"

#include <fmt/core.h>
#include <google/protobuf/util/time_util.h>

#include <algorithm>

#include <limits>

#include "engine/wire/messages.h"

namespace lockstep::prod::ordeal {

namespace {

namespace proto = cordum::agent::v1;

constexpr std::size_t kGarbageMax = 64;
constexpr std::size_t kExcerpt = 40;

proto::BusPacket envelope(const std::string& trace) {
    proto::BusPacket packet;
    packet.set_trace_id(trace);
    packet.set_sender_id("lockstep-ordeal");
    packet.set_protocol_version(1);
    *packet.mutable_created_at() = google::protobuf::util::TimeUtil::GetCurrentTime();
    return packet;
}

std::string state_asked_for(proto::JobStatus status) {
    switch (status) {
        case proto::JOB_STATUS_SUCCEEDED: return "SUCCEEDED";
        case proto::JOB_STATUS_FAILED:
        case proto::JOB_STATUS_FAILED_RETRYABLE:
        case proto::JOB_STATUS_FAILED_FATAL: return "FAILED";
        case proto::JOB_STATUS_CANCELLED: return "CANCELLED";
        case proto::JOB_STATUS_DENIED: return "DENIED";
        case proto::JOB_STATUS_TIMEOUT: return "TIMEOUT";
        default: return {};
    }
}

std::string random_text(fakes::Rng& rng, std::size_t most) {
    std::string text(rng.below(most + 1), '\0');
    for (char& c : text) c = static_cast<char>(rng.below(127) + 1);
    return text;
}

proto::JobRequest senseless_request(fakes::Rng& rng) {
    proto::JobRequest request;
    // Without an id, or without a topic, or with a budget that nobody can have: none of them may ever be worked on.
    const auto flaw = rng.below(3);
    if (flaw != 0) request.set_job_id("nonsense-" + std::to_string(rng.below(1000)));
    if (flaw != 1) request.set_topic("job." + random_text(rng, 20));
    request.mutable_budget()->set_deadline_ms(flaw == 2 ? std::numeric_limits<std::int64_t>::min() : -1);
    request.set_step_index(-static_cast<std::int32_t>(rng.below(1000)) - 1);
    for (std::uint64_t i = rng.below(8); i > 0; --i)
        (*request.mutable_labels())[random_text(rng, 10)] = random_text(rng, 30);
    return request;
}

proto::JobResult senseless_result(fakes::Rng& rng) {
    proto::JobResult result;
    result.set_job_id("nonsense-" + std::to_string(rng.below(1000)));
    result.set_status(static_cast<proto::JobStatus>(rng.below(40)));
    result.set_worker_id(random_text(rng, 10));
    result.set_execution_ms(-static_cast<std::int64_t>(rng.below(1000)));
    result.set_result_ptr(random_text(rng, 30));
    return result;
}

}  // namespace

std::string content_of(std::string_view job, std::size_t size) {
    std::string text;
    text.reserve(size + job.size() + 1);
    while (text.size() < size) text.append(job).append("/");
    text.resize(size);
    return text;
}

std::string fault_of_content(std::string_view found, std::string_view job, std::size_t size) {
    const std::string wanted = content_of(job, size);
    if (found == wanted) return {};
    const auto differ = std::mismatch(found.begin(), found.end(), wanted.begin(), wanted.end());
    const auto at = static_cast<std::size_t>(differ.first - found.begin());
    std::string excerpt;
    for (const char c : found.substr(at, kExcerpt)) excerpt += c >= ' ' && c <= '~' ? c : '.';
    return fmt::format("{} bytes instead of {}, different from byte {}: \"{}\"", found.size(), size, at, excerpt);
}

std::string submit_packet(const std::string& job, const std::string& topic, const Submission& submission) {
    auto packet = envelope("trace-" + job);
    auto& request = *packet.mutable_job_request();
    request.set_job_id(job);
    request.set_topic(topic);
    request.set_tenant_id(kTenant);
    (*request.mutable_env())[kContentVariable] = content_of(job, submission.content_size);
    if (submission.kind == JobKind::denied) request.mutable_meta()->add_risk_tags("secrets");
    return packet.SerializeAsString();
}

std::string cancel_packet(const std::string& job) {
    auto packet = envelope("trace-" + job);
    packet.mutable_job_cancel()->set_job_id(job);
    packet.mutable_job_cancel()->set_reason("the ordeal changed its mind");
    packet.mutable_job_cancel()->set_requested_by("lockstep-ordeal");
    return packet.SerializeAsString();
}

std::string result_packet(const std::string& job, const std::string& worker, bool succeeded) {
    auto packet = envelope("trace-" + job);
    auto& result = *packet.mutable_job_result();
    result.set_job_id(job);
    result.set_worker_id(worker);
    result.set_status(succeeded ? proto::JOB_STATUS_SUCCEEDED : proto::JOB_STATUS_FAILED);
    if (!succeeded) result.set_error_message("a second opinion");
    return packet.SerializeAsString();
}

std::string hostile_packet(const std::string& job, const std::string& topic, const std::string& pointer) {
    auto packet = envelope("trace-" + job);
    auto& request = *packet.mutable_job_request();
    request.set_job_id(job);
    request.set_topic(topic);
    request.set_tenant_id(kHostileTenant);
    request.set_context_ptr(pointer);
    return packet.SerializeAsString();
}

std::string heartbeat_packet(const std::string& worker, const std::string& pool, int active_jobs) {
    auto packet = envelope("trace-" + worker);
    auto& heartbeat = *packet.mutable_heartbeat();
    heartbeat.set_worker_id(worker);
    heartbeat.set_pool(pool);
    heartbeat.set_active_jobs(active_jobs);
    heartbeat.set_max_parallel_jobs(1);
    return packet.SerializeAsString();
}

std::string garbage(fakes::Rng& rng) {
    // Group end tags of field 0 do not exist: no parser takes the first byte.
    std::string bytes(1 + rng.below(kGarbageMax), '\x07');
    for (std::size_t i = 1; i < bytes.size(); ++i) bytes[i] = static_cast<char>(rng.below(256));
    return bytes;
}

std::string nonsense(fakes::Rng& rng) {
    auto packet = envelope(random_text(rng, 40));
    packet.set_protocol_version(static_cast<std::int32_t>(rng.below(1'000'000)) - 500'000);
    switch (rng.below(4)) {
        case 0: break;  // no payload at all
        case 1: *packet.mutable_job_result() = senseless_result(rng); break;
        case 2: packet.mutable_heartbeat()->set_max_parallel_jobs(-1); break;
        default: *packet.mutable_job_request() = senseless_request(rng); break;
    }
    return packet.SerializeAsString();
}

std::optional<HeardResult> parse_result(std::string_view bytes) {
    proto::BusPacket packet;
    if (!packet.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) || !packet.has_job_result())
        return std::nullopt;
    const auto& result = packet.job_result();
    return HeardResult{result.job_id(), result.worker_id(), state_asked_for(result.status()),
                       result.status() == proto::JOB_STATUS_FAILED_RETRYABLE};
}

std::optional<HeardRequest> parse_request(std::string_view bytes) {
    proto::BusPacket packet;
    if (!packet.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) || !packet.has_job_request())
        return std::nullopt;
    const auto& variables = packet.job_request().env();
    const auto content = variables.find(kContentVariable);
    return HeardRequest{packet.job_request().job_id(), content == variables.end() ? std::string() : content->second};
}

}  // namespace lockstep::prod::ordeal
