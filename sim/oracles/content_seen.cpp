#include "sim/oracles/content_seen.h"

#include <fmt/core.h>

#include <charconv>
#include <cstdint>

#include "engine/wire/messages.h"
#include "engine/wire/pointer.h"
#include "sim/model/job_keys.h"

namespace lockstep::sim {

namespace {

using fakes::EventKind;
using fakes::When;

constexpr std::string_view kMark = "ls_input_unread";
constexpr std::string_view kMisses = "ls_input_misses";
/// How often a job is tried again whose input is not there.
constexpr std::int64_t kTriesAgain = 3;

}  // namespace

void ContentSeen::on_event(const fakes::Event& event, Time) {
    switch (event.kind) {
        case EventKind::node_down:
            std::erase_if(questions_, [&event](const auto& entry) { return entry.first.first == event.node; });
            break;
        case EventKind::kernel_check:
            if (event.when == When::before) on_question(event);
            break;
        case EventKind::publish:
            if (event.when == When::before && is_worker_subject(event.subject) && event.packet != nullptr)
                on_sending(event);
            break;
        default: break;
    }
}

void ContentSeen::on_question(const fakes::Event& event) {
    cap::PolicyCheckRequest asked;
    if (!asked.ParseFromArray(event.payload.data(), static_cast<int>(event.payload.size()))) return;
    Question& question = questions_[{event.node, std::string(event.job)}];
    const bool showed_before = question.showed;
    question = {!asked.input_content().empty(), asked.labels().contains("saga_compensation"), present()};
    if (question.beside_a_rollback) question.showed = question.showed || showed_before;
}

void ContentSeen::on_sending(const fakes::Event& event) {
    const cap::JobRequest& request = event.packet->job_request();
    const std::string_view key = engine::wire::key_of_pointer(request.context_ptr());
    if (key.empty() || request.labels().contains("approval_granted") || request.labels().contains("safety_bypassed"))
        return;
    const auto question = questions_.find({event.node, std::string(event.job)});
    if (question == questions_.end()) return;
    exercise();
    if (question->second.showed || marked_.contains(event.job)) return;
    violated(
        event.node, event.job,
        fmt::format("it is sent on {}, policy was not shown its input at {}, and nothing says so", event.subject, key),
        question->second.event);
}

void ContentSeen::hash_set(fakes::NodeId client, std::string_view key, std::string_view field, const std::string*,
                           std::string_view after) {
    if (field == kMisses) {
        std::int64_t misses = 0;
        std::from_chars(after.data(), after.data() + after.size(), misses);
        if (const auto tried = job_of_hash(key); tried && misses > 0) {
            exercise();
            if (misses > kTriesAgain)
                violated(client, *tried,
                         fmt::format("its input is not there, and it is tried again for the {}th time", misses));
        }
        return;
    }
    const auto job = field == kMark ? job_of_hash(key) : std::nullopt;
    if (job && after == "1") marked_.emplace(*job);
}

void ContentSeen::hash_removed(fakes::NodeId, std::string_view key, std::string_view field, std::string_view) {
    const auto job = field == kMark ? job_of_hash(key) : std::nullopt;
    const auto marked = job ? marked_.find(*job) : marked_.end();
    if (marked != marked_.end()) marked_.erase(marked);
}

/// A mark that was written with a dispatch may be lost before the dispatch leaves.
void ContentSeen::restored(const fakes::redis::Keyspace&) { questions_.clear(); }

}  // namespace lockstep::sim
