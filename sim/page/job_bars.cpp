#include "sim/page/job_bars.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/store/job_state.h"

namespace lockstep::sim {

namespace {

using fakes::EventKind;
using fakes::When;
using reports::Timeline;

std::int64_t in_us(std::int64_t ns) { return ns / 1000; }

/// What a job in this state is doing with a worker; empty: nothing.
std::string_view work_in(engine::JobState state) {
    if (state == engine::JobState::dispatched) return "dispatched";
    return state == engine::JobState::running ? "running" : std::string_view{};
}

/// Puts `piece` in place of what stands in the stretches at that time; nothing is put where nothing stands.
void lay_over(std::vector<Timeline::Stretch>& stretches, const Timeline::Stretch& piece) {
    std::vector<Timeline::Stretch> made;
    for (const Timeline::Stretch& under : stretches) {
        const std::int64_t from = std::max(under.from_us, piece.from_us);
        const std::int64_t to = std::min(under.to_us, piece.to_us);
        if (from >= to) {
            made.push_back(under);
            continue;
        }
        if (under.from_us < from) made.push_back({under.what, under.from_us, from});
        made.push_back({piece.what, from, to});
        if (to < under.to_us) made.push_back({under.what, to, under.to_us});
    }
    stretches = std::move(made);
}

class JobGathering {
public:
    JobGathering(const History& history, const Causality& causality) : history_(history), causality_(causality) {}

    std::vector<Timeline::Job> gather() {
        for (EventIndex i = 0; i < history_.events.size(); ++i) add(i);
        const std::int64_t end = history_.events.empty() ? 0 : in_us(history_.events.back().ns);
        for (Found& found : found_) finish(found, end);
        std::vector<Timeline::Job> jobs;
        for (Found& found : found_) jobs.push_back(std::move(found.job));
        return jobs;
    }

private:
    struct Found {
        Timeline::Job job;
        std::vector<Timeline::Stretch> with_kernel;
        std::string at_worker;  // the stretch that is open; empty: none
        std::int64_t since_us = 0;
        bool ended = false;
    };

    void add(EventIndex index) {
        const HistoryEvent& event = history_.events[index];
        if (event.job == 0) return;
        if (event.kind == EventKind::submit) static_cast<void>(of(event));
        if (event.kind == EventKind::state) enter(of(event), history_.text(event.to), in_us(event.ns));
        if (event.kind == EventKind::kernel_check && event.when == When::before) ask(of(event), index);
    }

    Found& of(const HistoryEvent& event) {
        const auto [entry, is_new] = places_.try_emplace(event.job, found_.size());
        if (is_new) {
            Found& found = found_.emplace_back();
            found.job.id = history_.text(event.job);
            found.job.from_us = in_us(event.ns);
        }
        return found_[entry->second];
    }

    void enter(Found& found, const std::string& state, std::int64_t us) {
        leave_worker(found, us);
        found.job.state = state;
        const auto known = engine::parse_job_state(state);
        if (!known) return;
        if (*known == engine::JobState::dispatched) ++found.job.attempts;
        found.at_worker = work_in(*known);
        found.since_us = us;
        found.ended = engine::is_terminal(*known);
        if (found.ended) found.job.to_us = us;
    }

    static void leave_worker(Found& found, std::int64_t us) {
        if (!found.at_worker.empty() && us > found.since_us)
            found.job.stretches.push_back({found.at_worker, found.since_us, us});
        found.at_worker.clear();
    }

    /// A question that nobody answered ended with whoever asked it.
    void ask(Found& found, EventIndex index) {
        const EventIndex answer = causality_.call(index).answered;
        if (answer == kNoEvent) return;
        found.with_kernel.push_back({"policy", in_us(history_.events[index].ns), in_us(history_.events[answer].ns)});
    }

    void finish(Found& found, std::int64_t end) {
        leave_worker(found, end);
        if (!found.ended) found.job.to_us = end;
        std::vector<Timeline::Stretch> waits;
        if (const auto known = history_.waits.jobs.find(found.job.id); known != history_.waits.jobs.end())
            for (const JobWaits::Wait& wait : known->second)
                if (in_us(wait.from_ns) < in_us(wait.to_ns))
                    waits.push_back({wait.cause, in_us(wait.from_ns), in_us(wait.to_ns)});
        for (const Timeline::Stretch& question : found.with_kernel) lay_over(waits, question);
        auto& all = found.job.stretches;
        all.insert(all.end(), waits.begin(), waits.end());
        std::ranges::sort(all, {}, &Timeline::Stretch::from_us);
    }

    const History& history_;
    const Causality& causality_;
    std::vector<Found> found_;
    std::unordered_map<TextId, std::size_t> places_;  // never iterated
};

}  // namespace

void add_jobs(const History& history, const Causality& causality, Timeline& timeline) {
    timeline.jobs = JobGathering(history, causality).gather();
}

}  // namespace lockstep::sim
