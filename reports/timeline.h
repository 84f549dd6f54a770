// A run laid out for looking at: lanes, events with what caused them, bars with a beginning and an end. Plain data between
// the simulator, which knows runs, and the page, which knows browsers.
//
// Events are in the order of the run; parents and facts name them by position, kNone for none. Texts are kept once, at
// position 0 the empty one; in the text of an event the byte kJobMark stands for the name of its job.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::reports {

struct Timeline {
    static constexpr std::uint32_t kNone = UINT32_MAX;
    static constexpr char kJobMark = '\x01';

    /// How events are coloured.
    enum class Family : std::uint8_t { call, effect, answer, message, lock, state, life, fault, other };

    struct Event {
        std::uint64_t number = 0;  // in the run, from 1
        std::int64_t us = 0;       // virtual time since the start
        std::uint32_t lane = 0;
        Family family = Family::other;
        std::uint32_t what = 0;
        std::uint32_t job = 0;
        std::uint32_t thread = kNone;  // causes; all are earlier events
        std::uint32_t message = kNone;
        std::uint32_t trigger = kNone;
        std::uint32_t life = kNone;
        bool noise = false;  // what nearly nobody looks for: hidden until it is asked for
    };

    enum class Span : std::uint8_t { lock, ack_wait, fault, down, paused };
    struct Bar {
        Span span{};
        std::uint32_t lane = kNone;  // kNone = all of them
        std::int64_t from_us = 0;
        std::int64_t to_us = 0;
        std::uint32_t what = 0;
        std::uint32_t job = 0;
    };

    struct Clock {
        std::uint32_t lane = 0;
        std::int64_t us = 0;
        std::int64_t ahead_us = 0;  // of true time; a straight line up to the next sample
    };

    /// A step in one state, of one attempt: that it came to, of an attempt that is over; "pause" before the next one.
    struct Phase {
        std::string state;
        std::int64_t from_us = 0;
        std::int64_t to_us = 0;
    };
    struct Step {
        std::string key;
        std::string state;
        std::int64_t attempts = 0;
        std::vector<Phase> phases;
        std::vector<std::string> jobs;
    };
    struct Run {
        std::string id;
        std::string workflow;
        std::string state;
        std::int64_t from_us = 0;
        std::int64_t to_us = 0;
        std::vector<Step> steps;
    };

    /// Of a job: that it waited for one thing (a cause of reports/wait_causes.h), or "dispatched" or "running".
    struct Stretch {
        std::string what;
        std::int64_t from_us = 0;
        std::int64_t to_us = 0;
    };
    struct Job {
        std::string id;
        std::string state;  // the last one; empty: none was recorded
        std::int64_t attempts = 0;
        std::int64_t from_us = 0;
        std::int64_t to_us = 0;
        std::vector<Stretch> stretches;  // in the order of time; they do not overlap
    };

    /// A gap in which nothing happens: it is drawn as a narrow mark with its length.
    struct Fold {
        std::int64_t from_us = 0;
        std::int64_t to_us = 0;
    };
    /// What the page shows first.
    struct Opening {
        std::string what;  // "violation", "busiest minute" or the like
        std::int64_t from_us = 0;
        std::int64_t to_us = 0;
    };

    std::string program;  // that made it: name, version and commit
    std::string title;
    std::string subtitle;  // seed, digest and the like
    bool passed = false;
    std::vector<std::string> verdict;  // what was violated, line by line; empty when nothing was
    std::vector<std::string> notes;    // what the reader should know about this page
    std::string replay;                // the command that makes the run again
    std::uint32_t fact = kNone;        // the event at which it was found
    std::uint32_t earlier = kNone;     // the one that it contradicts
    std::uint32_t job = 0;             // the job concerned, a text
    std::uint64_t events_total = 0;    // of the run; `events` may be fewer
    std::int64_t end_us = 0;

    std::vector<std::string> lanes;  // from top to bottom
    std::vector<std::string> texts;
    std::vector<Event> events;
    std::vector<Bar> bars;
    std::vector<Clock> clocks;
    std::vector<Run> runs;  // of workflows
    std::vector<Job> jobs;
    std::vector<Fold> folds;  // in the order of time; they do not overlap
    Opening opens;
    /// For each of the two tables, that of the jobs and that of the events: what is beyond is left out, and said to be.
    std::size_t table_bytes_max = 400'000;
};

/// One self-contained page: no network, no other file. What comes from the run is inside compressed data, or escaped, so that no
/// name can break out into the markup. Workflow runs and jobs are tables that need no script; without scripts there is one of the
/// events, too.
[[nodiscard]] std::string timeline_page(const Timeline& timeline);

}  // namespace lockstep::reports
