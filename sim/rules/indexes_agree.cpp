// State hash, mirror, state index, tenant set, deadline index and event list of a job agree at rest, as far as the engine wrote them.
//
// 1. A gateway records its jobs outside the set of its tenant's active jobs: such a job joins that at its first transition.
// 2. An index has no time to live. It may list a job whose hash has expired, for job_meta_ttl from its last change and some ticks of the
//    reconciler, which removes such jobs. No scheduler removes a job from the index of its state while the job is known.
// 3. The event list is the sequence of the states that were written, from its beginning or, after a loss of data, from what was left of it.
// 4. A mirror exists as long as the hash, unless it expired first.
// 5. A deadline that a scheduler granted is listed under the same time. A gateway writes the two one after the other, and may die between.
// 6. A job that has ended waits nowhere and has no slot: neither lists nor its record say otherwise. One that a gateway ends is struck off
//    where somebody comes across it.
// 7. One command of a scheduler writes what belongs together: a state with its date, its count and its places in indexes, a dispatch with
//    its number, an end with its dead letter, and so on (sim/spec/record_moves.h).
// A job of which some of this was evicted is not judged.
#include <algorithm>

#include "fakes/redis/keyspace.h"
#include "sim/model/capacity_keys.h"
#include "sim/model/job_keys.h"
#include "sim/rules/rules.h"
#include "sim/spec/record_moves.h"
#include "sim/spec/unlisting.h"

namespace lockstep::sim::rules {

namespace {

using fakes::redis::Keyspace;

std::string names_of(const std::vector<State>& states) {
    std::vector<std::string_view> names;
    for (const State state : states) names.push_back(to_string(state));
    return fmt::format("{}", fmt::join(names, ", "));
}

/// 2
void known_job_stays_listed(const Unlisted& unlisted, const Model&, Verdict& verdict) {
    const Job& job = *unlisted.job;
    if (job.listings.is_in(unlisted.index)) return;
    verdict.exercised();
    verdict.require(job.state() != unlisted.index || job.is_torn, 0, "it is {} and known, and it is removed from {}",
                    to_string(job.state()), index_of(unlisted.index));
}

/// 7
void is_written_whole(const JobWritten& written, const Model&, Verdict& verdict) {
    const RecordChange& change = *written.change;
    if (change.job->lost.any() || change.job->is_torn) return;
    const std::string what = spec::left_out(change);
    verdict.cite("engine/store/redis-schema.md 3.2");
    verdict.require(what.empty(), 0, "a command writes part of its record, and leaves out {}", what);
}

void index_agrees(const Job& job, Verdict& verdict) {
    for (std::size_t i = 0; i < kStateIndexes.size(); ++i) {
        const State state = static_cast<State>(i);
        const bool listed = job.listings.is_in(state);
        verdict.require(index_of(state).empty() || listed == (state == job.in_hash), 0,
                        "its state is {} and it is {} {}", to_string(job.in_hash),
                        listed ? "listed in" : "missing from", index_of(state));
    }
}

/// 4
void mirror_agrees(const Job& job, Verdict& verdict) {
    if (job.listings.mirror_lost) return;
    verdict.require(job.in_mirror == job.in_hash || job.in_mirror == State::absent, 0,
                    "its hash says {} and job:state says {}", to_string(job.in_hash), to_string(job.in_mirror));
    verdict.require(job.in_mirror != State::absent, 0, "its hash says {} and job:state says nothing",
                    to_string(job.in_hash));
}

/// 3
void history_agrees(const Job& job, const Keyspace& keys, Verdict& verdict) {
    const std::vector<State> recorded =
        states_in_history(container_at<fakes::redis::List>(keys, fmt::format("{}{}", kHistoryPrefix, job.name)));
    const std::vector<State>& written = job.listings.history;
    // It was evicted or expired, and has got no entry since.
    if (recorded.empty() && written.empty()) return;
    const State last = recorded.empty() ? State::absent : recorded.back();
    verdict.require(last == job.in_hash, 0, "its state is {} and its history ends with {}", to_string(job.in_hash),
                    to_string(last));
    if (last != job.in_hash || recorded == written) return;
    verdict.require(false, 0, "it went through {}, and its history records {}", names_of(written), names_of(recorded));
}

/// 5
void deadline_agrees(const Job& job, const Keyspace& keys, Verdict& verdict) {
    const auto* listed = container_at<fakes::redis::SortedSet>(keys, kDeadlines);
    const double* score = listed == nullptr ? nullptr : listed->score(job.name);
    const std::string_view state = to_string(job.in_hash);
    verdict.require(!is_final(job.in_hash) || score == nullptr, 0, "it ended {} and its deadline is still listed",
                    state);
    if (score != nullptr && is_final(job.in_hash)) return;
    if (job.lost.any() || !job.listings.deadline_granted) return;
    const auto deadline = hash_field(keys, fmt::format("{}{}", kJobHashPrefix, job.name), "deadline_unix");
    if (!deadline) return;
    verdict.require(!is_final(job.in_hash) || job.stays.by_user, 0, "it ended {}, and its record still has a deadline",
                    state);
    if (is_final(job.in_hash)) return;
    verdict.require(score != nullptr, 0, "it is {}, is due by {}, and {} does not list it", state, *deadline,
                    kDeadlines);
    verdict.require(score == nullptr || fmt::format("{:.0f}", *score) == *deadline, 0,
                    "it is due by {}, and {} lists it for {:.0f}", *deadline, kDeadlines,
                    score == nullptr ? 0 : *score);
}

/// 1
void tenant_agrees(const Job& job, const Keyspace& keys, Verdict& verdict) {
    const std::string tenant = hash_field(keys, fmt::format("{}{}", kJobHashPrefix, job.name), "tenant").value_or("");
    const auto* active = container_at<fakes::redis::Set>(keys, fmt::format("job:tenant:active:{}", tenant));
    const bool counted = active != nullptr && active->contains(job.name);
    const bool by_engine = job.in_hash != State::pending && job.in_hash != State::approval_required;
    const bool is_owed = by_engine && !is_final(job.in_hash) && !tenant.empty();
    verdict.require(!counted || !is_final(job.in_hash), 0, "it ended {} and still counts as active for {}",
                    to_string(job.in_hash), tenant);
    verdict.require(counted || !is_owed, 0, "it is {} and does not count as active for {}", to_string(job.in_hash),
                    tenant);
}

/// 6
void keeps_no_place(const Job& job, const Keyspace& keys, Verdict& verdict) {
    if (!is_final(job.in_hash) || job.stays.by_user || job.lost.any()) return;
    const std::string key = fmt::format("{}{}", kJobHashPrefix, job.name);
    for (const std::string_view field :
         {"ls_waits_since", "ls_waits_limit", "ls_waits_token", "ls_queue", "ls_handed", "ls_result_first"}) {
        const auto kept = hash_field(keys, key, field);
        verdict.require(!kept || kept->empty(), 0, "it ended {}, and its record still has {} = {}",
                        to_string(job.in_hash), field, kept.value_or(""));
    }
}

/// Whether jobs stand there as long as they go on.
bool lists_open_jobs(std::string_view key) {
    if (key.starts_with("job:")) return lists_jobs(key) && state_of_index(key) == State::absent;
    return key.starts_with("lockstep:") &&
           (lists_jobs(key) || is_place_for_capacity(key) || key.starts_with(kWorkerSlots) ||
            key.starts_with(kCapacityWaitingOf) || key.starts_with(kCapacityQueue));
}

/// A gateway that has given the job to another tenant leaves its places in the queues of the former one.
bool is_of_former_tenant(const Job& job, std::string_view key) {
    const std::string_view former = job.request.former;
    if (former.empty() || key.starts_with(kWorkerSlots) || !key.ends_with(former)) return false;
    key.remove_suffix(former.size());
    return key.ends_with(':') || key.ends_with('.');
}

/// 6
void ended_are_listed_nowhere(const AllAtRest& rest, const Model& model, Verdict& verdict) {
    for (const std::string_view key : rest.redis->keys()) {
        if (!lists_open_jobs(key)) continue;
        for (const std::string_view name : jobs_listed(rest.redis->find(key)->value)) {
            const Job* job = model.find(name);
            verdict.about(job);
            verdict.require(job != nullptr, 0, "{} lists {}, and there is no such job", key, name);
            // Of the indexes of jobs see above.
            if (job == nullptr || job->stays.by_user || job->lost.any() || key.starts_with("job:")) continue;
            if (is_of_former_tenant(*job, key)) continue;
            verdict.require(!is_final(job->in_hash), 0, "it ended {}, and {} still lists it", to_string(job->in_hash),
                            key);
        }
    }
}

void records_agree(const AtRest& rest, const Model&, Verdict& verdict) {
    const Job& job = *rest.job;
    if (job.is_torn) return;
    if (job.in_hash != State::absent) {
        verdict.exercised();
        index_agrees(job, verdict);
        mirror_agrees(job, verdict);
        history_agrees(job, *rest.redis, verdict);
        deadline_agrees(job, *rest.redis, verdict);
        keeps_no_place(job, *rest.redis, verdict);
        return tenant_agrees(job, *rest.redis, verdict);
    }
    if (job.listings.has_expired) return;
    for (const std::string_view index : kStateIndexes)
        verdict.require(!job.listings.is_in(state_of_index(index)), 0, "{} lists it and it has no hash", index);
}

/// 2
void forgotten_are_removed(const AllAtRest& rest, const Model& model, Verdict& verdict,
                           const engine::Tunables& tunables) {
    verdict.cite("engine/delivery-semantics.md#keys-that-hold-something-else");
    const auto undisturbed = model.weather().lasts_for(model.now());
    for (const std::string_view index : kStateIndexes) {
        const auto* listed = container_at<fakes::redis::SortedSet>(*rest.redis, index);
        if (listed == nullptr || !is_final(state_of_index(index))) continue;
        const engine::Duration allowed = spec::until_removed(listed->ranking().size(), tunables);
        if (!undisturbed || *undisturbed < allowed) continue;
        for (const auto& entry : listed->ranking()) {
            const Job* job = model.find(entry.member);
            if (job == nullptr || !job->listings.forgotten_ms) continue;
            const auto last_change_ms = static_cast<std::int64_t>(entry.score / 1000);
            const std::int64_t since =
                std::max(last_change_ms + engine::to_millis(tunables.job_meta_ttl), *job->listings.forgotten_ms);
            verdict.about(job);
            verdict.exercised();
            verdict.require(model.redis_ms() - since <= engine::to_millis(allowed), 0,
                            "{} lists it, and it has not been known for {} ms", index, model.redis_ms() - since);
        }
    }
}

}  // namespace

void indexes_agree(Rules& rules, const engine::Tunables& tunables) {
    rules.add(known_job_stays_listed);
    rules.add(is_written_whole);
    rules.add(records_agree);
    rules.add(ended_are_listed_nowhere);
    rules.add<NodeChanged>([&tunables](const AllAtRest& rest, const Model& model, Verdict& verdict) {
        forgotten_are_removed(rest, model, verdict, tunables);
    });
}

}  // namespace lockstep::sim::rules
