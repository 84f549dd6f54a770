#include "fakes/nats/stream_model.h"

#include <algorithm>
#include <utility>

#include "engine/wire/subjects.h"
#include "fakes/nats/subject.h"

namespace lockstep::fakes {

std::vector<StreamConfig> cap_streams(engine::Duration max_age) {
    return {StreamConfig{.name = std::string(engine::wire::kStreamSys), .subjects = {"sys.>"}, .max_age = max_age},
            StreamConfig{.name = std::string(engine::wire::kStreamJobs),
                         .subjects = {"job.>", "worker.*.jobs"},
                         .max_age = max_age}};
}

bool StreamModel::Filter::matches(std::string_view subject) const {
    if (log_ != nullptr) return pattern_ == subject;
    return pattern_.empty() || subject_matches(pattern_, subject);
}

bool StreamModel::binds(std::string_view subject) const {
    return std::any_of(config_.subjects.begin(), config_.subjects.end(),
                       [subject](const std::string& pattern) { return subject_matches(pattern, subject); });
}

StreamModel::Ack StreamModel::publish(MessagePtr message, engine::MonoTime now) {
    expire(now);
    // The server looks for a duplicate before it looks at its limits: a full stream still knows what it holds.
    if (!message->message_id.empty()) {
        rebuild_ids(now);
        forget_old_ids(now);
        const auto known = sequence_of_id_.find(message->message_id);
        if (known != sequence_of_id_.end()) return Ack{.sequence = known->second, .duplicate = true};
    }
    if (config_.max_messages != 0 && messages_.size() >= config_.max_messages) {
        return Ack{.error = "maximum messages exceeded"};
    }
    SubjectLog& log = logs_.try_emplace(message->subject).first->second;
    const Stored& stored = messages_.emplace_back(Stored{next_sequence_, now, std::move(message), &log});
    log.push_back(stored.sequence);
    remember_id(stored);
    return Ack{.sequence = next_sequence_++};
}

StreamModel::Filter StreamModel::filter(std::string pattern) {
    Filter made;
    if (!pattern.empty() && !has_wildcard(pattern)) made.log_ = &logs_.try_emplace(pattern).first->second;
    made.pattern_ = std::move(pattern);
    return made;
}

const StreamModel::Stored* StreamModel::next(const Filter& filter, std::uint64_t from, engine::MonoTime now) {
    expire(now);
    if (filter.log_ != nullptr) {
        const SubjectLog& log = *filter.log_;
        if (log.empty() || log.back() < from) return nullptr;
        return &messages_[*std::lower_bound(log.begin(), log.end(), from) - first_sequence()];
    }
    for (std::uint64_t sequence = std::max(from, first_sequence()); sequence < next_sequence_; ++sequence) {
        const Stored& stored = messages_[sequence - first_sequence()];
        if (filter.matches(stored.message->subject)) return &stored;
    }
    return nullptr;
}

const StreamModel::Stored* StreamModel::find(std::uint64_t sequence, engine::MonoTime now) {
    expire(now);
    if (sequence < first_sequence() || sequence >= next_sequence_) return nullptr;
    return &messages_[sequence - first_sequence()];
}

void StreamModel::power_cut(engine::MonoTime synced) {
    while (!messages_.empty() && messages_.back().time > synced) {
        messages_.back().log->pop_back();
        messages_.pop_back();
        --next_sequence_;
    }
}

void StreamModel::restart(engine::MonoTime now) {
    expire(now);
    known_ids_.clear();
    sequence_of_id_.clear();
    ids_rebuilt_ = false;
}

void StreamModel::rebuild_ids(engine::MonoTime now) {
    if (std::exchange(ids_rebuilt_, true)) return;
    const auto in_window = std::partition_point(messages_.begin(), messages_.end(), [&](const Stored& stored) {
        return now - stored.time >= config_.duplicate_window;
    });
    for (auto stored = in_window; stored != messages_.end(); ++stored) remember_id(*stored);
    forget_from_ = now + config_.duplicate_window;
}

void StreamModel::expire(engine::MonoTime now) {
    if (config_.max_age == engine::Duration::zero()) return;
    while (!messages_.empty() && now - messages_.front().time >= config_.max_age) {
        messages_.front().log->pop_front();
        messages_.pop_front();
    }
}

void StreamModel::remember_id(const Stored& stored) {
    if (stored.message->message_id.empty()) return;
    known_ids_.push_back(KnownId{stored.time, stored.message});
    sequence_of_id_.insert_or_assign(stored.message->message_id, stored.sequence);
}

void StreamModel::forget_old_ids(engine::MonoTime now) {
    if (now < forget_from_) return;
    while (!known_ids_.empty() && now - known_ids_.front().time >= config_.duplicate_window) {
        sequence_of_id_.erase(known_ids_.front().message->message_id);
        known_ids_.pop_front();
    }
}

}  // namespace lockstep::fakes
