// What the model knows of tries and their delays.
#include <utility>

#include "sim/model/job_keys.h"
#include "sim/model/model.h"

namespace lockstep::sim {

void Model::note_try(fakes::NodeId client, Job& job, std::string_view field, const std::string* before,
                     std::string_view after) {
    if (field == "ls_next_attempt_at") {
        job.tries.next = RedisTime(whole_number(after));
    } else if (field == "state") {
        job.tries.is_taken_back = before != nullptr && *before == "DISPATCHED" && after == "SCHEDULED";
        job.tries.failed.reset();
    } else if (field == "attempts") {
        count_attempt(client, job, before == nullptr ? 0 : whole_number(*before), whole_number(after));
    }
}

void Model::count_attempt(fakes::NodeId client, Job& job, std::int64_t before, std::int64_t after) {
    RecordChange* const change = is_written_by_scheduler(client) ? &change_of(job) : nullptr;
    if (change != nullptr) change->is_recounted = before != after;
    // Those of a dispatch are written with its state.
    const bool is_moved = change != nullptr && change->has("state");
    if (is_moved || after != before + 1) return;
    const bool has_counted = std::exchange(job.tries.is_taken_back, false);
    const auto former = std::exchange(job.tries.failed, FailedTry{has_counted ? before - 1 : before, after,
                                                                  std::chrono::milliseconds{redis_ms_}, upcoming()});
    if (change == nullptr) return;
    change->failed_before = former;
    change->failed = job.tries.failed;
}

void Model::restore_tries(Job& job, const fakes::redis::Keyspace& now, std::string_view key) {
    job.tries.next = RedisTime(whole_number(hash_field(now, key, "ls_next_attempt_at").value_or("")));
    const bool is_kept =
        job.tries.failed && whole_number(hash_field(now, key, "attempts").value_or("")) == job.tries.failed->attempts;
    if (is_kept) return;
    job.tries.failed.reset();
    job.tries.hash_lost = clock_.present();
}

}  // namespace lockstep::sim
