#include "sim/oracles/one_terminal_result.h"

#include <fmt/core.h>

#include "sim/oracles/job_keys.h"

namespace lockstep::sim {

void OneTerminalResult::hash_set(fakes::NodeId client, std::string_view key, std::string_view field,
                                 const std::string* before, std::string_view after) {
    turns_.hash_set(key, field, after, upcoming());
    const auto job = job_of_hash(key);
    if (!job) return;
    const bool is_state = field == "state";
    if (!is_state && field != "result_ptr" && field != "worker_id" && field != "failure_reason") return;
    const auto ended = ended_.find(*job);
    if (ended == ended_.end()) {
        if (is_state && is_final(after)) {
            ended_.emplace(*job, End{std::string(after), present()});
            on_end(client, *job, after);
        }
        return;
    }
    const bool same = before != nullptr && *before == after;
    const bool quarantine = is_state && ended->second.state == "SUCCEEDED" && after == "OUTPUT_QUARANTINED";
    // A quarantine may swap or explain the output of the success that it takes back.
    const bool of_quarantine = !is_state && ended->second.state == "SUCCEEDED" && field != "worker_id";
    if (same || quarantine || of_quarantine) return;
    violated(client, *job,
             fmt::format("it ended {}, and then {} changed from \"{}\" to \"{}\"", ended->second.state, field,
                         before == nullptr ? "" : *before, after),
             ended->second.event);
}

void OneTerminalResult::on_end(fakes::NodeId client, std::string_view job, std::string_view state) {
    exercise();
    if (const auto overtaken = turns_.judge(client, job, state))
        violated(client, job,
                 fmt::format("its result number {} makes it {}, and number {}, which says otherwise, had been in hand "
                             "before and is not settled",
                             overtaken->later, state, overtaken->earlier),
                 overtaken->known_since);
}

void OneTerminalResult::key_removed(fakes::NodeId, std::string_view key, fakes::redis::Removal why,
                                    const fakes::redis::Value&, std::int64_t) {
    turns_.key_removed(key);
    data_lost_ |= why == fakes::redis::Removal::evicted;
    // A record that has outlived its time is not lost: whatever is still to come about the job must know that it ended. Once
    // data has been lost, the mark of the message that began the job may have been among it.
    const auto job = job_of_hash(key) ? job_of_hash(key) : job_of_state_key(key);
    const bool guarded = why == fakes::redis::Removal::expired && !data_lost_;
    if (!job || guarded || is_final(recorded_.of(*job))) return;
    const auto ended = ended_.find(*job);
    if (ended != ended_.end()) ended_.erase(ended);
}

void OneTerminalResult::restored(const fakes::redis::Keyspace& now) {
    turns_.restored(now);
    data_lost_ = true;
    std::erase_if(ended_, [this](const auto& end) { return !is_final(recorded_.of(end.first)); });
}

}  // namespace lockstep::sim
