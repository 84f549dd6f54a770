#include "sim/measure/server_load.h"

#include <algorithm>
#include <chrono>

namespace lockstep::sim {

namespace {

constexpr Duration kHerdWindow = std::chrono::seconds{1};

/// The most of these instants, which are in order, within one window.
std::size_t most_at_once(const std::vector<Time>& instants) {
    std::size_t most = 0;
    for (std::size_t first = 0, last = 0; last < instants.size(); ++last) {
        while (instants[last] - instants[first] >= kHerdWindow) ++first;
        most = std::max(most, last - first + 1);
    }
    return most;
}

}  // namespace

void ServerLoad::on_event(const fakes::Event& event, Time now) {
    using fakes::EventKind;
    using fakes::When;
    switch (event.kind) {
        case EventKind::redis:
            if (event.when == When::before) {
                ++commands_;
                bytes_ += event.payload.size();
            } else if (event.when == When::applied) {
                bytes_ += event.payload.size();  // the reply
            }
            return;
        case EventKind::kernel_check:
            if (event.when == When::answered) on_answer_of_policy(event);
            [[fallthrough]];
        case EventKind::output_check: questions_ += event.when == When::before ? 1 : 0; return;
        case EventKind::nak: naks_ += event.when == When::applied ? 1 : 0; return;
        case EventKind::deliver:
            if (event.number > 1) again_.push_back(now);
            return;
        default: return;
    }
}

void ServerLoad::on_answer_of_policy(const fakes::Event& event) {
    std::uint64_t& in_a_row = unanswered_in_a_row_[std::to_string(event.node.value)];
    const bool answered = event.outcome == fakes::EventOutcome::applied && !event.to.starts_with("status");
    in_a_row = answered ? 0 : in_a_row + 1;
    longest_unanswered_ = std::max(longest_unanswered_, in_a_row);
}

void ServerLoad::report(MeasuredRun& run, std::uint64_t jobs, Time end, std::size_t steps) const {
    const auto per_job = [jobs](std::uint64_t count) {
        return static_cast<double>(count) / static_cast<double>(std::max<std::uint64_t>(jobs, 1));
    };
    run.values["redis_commands_per_job"] = per_job(commands_);
    run.values["redis_bytes_per_job"] = per_job(bytes_);
    run.values["policy_questions_per_job"] = per_job(questions_);
    run.values["naks"] = static_cast<double>(naks_);
    run.values["redeliveries"] = static_cast<double>(again_.size());
    run.values["herd_peak"] = static_cast<double>(most_at_once(again_));
    run.values["policy_unanswered_in_a_row"] = static_cast<double>(longest_unanswered_);
    run.retries.assign(steps, 0);
    const std::int64_t whole = std::max<std::int64_t>(end.time_since_epoch().count(), 1);
    for (const Time at : again_) {
        const auto step = static_cast<std::size_t>(static_cast<__int128>(at.time_since_epoch().count()) *
                                                   static_cast<__int128>(steps) / whole);
        ++run.retries[std::min(step, steps - 1)];
    }
}

}  // namespace lockstep::sim
