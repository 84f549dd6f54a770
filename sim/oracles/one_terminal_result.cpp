#include "sim/oracles/one_terminal_result.h"

#include <fmt/core.h>

#include "sim/oracles/job_keys.h"

namespace lockstep::sim {

void OneTerminalResult::hash_set(fakes::NodeId client, std::string_view key, std::string_view field,
                                 const std::string* before, std::string_view after) {
    const auto job = job_of_hash(key);
    if (!job) return;
    const bool is_state = field == "state";
    if (!is_state && field != "result_ptr" && field != "worker_id" && field != "failure_reason") return;
    const auto ended = ended_.find(*job);
    if (ended == ended_.end()) {
        if (is_state && is_final(after)) {
            exercise();
            ended_.emplace(*job, End{std::string(after), present()});
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

}  // namespace lockstep::sim
