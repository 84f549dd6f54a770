// A run written down while it happens: every event of the digest, small and without its payload, so that a million of them
// fit in memory. What explains a run (its causal order, its story, its page) is made from this and from nothing else.
//
// 1. Events are numbered from 1, in the order in which they were told: the number that users see, here index + 1.
// 2. Each text is kept once; its number stands in the event, 0 for none.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fakes/by_text.h"
#include "sim/explain/job_waits.h"
#include "sim/explain/run_log.h"
#include "sim/explain/sweeps.h"
#include "sim/scenario/topology.h"
#include "sim/world/node.h"
#include "sim/world/trace.h"

namespace lockstep::sim {

using TextId = std::uint32_t;

struct HistoryEvent {
    std::int64_t ns = 0;  // virtual time since the start of the run
    fakes::EventKind kind{};
    fakes::When when = fakes::When::applied;
    fakes::EventOutcome outcome = fakes::EventOutcome::none;
    bool flag = false;
    std::int16_t node = -1;
    std::int16_t peer = -1;
    TextId job = 0;  // of the event, or else of its packet
    TextId subject = 0;
    TextId command = 0;
    TextId script = 0;
    TextId key = 0;
    TextId name = 0;
    TextId from = 0;
    TextId to = 0;
    TextId stream = 0;
    TextId message_id = 0;
    TextId reply = 0;  // of Redis: its first word, or its error
    std::uint64_t sequence = 0;
    std::int64_t number = 0;
};

/// How far the wall clock of a node was ahead of true time. Between two samples a drift makes a straight line of it.
struct ClockSample {
    std::int64_t ns = 0;
    std::int16_t node = 0;
    std::int64_t offset_ns = 0;
};

class Texts {
public:
    Texts() { add(""); }
    TextId add(std::string_view text);
    /// 0 for a text that is not there.
    [[nodiscard]] TextId find(std::string_view text) const;
    [[nodiscard]] const std::string& operator[](TextId id) const { return texts_.at(id); }
    [[nodiscard]] std::size_t size() const { return texts_.size(); }

private:
    std::vector<std::string> texts_;
    fakes::ByText<TextId> ids_;
};

struct History {
    std::vector<std::string> nodes;  // by number
    std::vector<HistoryEvent> events;
    std::vector<ClockSample> clocks;
    Texts texts;
    SweepLog sweeps;
    RunLog workflow_runs;
    JobWaits waits;

    [[nodiscard]] const std::string& text(TextId id) const { return texts[id]; }
    /// "" for none.
    [[nodiscard]] std::string node_name(std::int16_t node) const;
    /// The node at which an event takes place: a call that takes effect does so on the server. -1 is the world itself.
    [[nodiscard]] static std::int16_t place_of(const HistoryEvent& event);
};

/// Of an answer in the protocol of Redis: what a person wants to see of it. Empty when that is too long, or not for people.
[[nodiscard]] std::string_view short_reply(std::string_view payload);

/// The server that a fault of this kind is about, such as Redis for "redis.oom"; -1 when it is not about one server.
[[nodiscard]] std::int16_t server_of_fault(std::string_view kind);

class HistoryRecorder final : public EventObserver {
public:
    /// Both must outlive the recorder's run.
    HistoryRecorder(const Topology& topology, const Nodes& nodes);

    void on_event(const fakes::Event& event, Time now) override;
    /// What was recorded; the recorder is empty then. `now`: the end of the run.
    [[nodiscard]] History take(Time now);

private:
    void sample_clocks(Time now);

    const Nodes& nodes_;
    History history_;
    bool sample_due_ = true;
};

}  // namespace lockstep::sim
