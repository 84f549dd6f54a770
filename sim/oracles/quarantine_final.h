// quarantine_final: an output that policy quarantined is never SUCCEEDED at the end, one that it wants redacted only with the
// redacted pointer, under which the redacted output has been stored, and what is recorded of policy's word agrees with the state. Policy's word on a job is the answer to the latest question about it. It is open again when it is
// asked anew, when a result that could not be recorded is handled anew, and when who asked dies before recording the answer.
#pragma once

#include <map>
#include <set>
#include <string>

#include "sim/oracles/oracle.h"

namespace lockstep::sim {

class QuarantineFinal final : public Oracle {
public:
    static constexpr fakes::EventKinds kWanted =
        fakes::EventKinds{fakes::EventKind::output_check, fakes::EventKind::state, fakes::EventKind::lock_acquired,
                          fakes::EventKind::node_down};
    using Oracle::Oracle;
    [[nodiscard]] std::string_view invariant() const override { return "quarantine_final"; }
    /// Somebody has still to record what was said against an output.
    [[nodiscard]] bool waits() const override { return !kept_.empty(); }
    void on_event(const fakes::Event& event, Time now) override;
    void string_set(fakes::NodeId client, std::string_view key, const std::string* before, std::string_view after,
                    std::int64_t expires_before, std::int64_t expires_at) override;
    void hash_set(fakes::NodeId client, std::string_view key, std::string_view field, const std::string* before,
                  std::string_view after) override;
    void at_rest(const RestView& view) override;

private:
    struct Question {
        fakes::NodeId asker;
        std::string answer;     // empty until there is one
        EventNumber event = 0;  // the last of question and answer
        bool after_success = false;
    };
    struct Kept {
        fakes::NodeId by;
        EventNumber event = 0;
    };
    void on_check(const fakes::Event& event);

    std::map<std::string, Question, std::less<>> latest_;  // by job
    std::map<std::string, Kept, std::less<>> kept_;        // words against outputs that nobody has recorded, by job
    std::set<std::string, std::less<>> succeeded_;         // jobs that have been SUCCEEDED
    std::set<std::string, std::less<>> replacements_;      // keys of redacted outputs that have been stored
};

}  // namespace lockstep::sim
