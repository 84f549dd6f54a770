// What the model knows of tries and their delays.
#include <algorithm>
#include <charconv>
#include <utility>

#include "sim/model/job_keys.h"
#include "sim/model/model.h"

namespace lockstep::sim {

namespace {

std::int64_t whole_number(std::string_view text) {
    std::int64_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

}  // namespace

TryRecord& Model::try_record(Job& job) {
    const auto known = std::ranges::find(tries_, &job, &std::pair<Job*, TryRecord>::first);
    if (known != tries_.end()) return known->second;
    TryRecord& made = tries_.emplace_back(&job, TryRecord{}).second;
    made.at = std::chrono::milliseconds{redis_ms_};
    return made;
}

void Model::note_try(Job& job, std::string_view field, const std::string* before, std::string_view after) {
    if (field == "ls_next_attempt_at") {
        job.tries.next = RedisTime(whole_number(after));
        try_record(job).next = job.tries.next;
    } else if (field == "safety_decision") {
        if (after == "THROTTLE") try_record(job).decision = TryRecord::Decision::throttle;
        if (after == "UNAVAILABLE") try_record(job).decision = TryRecord::Decision::unavailable;
    } else if (field == "ls_policy_timeouts") {
        try_record(job).timeouts = whole_number(after);
    } else if (field == "ls_last_cause") {
        try_record(job).has_cause |= !after.empty();
    } else if (field == "state") {
        TryRecord& record = try_record(job);
        job.tries.is_taken_back = before != nullptr && *before == "DISPATCHED" && after == "SCHEDULED";
        record.is_moved = true;
        record.is_taken_back = job.tries.is_taken_back;
        job.tries.failed.reset();
    } else if (field == "attempts") {
        count_attempt(job, before == nullptr ? 0 : whole_number(*before), whole_number(after));
    }
}

void Model::count_attempt(Job& job, std::int64_t before, std::int64_t after) {
    TryRecord& record = try_record(job);
    record.is_counted = true;
    // Those of a dispatch are written with its state.
    if (record.is_moved || after != before + 1) return;
    const bool has_counted = std::exchange(job.tries.is_taken_back, false);
    record.failed_before = job.tries.failed;
    record.failed = job.tries.failed =
        FailedTry{has_counted ? before - 1 : before, after, std::chrono::milliseconds{redis_ms_}, upcoming()};
}

void Model::note_tries(fakes::NodeId scheduler) {
    for (auto& [job, record] : tries_)
        if (scheduler.valid()) note(TryRecorded{}, scheduler, job, clock_.present()).record = record;
    tries_.clear();
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
