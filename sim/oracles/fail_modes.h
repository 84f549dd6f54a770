// fail_modes: where policy gives no answer, fail-open lets pass and marks, fail-closed withholds; of inputs and of outputs, by the
// mode that the replica had read (settings.md 5 and 6; C-08, C-16, C-19).
//
// 1. A mode that the operator has set at start stays; another one is what the settings say that the replica has read last, or else
//    the built-in one. Where the replica may have gone by one or the other, either is right; what was on its way when it went down
//    goes by what it had read until then.
// 2. Inputs: a job about which nobody has answered (`safety_decision` is UNAVAILABLE) goes on only with the mode open, then carries
//    the labels that say so and why; it is put off for it only with the mode closed. A gate is never let through. A job whose input
//    policy has not seen (`ls_input_unread`) goes on only with the mode open.
// 3. Outputs: a scan that is over without a verdict leaves the job as it is with the mode open. An output about which policy has not
//    said that it is to be withheld or redacted is withheld with the mode closed only. The mode decides once the scan has been tried
//    for as long as is promised, by whoever has claimed it (output_scans.h), and about the rest of an output of which policy has
//    seen a part. Of a job at work nobody has asked: who withholds its output has read the mode since it took the job up.
// 4. A success about whose output policy has been asked, and which policy has not withheld or redacted, is still to be scanned;
//    also where the question got no answer.
// 5. Messages: with `bus_guard_on_error` as `nak` no scheduler acknowledges a message of which no mark says in Redis that it has been
//    processed (wire.md 4).
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/config/pinned_settings.h"
#include "engine/config/tunables.h"
#include "sim/oracles/oracle.h"
#include "sim/oracles/output_scans.h"
#include "sim/oracles/policy_calls.h"
#include "sim/oracles/documented_settings.h"

namespace lockstep::sim {

class FailModes final : public Oracle {
public:
    static constexpr fakes::EventKinds kWanted =
        SettingsInForce::kWanted | OutputScans::kWanted |
        fakes::EventKinds{fakes::EventKind::redis,         fakes::EventKind::lock_acquired,
                          fakes::EventKind::lock_released, fakes::EventKind::output_check,
                          fakes::EventKind::publish,       fakes::EventKind::ack,
                          fakes::EventKind::kernel_check,  fakes::EventKind::node_down};
    FailModes(Judge& judge, const engine::Tunables& tunables, engine::PinnedSettings pinned)
        : Oracle(judge), tunables_(tunables), pinned_(pinned), scans_(tunables, told_at(), model().weather()) {}
    [[nodiscard]] std::string_view invariant() const override { return "fail_modes"; }
    void on_event(const fakes::Event& event, Time now) override;
    void string_set(fakes::NodeId client, std::string_view key, const std::string* before, std::string_view after,
                    std::int64_t expires_before, std::int64_t expires_at) override;
    void hash_set(fakes::NodeId client, std::string_view key, std::string_view field, const std::string* before,
                  std::string_view after) override;
    void hash_removed(fakes::NodeId client, std::string_view key, std::string_view field,
                      std::string_view before) override;
    void key_removed(fakes::NodeId client, std::string_view key, fakes::redis::Removal why,
                     const fakes::redis::Value& last, std::int64_t expires_at) override;
    void restored(const fakes::redis::Keyspace& now) override;
    void zset_set(fakes::NodeId client, std::string_view key, std::string_view member, const double* before,
                  double after) override;

private:
    using Place = std::pair<fakes::NodeId, std::string>;  // replica and job
    /// Which modes a replica may have gone by.
    struct Modes {
        bool open = false;
        bool closed = false;
    };
    /// What one command has done to one job so far.
    struct Change {
        fakes::NodeId replica;
        std::string job;
        bool unanswered = false;  // it records that policy has given no answer
        bool unread = false;      // or one without having seen the input
        bool tried = false;       // it counts a try
        bool put_off = false;
        bool scan_over = false;
        bool verdict = false;          // it records one on the output
        bool allowed_in_part = false;  // which passes what policy has seen of it
        bool marked = false;           // its output is still to be scanned
        bool from_work = false;        // it was DISPATCHED or RUNNING
        std::string state;
    };
    /// What a replica has heard of policy about the output of a job.
    struct Heard {
        Time since{};          // the last question
        bool against = false;  // an answer to one of them was not to let it pass
        bool redacts = false;  // the last answer was to redact it
        bool down = false;     // the replica has gone down since: only a call that was on its way goes by it
        EventNumber event = 0;
    };

    [[nodiscard]] Change& change(fakes::NodeId replica, std::string_view job);
    void settle(const Change& change);
    void settle_input(const Change& change);
    void settle_unread(const Change& change);
    void settle_output(const Change& change);
    void settle_success(const Change& change);
    void on_acknowledged(const fakes::Event& event);
    void on_publish(const fakes::Event& event);
    [[nodiscard]] Modes input_modes(fakes::NodeId replica, Time from) const;
    [[nodiscard]] Modes output_modes(fakes::NodeId replica, Time from) const;
    [[nodiscard]] Time since(const Place& place) const;

    const engine::Tunables& tunables_;
    engine::PinnedSettings pinned_;
    SettingsInForce settings_;
    OutputScans scans_;
    std::optional<Change> change_;
    std::set<std::string, std::less<>> marked_;  // messages that were marked as processed: stream and sequence
    std::map<Place, Time> begun_;                // when each took the job's lock, also who has gone down since
    std::vector<Place> released_;                // by the command that is being executed
    std::map<Place, Heard> outputs_;
    PolicyCalls calls_{tunables_};
    std::map<std::string, bool, std::less<>> gates_;      // jobs whose topic is known: is it a gate's?
    std::map<std::string, Time, std::less<>> succeeded_;  // when each came to wait for the scan of its output
    const Time& now_ = told_at();
};

}  // namespace lockstep::sim
