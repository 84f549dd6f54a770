// The workflow runs that Redis has: their documents, each parsed once, and the definitions by which they go on.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "fakes/redis/keyspace.h"
#include "fakes/redis/observer.h"
#include "sim/model/causes.h"
#include "sim/model/names.h"

namespace lockstep::sim {

struct Job;

/// Null: there is none. What cannot be parsed is a discarded document.
using JsonDocument = std::shared_ptr<const nlohmann::json>;

/// What engines keep beside the document of a run (redis-schema.md 11).
struct RunTables {
    std::map<std::string, std::string, std::less<>> open;  // jobs that it waits for, with their steps
    std::map<std::string, std::int64_t, std::less<>> due;  // steps that are due by themselves, by milliseconds
    bool is_asked = false;                                 // it stands among those to be visited
    bool is_known = true;                                  // nothing of it was lost, evicted or put back
};

struct WorkflowRun {
    std::string name;
    JsonDocument document;    // as Redis has it
    JsonDocument before;      // as it was before it was last written
    EventNumber written = 0;  // last
    RunTables kept;
    std::vector<JsonDocument> told;                           // by its timeline, since then
    std::map<std::string, std::int64_t, std::less<>> listed;  // the second of its last change, by list: wf:runs:<list>
    EventNumber lost = 0;      // when Redis last lost data of this run, or that all runs share; 0: never, and so below
    EventNumber restored = 0;  // when that was the whole of its latest data
    EventNumber cut_off = 0;   // when NATS lost what only it knew
    Time lock_expired{};       // last
    Handling handling;         // by the mark of the visit that has it in hand
    std::vector<Job*> asked_for;  // whose submissions it has asked for
};

class WorkflowRuns {
public:
    /// In the order in which they were first written; addresses are stable for a run of the simulator.
    [[nodiscard]] const std::deque<WorkflowRun>& all() const { return runs_; }
    [[nodiscard]] bool any() const { return !runs_.empty(); }
    /// Null: it was never written.
    [[nodiscard]] WorkflowRun* find(std::string_view name) const;
    /// Some run is a step of this one, `<run>.<step>...`.
    [[nodiscard]] bool has_begun_another(std::string_view run) const;
    /// The one that the run began with; until that is kept, the one that its workflow has; null where there is none.
    [[nodiscard]] JsonDocument definition_of(const WorkflowRun& run) const;

    /// Makes it if it is new.
    WorkflowRun& run(std::string_view name);
    void note_mark(std::string_view key, std::string_view mark);
    void key_removed(std::string_view key, fakes::redis::Removal why);
    /// A field or a member of what is kept beside a run was written; nothing: taken away.
    void note_job(std::string_view key, std::string_view job, std::optional<std::string_view> step);
    void note_member(std::string_view key, std::string_view member, std::optional<double> score);
    /// False for a key that holds no definition.
    bool note_definition(std::string_view key, std::string_view value);
    /// What the job of a step has given, where it is kept for readers.
    void note_result(std::string_view key, std::string_view text);
    /// All that has stood there, each once; null: nothing, more than is kept, or Redis has lost some.
    [[nodiscard]] const std::vector<std::string>* results_at(std::string_view key) const;
    /// What is to be sent for a run, a packet.
    void note_outbox(std::string_view packet) { outboxes_.insert(std::hash<std::string_view>{}(packet)); }
    [[nodiscard]] bool was_in_outbox(std::string_view packet) const {
        return outboxes_.contains(std::hash<std::string_view>{}(packet));
    }
    void lose_some(EventNumber present);
    void restored(const fakes::redis::Keyspace& now, EventNumber present);
    void cut_off(EventNumber present);

private:
    /// Of a key that begins like this; null: of none.
    [[nodiscard]] WorkflowRun* run_behind(std::string_view prefix, std::string_view key) const;

    using Definitions = std::map<std::string, JsonDocument, std::less<>>;

    std::deque<WorkflowRun> runs_;
    std::map<std::string_view, WorkflowRun*> by_name_;
    Definitions of_workflows_, of_runs_;
    std::map<std::string, std::vector<std::string>, std::less<>> results_;  // empty: too many, too long, or lost
    std::unordered_set<std::size_t> outboxes_;                              // digests of all that was in one
};

}  // namespace lockstep::sim
