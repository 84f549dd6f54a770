#include "engine/wire/subjects.h"

#include <fmt/core.h>

#include <algorithm>

#include "engine/runtime/invariant.h"
#include "engine/wire/text.h"

namespace lockstep::engine::wire {
namespace {

constexpr std::string_view kWorkerPrefix = "worker.";
constexpr std::string_view kWorkerSuffix = ".jobs";

/// What a durable's name may not contain is spelt out.
std::string sanitised(std::string_view text) {
    std::string result;
    for (const char c : text) {
        switch (c) {
            case '.': result += '_'; break;
            case '*': result += "STAR"; break;
            case '>': result += "GT"; break;
            default: result += c;
        }
    }
    return std::string(trim(result));
}

}  // namespace

bool is_approval_gate(std::string_view topic) {
    return topic == kTopicApprovalGate || topic == kTopicApprovalGateLegacy;
}

bool is_durable(std::string_view subject) {
    if (subject == kSubjectSubmit || subject == kSubjectResult || subject == kSubjectDlq ||
        subject == kSubjectAuditExport) {
        return true;
    }
    return subject.starts_with("job.") || (subject.starts_with(kWorkerPrefix) && subject.ends_with(kWorkerSuffix));
}

std::optional<std::string_view> stream_of(std::string_view subject) {
    // The wildcard > stands for at least one more token, * for exactly one.
    if (subject.starts_with("sys.") && subject.size() > 4) return kStreamSys;
    if (subject.starts_with("job.") && subject.size() > 4) return kStreamJobs;
    const auto worker = worker_of(subject);
    if (worker && std::ranges::find(*worker, '.') == worker->end()) return kStreamJobs;
    return std::nullopt;
}

std::string worker_subject(const WorkerId& worker) {
    PRECONDITION(!worker.empty(), "the subject of nobody, among those that begin with {}", kWorkerPrefix);
    return fmt::format("{}{}{}", kWorkerPrefix, worker, kWorkerSuffix);
}

std::optional<std::string_view> worker_of(std::string_view subject) {
    const std::size_t frame = kWorkerPrefix.size() + kWorkerSuffix.size();
    if (subject.size() <= frame || !subject.starts_with(kWorkerPrefix) || !subject.ends_with(kWorkerSuffix)) {
        return std::nullopt;
    }
    return subject.substr(kWorkerPrefix.size(), subject.size() - frame);
}

std::string durable_name(std::string_view queue, std::string_view subject) {
    if (queue.empty()) return {};
    const std::string group = sanitised(queue);
    if (group.empty()) return "dur_" + sanitised(subject);
    return fmt::format("dur_{}__{}", group, sanitised(subject));
}

std::vector<std::string> own_durables() {
    return {durable_name(kQueueScheduler, kSubjectSubmit), durable_name(kQueueScheduler, kSubjectResult),
            durable_name(kQueueWorkflowEngine, kSubjectResult)};
}

std::string leader_elected_subject(std::string_view stream, std::string_view durable) {
    return fmt::format("$JS.EVENT.ADVISORY.CONSUMER.LEADER_ELECTED.{}.{}", stream, durable);
}

}  // namespace lockstep::engine::wire
