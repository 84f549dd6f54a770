#include "engine/reconcile/untaken_submissions.h"

#include <algorithm>
#include <string>
#include <utility>

#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "engine/wire/subjects.h"
#include "engine/wire/text.h"

namespace lockstep::engine {

namespace {

/// Messages that one tick reads.
constexpr int kReadMax = 100;

}  // namespace

UntakenSubmissions::UntakenSubmissions(const Context& context, SweepStore& sweeps, StoredMessages& messages,
                                       Duration interval)
    : context_(context), sweeps_(sweeps), messages_(messages), patience_(context.tunables.bus_ack_wait + interval) {}

Task<std::optional<StreamSequence>> UntakenSubmissions::floor() {
    const auto durable = co_await context_.ports.bus.consumer_state(
        std::string(wire::kStreamSys), wire::durable_name(wire::kQueueScheduler, wire::kSubjectSubmit),
        context_.ports.clock.in(context_.tunables.publish_timeout));
    if (!durable.applied() || !durable.value() || durable.value()->in_hand == 0) co_return std::nullopt;
    co_return durable.value()->ack_floor;
}

Task<void> UntakenSubmissions::look(Ticker& ticker) {
    const StreamSequence from = std::exchange(from_, {});
    const auto floor = co_await this->floor();
    if (!floor) co_return;
    StreamSequence next = std::max(floor->next(), from);
    for (int read = 0; read < kReadMax; ++read) {
        const bool still_mine = co_await ticker.keep();
        if (!still_mine) co_return;
        auto found =
            co_await context_.ports.bus.read_stream(std::string(wire::kStreamSys), std::string(wire::kSubjectSubmit),
                                                    next, context_.ports.clock.in(context_.tunables.publish_timeout));
        if (!found.applied() || !found.value()) co_return;
        const Duration age = context_.ports.clock.now() - found.value()->stored_at;
        if (age < patience_) co_return;  // whatever is behind it is younger
        next = found.value()->sequence.next();
        // Whoever is older may have been forgotten by the store, and not by the durable.
        if (age > context_.tunables.job_meta_ttl / 2) continue;
        const bool answered = co_await hand_in(std::move(*found.value()));
        if (!answered) co_return;
    }
    from_ = next;
}

Task<bool> UntakenSubmissions::hand_in(StoredMessage message) {
    const auto packet = wire::decode(message.payload);
    if (message.subject != wire::kSubjectSubmit || !packet || !packet->has_job_request()) co_return true;
    const JobId job(wire::trim(packet->job_request().job_id()));
    if (job.empty()) co_return true;
    const auto known = co_await sweeps_.is_known(job);
    if (!known.applied()) co_return false;
    if (known.value()) co_return true;
    context_.ports.log.reached("submission_taken_from_the_stream");
    messages_.take(std::move(message));
    co_return true;
}

}  // namespace lockstep::engine
