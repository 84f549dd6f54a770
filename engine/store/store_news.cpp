#include "engine/store/store_news.h"

#include "engine/store/replies.h"

namespace lockstep::engine {

namespace {

/// Between two lines about the same key of a wrong type.
constexpr Duration kSayAgainAfter = std::chrono::minutes{1};
/// Such keys that are remembered as having been told of; beyond it some are told of again.
constexpr std::size_t kSaidMax = 1'000;

}  // namespace

void StoreNews::tell_of_woken(const RedisValue& jobs) {
    if (listener_ == nullptr) return;
    for (std::string& job : texts(jobs)) listener_->wake(JobId(std::move(job)));
}

void StoreNews::tell_of_freed(const RedisValue& workers) {
    if (slots_ == nullptr) return;
    const auto* found = workers.array();
    for (std::size_t i = 0; found != nullptr && i + 1 < found->size(); i += 2)
        slots_->freed(WorkerId(std::string((*found)[i].text())), (*found)[i + 1].integer_or(0));
}

void StoreNews::tell_of_wrong_typed(const RedisValue& keys) {
    for (const std::string& key : texts(keys)) tell_of_wrong_typed(key);
}

void StoreNews::tell_of_wrong_typed(const std::string& key) {
    if (log_ == nullptr) return;
    metrics_->add(Metric::wrong_typed_keys);
    const MonoTime now = clock_.monotonic();
    const auto said = said_at_.find(key);
    if (said != said_at_.end() && now - said->second < kSayAgainAfter) return;
    if (said_at_.size() >= kSaidMax) said_at_.clear();
    said_at_.insert_or_assign(key, now);
    log_->reached("wrong_typed_key");
    log_->event(LogLevel::error, "key of another type: what belongs there is left out, the job goes on",
                {{"key", key}, {"way_out", "see what it is with TYPE, then RENAME or DEL it: it is begun anew"}});
}

}  // namespace lockstep::engine
