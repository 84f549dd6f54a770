// The timeouts document: how long jobs may stay where they are, by topic, by workflow and otherwise (settings.md 3; C-24, C-24b).
// One reader for timeouts.yaml, turned into JSON, and for what the configuration service holds.
//
// What a value means (the wire protocol's other implementations parse topics and workflows and enforce neither):
//   topics.T.dispatch_timeout        longest stay in DISPATCHED
//   topics.T.timeout_seconds         longest stay in RUNNING; also spelt execution_timeout
//   workflows.W.child_timeout_seconds  longest stay in RUNNING of a job of the workflow; also spelt step_timeout
//   workflows.W.total_timeout_seconds  how long a job of the workflow may live from when it is taken up; also spelt run_timeout
//   *.max_retries                    how often a job may be dispatched again
//   reconciler.*                     what holds where neither topic nor workflow says anything
// Where topic and workflow both speak, the stricter one holds. Zero says nothing.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "engine/config/pinned_settings.h"
#include "engine/config/pools.h"
#include "engine/config/tunables.h"

namespace lockstep::engine {

/// Zero in each of these: not given.
struct TopicTimeouts {
    Duration dispatch{};
    Duration running{};
    std::int64_t max_retries = 0;
    friend bool operator==(const TopicTimeouts&, const TopicTimeouts&) = default;
};
struct WorkflowTimeouts {
    Duration child{};
    Duration total{};
    std::int64_t max_retries = 0;
    friend bool operator==(const WorkflowTimeouts&, const WorkflowTimeouts&) = default;
};
struct ReconcilerTimeouts {
    bool given = false;  // there is such a block
    Duration dispatch{};
    Duration running{};
    Duration scan_interval{};
    friend bool operator==(const ReconcilerTimeouts&, const ReconcilerTimeouts&) = default;
};

struct Timeouts {
    ReconcilerTimeouts reconciler;  // as written
    std::map<std::string, TopicTimeouts, std::less<>> topics;
    std::map<std::string, WorkflowTimeouts, std::less<>> workflows;
    friend bool operator==(const Timeouts&, const Timeouts&) = default;
};

/// The limits that a block means: 300, 900 and 30 s wherever it says nothing or zero (D-10).
[[nodiscard]] ReconcilerTimeouts with_fallbacks(const ReconcilerTimeouts& written);
/// Sets the tunables that a start-up file's reconciler block speaks of, except those that are pinned; without a block nothing changes.
void apply_limits(const Timeouts& timeouts, const PinnedSettings& pinned, Tunables& tunables);

/// `*_seconds` keys hold whole numbers; the others hold durations such as "90s", or whole seconds. Capitalised legacy names
/// (`Topics`, `TimeoutSeconds` ...) are read too. Unknown keys and wrong types are errors; all of them are reported.
[[nodiscard]] tl::expected<Timeouts, std::vector<DocumentError>> parse_timeouts(std::string_view json_text);

/// The document as every reader of the configuration service knows it, in canonical JSON, with the members that the
/// reference writes: `topics` and `workflows` even when empty, and every field of an entry, zeros included (D-12).
/// Other implementations reject further names, so a topic's DISPATCHED limit has no place in it; times are rounded up to
/// whole seconds. A reconciler block that says nothing is left out.
[[nodiscard]] std::string stored_form(const Timeouts& timeouts);

}  // namespace lockstep::engine
