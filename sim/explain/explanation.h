// A recorded run told to a person: a violation and its circumstances, and the story of one job as text. Lines carry the
// numbers of events, which `replay --until` and the page understand, too.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reports/run_report.h"
#include "sim/explain/causality.h"

namespace lockstep::sim {

/// What the event says, in a few words, without its number, time and place. A job that is known anyway is not named.
[[nodiscard]] std::string describe(const History& history, EventIndex event, TextId known_job = 0);

/// Completes what a rule knew of an event, its number, by time, place and words. An unknown number is left as it is.
void complete(reports::Fact& fact, const History& history);

/// Who held the lock of the job up to this event, what the clocks of those concerned said, and which faults were in force: one
/// line each. The job may be empty.
[[nodiscard]] std::vector<std::string> circumstances(const History& history, std::string_view job, EventIndex at);

/// What a story is told of.
struct StoryChoice {
    std::string job;                // empty = no single one
    std::vector<EventIndex> roots;  // only what led to them; empty = all about the job
    bool other_jobs = false;        // also what led to them by way of other jobs
};

class JobStory {
public:
    JobStory(const History& history, const Causality& causality, const StoryChoice& choice);

    [[nodiscard]] bool empty() const { return events_.empty(); }
    /// One line per event, or call, oldest first.
    [[nodiscard]] std::vector<std::string> by_time() const;
    /// The same below the name of each node, where things happened.
    [[nodiscard]] std::vector<std::string> by_node() const;
    [[nodiscard]] const std::vector<EventIndex>& events() const { return events_; }

private:
    void choose(const StoryChoice& choice);
    [[nodiscard]] bool has_line(EventIndex event) const;
    [[nodiscard]] bool is_script_sent_anew(EventIndex call) const;
    [[nodiscard]] std::string line(EventIndex event, bool with_place) const;
    [[nodiscard]] std::string fate(EventIndex call) const;

    const History& history_;
    const Causality& causality_;
    std::vector<EventIndex> events_;
    std::vector<bool> chosen_;
    TextId job_ = 0;
    std::size_t name_width_ = 0;
};

/// Fills in the facts, the circumstances and the story of a violation that a run with this history came to.
void explain_violation(reports::Violation& violation, const History& history, const Causality& causality);

/// The story's roots for a violation: its two facts and, of a job that is judged when all is over, whatever it came to last.
[[nodiscard]] StoryChoice story_of(const reports::Violation& violation, const History& history);

/// "12.345678s" of nanoseconds.
[[nodiscard]] std::string seconds_text(std::int64_t ns);

}  // namespace lockstep::sim
