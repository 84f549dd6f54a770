#include "sim/page/thinning.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sim/explain/explanation.h"
#include "sim/page/event_family.h"

namespace lockstep::sim {

using Family = reports::Timeline::Family;

Thinning::Thinning(const History& history, const Causality& causality, const Violation* violation, std::size_t most)
    : history_(history), causality_(causality), kept_(history.events.size()), left_(most) {
    const std::size_t all = history.events.size();
    if (all <= most) {
        kept_.assign(all, true);
        return;
    }
    keep_lives();
    if (violation != nullptr) keep_violation(*violation);
    const std::size_t at =
        violation != nullptr && violation->fact.event > 0 ? std::min<std::size_t>(violation->fact.event, all) : all;
    keep_before(at, left_ / 2);
    keep_jobs();
    say();
}

void Thinning::keep(EventIndex event) {
    if (kept_[event] || left_ == 0) return;
    kept_[event] = true;
    --left_;
}

void Thinning::keep_lives() {
    for (EventIndex i = 0; i < kept_.size(); ++i) {
        const auto family = family_of(history_.events[i]);
        if (family == Family::life || family == Family::fault) keep(i);
    }
}

void Thinning::keep_violation(const Violation& violation) {
    const JobStory story(history_, causality_, story_of(violation, history_));
    for (const EventIndex event : story.events()) keep(event);
    const TextId job = history_.texts.find(violation.job);
    for (EventIndex i = 0; job != 0 && i < kept_.size(); ++i) {
        if (history_.events[i].job == job) keep(i);
    }
    job_ = violation.job;
}

void Thinning::keep_before(std::size_t end, std::size_t count) {
    for (std::size_t n = 0; n < count && end > 0; ++n) {
        keep(static_cast<EventIndex>(--end));
        ++before_;
    }
}

void Thinning::keep_jobs() {
    std::map<TextId, std::size_t> sizes;
    std::size_t all = 0;
    for (EventIndex i = 0; i < kept_.size(); ++i) {
        if (kept_[i] || history_.events[i].job == 0) continue;
        ++sizes[history_.events[i].job];
        ++all;
    }
    if (all == 0) return;
    every_ = std::max<std::size_t>(1, (all + left_) / std::max<std::size_t>(left_, 1));
    std::map<TextId, bool> chosen;
    std::size_t n = 0;
    for (const auto& [job, size] : sizes) chosen[job] = n++ % every_ == 0;
    for (EventIndex i = 0; i < kept_.size(); ++i) {
        const TextId job = history_.events[i].job;
        if (job != 0 && !kept_[i] && chosen[job]) keep(i);
    }
}

void Thinning::say() {
    const auto shown = std::ranges::count(kept_, true);
    notes_.push_back(
        fmt::format("This page holds {} of the {} events of the run: starts, crashes and faults{}, the {} events "
                    "{}, and of the "
                    "other jobs one in {}. Causes that are not on it end an arrow early. `lockstep explain --job "
                    "ID` tells of any job.",
                    shown, history_.events.size(), job_.empty() ? "" : ", all about job " + job_, before_,
                    job_.empty() ? "at the end" : "before the violation", every_));
}

}  // namespace lockstep::sim
