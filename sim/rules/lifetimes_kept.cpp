// What a scheduler writes lives as long as it is documented to, neither shorter nor for ever.
//
// 1. A string that is set, and a key that is given an expiry, expires when the documents say so. What is documented to live for ever is
//    given none.
// 2. A set, a list or a hash that is made has an expiry when the command is over; where the documents say that the write renews it, it
//    is the full one.
// 3. No write takes the expiry of a key away, whatever the key is for; save those of a workflow run that a gateway has taken back from
//    its end: what is kept of it has an expiry again when it ends.
// 4. A job's state and request do not run out before its hash, nor, when the job changes its state, its result pointer.
//
// Judged as each command ends: a script may put right what it has left out at first. What gateways and operators write is theirs, and
// an expiry that they have given a record of a job stands until the time that schedulers have noted (redis-schema.md 1, `ls_kept`).
#include <memory>
#include <optional>

#include "fakes/redis/keyspace_events.h"
#include "sim/model/job_keys.h"
#include "sim/model/recent_texts.h"
#include "sim/model/run_document.h"
#include "sim/rules/rules.h"
#include "sim/spec/lifetimes.h"

namespace lockstep::sim::rules {

namespace {

using fakes::redis::kNever;
using spec::Lifetime;

/// A real server tells a time that is a little later than the one that it counts from.
std::int64_t tolerance_of(std::int64_t life) { return life / 64 + 20; }

bool is_kept_of_an_open_run(std::string_view key, const Model& model) {
    constexpr std::string_view kOfRuns = "lockstep:wf:";
    if (!key.starts_with(kOfRuns)) return false;
    const std::size_t colon = key.find(':', kOfRuns.size());
    const WorkflowRun* run = colon == std::string_view::npos ? nullptr : model.runs().find(key.substr(colon + 1));
    return run != nullptr && run->document != nullptr && !is_run_over(member_text(*run->document, "status"));
}

void has_its_life(const WrittenKey& key, const Lifetime& life, std::int64_t now_ms, const Model& model,
                  Verdict& verdict) {
    if (life.for_ever)
        return verdict.require(key.expires_at == kNever, 0, "{} is to be kept for ever, and was given an expiry",
                               key.key);
    if (key.expires_at == kNever) {
        const bool lost = key.expires_before != kNever && !is_kept_of_an_open_run(key.key, model);
        verdict.require(!lost, 0, "{} had an expiry, and was left without one", key.key);
        const bool is_due = !life.optional && (key.made || key.renewed) && key.expires_before == kNever;
        return verdict.require(!is_due, 0, "{} is not to be kept for ever, and was given no expiry", key.key);
    }
    if (!key.renewed || key.given_by_others) return;
    const std::int64_t lives = key.expires_at - now_ms;
    verdict.require(lives >= life.least - tolerance_of(life.least), 0, "{} is to live for {} ms, and was given {} ms",
                    key.key, life.least, lives);
    const bool too_long = life.most != Lifetime::kAny && lives > life.most + tolerance_of(life.most);
    verdict.require(!too_long, 0, "{} is to live for no longer than {} ms, and was given {} ms", key.key, life.most,
                    lives);
}

void run_out_together(const WrittenKey& hash, const KeyLives& lives, std::string_view job, Verdict& verdict) {
    for (const std::string_view prefix : {kJobStatePrefix, kRequestPrefix, kResultPointerPrefix}) {
        if (prefix == kResultPointerPrefix && !hash.moved) continue;
        const std::string key = std::string(prefix) + std::string(job);
        const KeyLives::Expiry* other = lives.find(key);
        if (other == nullptr || other->at == kNever || other->given_by_others) continue;
        verdict.require(other->at + tolerance_of(hash.expires_at - lives.now_ms()) >= hash.expires_at, 0,
                        "{} runs out {} ms before {}, which was renewed", key, hash.expires_at - other->at, hash.key);
    }
}

/// What the documents say of the keys that were looked at last.
struct Documented {
    explicit Documented(const TunablesInForce& tunables) : lifetimes(tunables) {}

    const Lifetime* of(const WrittenKey& key) {
        if (!key.text.empty()) return lifetimes.of(key.key, key.text);
        return recent.of(key.key, [this](std::string_view asked) { return lifetimes.of(asked); });
    }

    spec::Lifetimes lifetimes;
    RecentTexts<const Lifetime*, 512> recent;
};

void live_as_documented(const KeysWritten& written, Documented& documented, const Model& model, Verdict& verdict) {
    const KeyLives& lives = *written.lives;
    for (const WrittenKey& key : lives.written()) {
        // Of a service that stands beside the schedulers in simulated clusters only.
        if (key.key.starts_with(kReadResultsPrefix)) continue;
        const Lifetime* life = documented.of(key);
        verdict.about(model.find(fakes::redis::job_of_key(key.key)));
        verdict.exercised(life == nullptr || !life->for_ever);
        if (life == nullptr) verdict.cite("engine/store/redis-schema.md 12");
        verdict.require(life != nullptr, 0, "{} is of no kind that redis-schema.md 12 names", key.key);
        if (life != nullptr) has_its_life(key, *life, lives.now_ms(), model, verdict);
    }
    for (const WrittenKey& key : lives.written()) {
        const auto job = job_of_hash(key.key);
        if (!job || !key.renewed || key.given_by_others || key.expires_at == kNever) continue;
        verdict.about(model.find(*job));
        run_out_together(key, lives, *job, verdict);
    }
}

}  // namespace

void lifetimes_kept(Rules& rules, const engine::Tunables& /*tunables*/) {
    rules.add([documented = std::shared_ptr<Documented>()](const KeysWritten& written, const Model& model,
                                                           Verdict& verdict) mutable {
        if (!documented) documented = std::make_shared<Documented>(model.tunables());
        live_as_documented(written, *documented, model, verdict);
    });
}

}  // namespace lockstep::sim::rules
