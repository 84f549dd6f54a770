#include "sim/oracles/no_duplicate_dispatch.h"

#include <fmt/core.h>

#include "sim/oracles/job_keys.h"

namespace lockstep::sim {

void NoDuplicateDispatch::on_event(const fakes::Event& event, Time) {
    if (!is_worker_subject(event.subject)) return;
    if (event.kind == fakes::EventKind::core_deliver && !event.job.empty()) {
        exercise();
        const auto [first, fresh] = delivered_.try_emplace(
            std::string(event.job), First{std::string(event.subject), std::string(event.message_id), present()});
        if (!fresh && !lost_.any_of(event.job))
            violated(event.node, event.job,
                     fmt::format("the job arrived on {} as {} and before that on {} as {}", event.subject,
                                 event.message_id, first->second.subject, first->second.message_id),
                     first->second.event);
    } else if (event.kind == fakes::EventKind::stored && !event.message_id.empty()) {
        const auto [first, fresh] =
            stored_.try_emplace(std::string(event.message_id), Stored{event.sequence, present()});
        if (!fresh && !lost_.any_of(event.job))
            violated(event.node, event.job,
                     fmt::format("{} is in the stream at {} and at {}", event.message_id, first->second.sequence,
                                 event.sequence),
                     first->second.event);
    }
}

void NoDuplicateDispatch::string_set(fakes::NodeId client, std::string_view key, const std::string* before,
                                     std::string_view after, std::int64_t, std::int64_t) {
    lost_.string_set(client, key, before, after);
}

void NoDuplicateDispatch::key_removed(fakes::NodeId, std::string_view key, fakes::redis::Removal why,
                                      const fakes::redis::Value& last, std::int64_t) {
    lost_.key_removed(key, why, last);
}

void NoDuplicateDispatch::losing(const fakes::redis::Keyspace& before) { lost_.losing(before); }

void NoDuplicateDispatch::restored(const fakes::redis::Keyspace& now) { lost_.restored(now); }

}  // namespace lockstep::sim
