// Which jobs are sent out, and to whom, as Redis has it: those that are DISPATCHED or RUNNING, and the worker that the dispatch
// names. It says whose result counts (engine/delivery-semantics.md, "Whose word counts").
//
// It belongs to the table of jobs, which passes on what it hears, once the recorded states have been told of it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "sim/oracles/recorded_states.h"
#include "sim/world/trace.h"

namespace lockstep::sim {

class SentOut {
public:
    explicit SentOut(const RecordedStates& states) : states_(states) {}

    // `event`: the number of the present one, or of the one that belongs to the change.
    void string_set(std::string_view key, EventNumber event);
    void hash_set(std::string_view key, std::string_view field, std::string_view after, EventNumber event);
    void hash_removed(std::string_view key, std::string_view field, EventNumber event);
    void key_removed(std::string_view key, EventNumber event);
    void restored(const fakes::redis::Keyspace& now, EventNumber event);

    /// Whether a job in this state is sent out.
    [[nodiscard]] static constexpr bool at_work(std::string_view state) {
        return state == "DISPATCHED" || state == "RUNNING";
    }
    [[nodiscard]] bool is_out(std::string_view job) const;
    /// To whom it was sent; empty: nobody knows, and anybody is believed.
    [[nodiscard]] std::string worker_of(std::string_view job) const;
    /// Whether a result in this worker's name counts now, where settings have those of any worker count or not.
    [[nodiscard]] bool believes(std::string_view job, std::string_view worker, bool any_worker) const;
    /// Since which event that has not changed.
    [[nodiscard]] EventNumber since(std::string_view job) const;

private:
    struct Dispatch {
        std::string worker;
        bool out = false;
        EventNumber since = 0;
    };
    void look_again(std::string_view job, EventNumber event);
    void name(std::string_view job, std::string_view worker, EventNumber event);

    const RecordedStates& states_;
    std::map<std::string, Dispatch, std::less<>> dispatches_;
};

}  // namespace lockstep::sim
