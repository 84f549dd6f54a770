// What has become of the jobs so far: which were submitted, and the state of each as Redis has it, also after Redis has lost
// some of it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "fakes/redis/observer.h"
#include "sim/run/recorded_states.h"
#include "sim/run/result.h"
#include "sim/world/trace.h"

namespace lockstep::sim {

class JobTracker final : public EventObserver, public fakes::redis::KeyspaceObserver {
public:
    static constexpr fakes::EventKinds kWanted{fakes::EventKind::state, fakes::EventKind::submit};

    void on_event(const fakes::Event& event, Time now) override;
    void string_set(fakes::NodeId client, std::string_view key, const std::string* before, std::string_view after,
                    std::int64_t expires_before, std::int64_t expires_at) override;
    void hash_set(fakes::NodeId client, std::string_view key, std::string_view field, const std::string* before,
                  std::string_view after) override;
    void key_removed(fakes::NodeId client, std::string_view key, fakes::redis::Removal why,
                     const fakes::redis::Value& last, std::int64_t expires_at) override;
    void restored(const fakes::redis::Keyspace& now) override;

    /// Jobs that are still to come to an end: neither final nor waiting for an approval, nor forgotten.
    [[nodiscard]] std::size_t unfinished() const { return unfinished_; }
    /// Jobs that Redis knew and has lost. Nobody moves them on, unless a message about them comes once more.
    [[nodiscard]] std::size_t forgotten() const { return forgotten_; }
    /// Jobs by state; those that Redis does not know, not yet or no longer, under "". One whose record has outlived its time
    /// keeps its last state.
    [[nodiscard]] std::map<std::string, std::int64_t> states() const;
    /// The first by name that is in this state, or is not; empty: there is none.
    [[nodiscard]] std::string one_of(std::string_view state, bool in_it) const;
    /// Those that have ended otherwise than SUCCEEDED, and those that have not ended, with why as far as Redis says, by their names.
    [[nodiscard]] std::vector<JobEnd> bad_ends() const;
    /// Empty for a job that Redis does not know.
    [[nodiscard]] std::string state_of(std::string_view job) const;

private:
    struct Job {
        std::string state;
        std::string reason;     // why it failed, as its record says
        bool known = false;     // Redis has had a state of it
        bool expired = false;   // and its record has outlived its time
        bool declined = false;  // whoever submitted it was told that it was not taken
    };
    void enter(Job& job, std::string state);
    void count(const Job& job, int by);
    void read_again(const std::string& name, Job& job);

    RecordedStates recorded_;
    std::map<std::string, Job, std::less<>> jobs_;
    std::size_t unfinished_ = 0;
    std::size_t forgotten_ = 0;
};

}  // namespace lockstep::sim
