#include "engine/reconcile/unheard_results.h"

#include <algorithm>

#include "engine/store/job_state.h"
#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "engine/wire/validation.h"

namespace lockstep::engine {

namespace {

/// The job that the message would end, by the rules of the result handler; nothing for any other message.
std::optional<JobId> ended_by(std::string_view payload) {
    const auto packet = wire::decode(payload);
    if (!packet || !packet->has_job_result()) return std::nullopt;
    const cap::JobResult& result = packet->job_result();
    if (wire::rejection(result) || !state_of_result(result.status())) return std::nullopt;
    return JobId(result.job_id());
}

}  // namespace

std::optional<UnheardResults::Stretch> UnheardResults::look(StreamSequence last_sequence,
                                                            const ConsumerState& consumer) {
    if (everybody_) return std::nullopt;
    if (consumer.waiting + consumer.in_hand == 0) {
        jobs_.clear();
        read_to_ = std::max(read_to_, last_sequence);
        return std::nullopt;
    }
    const Stretch stretch{std::max(consumer.ack_floor, read_to_).next(), last_sequence};
    read_to_ = std::max(read_to_, last_sequence);
    if (stretch.first > stretch.last) return std::nullopt;
    return stretch;
}

bool UnheardResults::found(StreamSequence sequence, std::string_view payload) {
    if (++read_ > kReadMax) {
        everybody_ = true;
        return false;
    }
    if (auto job = ended_by(payload)) {
        const auto [first, is_new] = jobs_.try_emplace(std::move(*job), sequence);
        if (!is_new) first->second = std::min(first->second, sequence);
    }
    return true;
}

std::optional<StreamSequence> UnheardResults::first_of(const JobId& job) const {
    const auto found = jobs_.find(job);
    return found == jobs_.end() ? std::nullopt : std::optional(found->second);
}

Overdue decide(bool may_be_unheard, Duration overdue_by, const Patience& patience) {
    if (!may_be_unheard) return Overdue::ends;
    if (overdue_by < patience.limit || patience.connected_for < patience.limit) return Overdue::waits;
    return Overdue::ends_unheard;
}

}  // namespace lockstep::engine
