#include "sim/oracles/no_duplicate_dispatch.h"

#include <fmt/core.h>

#include <chrono>

#include "sim/model/job_keys.h"

namespace lockstep::sim {

namespace {

/// wire.md 1.
constexpr engine::Duration kReconnectWait = std::chrono::seconds{2};

/// Of a time that a replica measures, what surely passes.
constexpr engine::Duration surely_passed(engine::Duration time) { return time - time / 8; }

}  // namespace

void NoDuplicateDispatch::on_event(const fakes::Event& event, Time now) {
    if (!is_worker_subject(event.subject)) return;
    if (event.kind == fakes::EventKind::publish && !event.message_id.empty()) on_publish(event, now);
    if (event.kind == fakes::EventKind::core_deliver && !event.job.empty()) {
        exercise();
        const auto [first, fresh] = delivered_.try_emplace(
            std::string(event.job), First{std::string(event.subject), std::string(event.message_id), present()});
        if (!fresh && !excused(event.job))
            violated(event.node, event.job,
                     fmt::format("the job arrived on {} as {} and before that on {} as {}", event.subject,
                                 event.message_id, first->second.subject, first->second.message_id),
                     first->second.event);
    } else if (event.kind == fakes::EventKind::stored && !event.message_id.empty()) {
        const auto [first, fresh] =
            stored_.try_emplace(std::string(event.message_id), Stored{event.sequence, present()});
        if (!fresh && !excused(event.job))
            violated(event.node, event.job,
                     fmt::format("{} is in the stream at {} and at {}", event.message_id, first->second.sequence,
                                 event.sequence),
                     first->second.event);
    }
}

void NoDuplicateDispatch::on_publish(const fakes::Event& event, Time now) {
    const std::pair place{event.node, std::string(event.message_id)};
    Sending& sending = sendings_[place];
    switch (event.when) {
        case fakes::When::before:
            if (sending.unknown) judge_again(event, sending, now);
            sending.begun = now;
            sending.refused = false;
            break;
        case fakes::When::applied: sending.refused = event.outcome == fakes::EventOutcome::unknown; break;
        case fakes::When::answered:
            if (event.outcome == fakes::EventOutcome::unknown) {
                sending.unknown = true;
                sending.unanswered = now;
                sending.cut_off = !sending.refused && now - sending.begun < surely_passed(tunables_.publish_timeout);
                sending.event = present();
            } else if (!sending.unknown || event.outcome == fakes::EventOutcome::applied) {
                sendings_.erase(place);
            }
            break;
    }
}

void NoDuplicateDispatch::judge_again(const fakes::Event& event, const Sending& before, Time now) {
    exercise();
    const engine::Duration least =
        surely_passed(tunables_.publish_settle + (before.cut_off ? kReconnectWait : engine::Duration{}));
    const engine::Duration waited = now - before.unanswered;
    if (waited < least && !excused(event.job))
        violated(event.node, event.job,
                 fmt::format("{} is sent again {} ms after its fate became unknown: two looks at the stream take {} ms "
                             "at least",
                             event.message_id, engine::to_millis(waited), engine::to_millis(least)),
                 before.event);
}

}  // namespace lockstep::sim
