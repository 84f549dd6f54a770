// StreamModel: one JetStream stream with limits retention and file storage, as pure bookkeeping: no network, and time
// is an argument.
//
// 1. Sequences count up from 1 without gaps; only a power cut takes the last ones back.
// 2. Messages leave at the front only, by age. What has left is forgotten by lookups and consumers alike.
// 3. A message id is remembered for the duplicate window. After a restart the table is rebuilt from the stored messages
//    when the first publish with an id arrives; what is in it then is remembered for a whole window more, since the
//    server sets its timer afresh.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/ports/bus.h"
#include "engine/runtime/time.h"
#include "fakes/nats/message.h"

namespace lockstep::fakes {

struct StreamConfig {
    std::string name;
    std::vector<std::string> subjects;                   // patterns
    engine::Duration max_age = std::chrono::hours(168);  // zero: for ever
    engine::Duration duplicate_window = engine::kDuplicateWindow;
    std::uint64_t max_messages = 0;      // 0: no limit. When full the stream refuses (discard new)
    std::uint64_t max_message_size = 0;  // bytes; 0: what the server takes
};

/// The two streams of the protocol: CORDUM_SYS and CORDUM_JOBS.
[[nodiscard]] std::vector<StreamConfig> cap_streams(engine::Duration max_age = std::chrono::hours(168));

class StreamModel {
    using SubjectLog = std::deque<std::uint64_t>;  // the sequences of one subject, ascending

public:
    struct Stored {
        std::uint64_t sequence = 0;
        engine::MonoTime time;
        MessagePtr message;
        SubjectLog* log = nullptr;
    };

    /// What a publish came to. `error` is the server's text when it stored nothing for another reason than a duplicate.
    struct Ack {
        std::uint64_t sequence = 0;
        bool duplicate = false;
        std::string_view error;
        [[nodiscard]] bool stored() const { return error.empty() && !duplicate; }
    };

    /// A prepared pattern: exact subjects are looked up, patterns are scanned for.
    class Filter {
    public:
        [[nodiscard]] const std::string& pattern() const { return pattern_; }
        [[nodiscard]] bool matches(std::string_view subject) const;

    private:
        friend class StreamModel;
        std::string pattern_;
        const SubjectLog* log_ = nullptr;  // of an exact subject
    };

    explicit StreamModel(StreamConfig config, engine::MonoTime created = {})
        : config_(std::move(config)), created_(created) {}
    StreamModel(const StreamModel&) = delete;
    StreamModel& operator=(const StreamModel&) = delete;

    [[nodiscard]] const StreamConfig& config() const { return config_; }
    [[nodiscard]] bool binds(std::string_view subject) const;
    /// Changes that setting in place, as an update of the stream does.
    void limit_message_size(std::uint64_t bytes) { config_.max_message_size = bytes; }

    /// REQUIRES: binds(message->subject).
    Ack publish(MessagePtr message, engine::MonoTime now);

    /// An empty pattern matches everything. The filter is good for the life of the stream.
    [[nodiscard]] Filter filter(std::string pattern);
    /// The first match at or after `from`; null when there is none. Valid until the next call that changes the stream.
    [[nodiscard]] const Stored* next(const Filter& filter, std::uint64_t from, engine::MonoTime now);
    [[nodiscard]] const Stored* find(std::uint64_t sequence, engine::MonoTime now);

    [[nodiscard]] engine::MonoTime created() const { return created_; }
    /// 0 before the first message.
    [[nodiscard]] std::uint64_t last_sequence() const { return next_sequence_ - 1; }
    /// Of the oldest message still held; last_sequence() + 1 when there is none.
    [[nodiscard]] std::uint64_t first_sequence() const { return next_sequence_ - messages_.size(); }
    [[nodiscard]] std::size_t size() const { return messages_.size(); }
    /// For looking; some may be past their age. Valid until the next call that changes the stream.
    [[nodiscard]] const std::deque<Stored>& messages() const { return messages_; }

    /// Power was lost: what was stored after `synced` is gone. `restart` follows.
    void power_cut(engine::MonoTime synced);
    /// The server has started again with what is on disk.
    void restart(engine::MonoTime now);

private:
    void expire(engine::MonoTime now);
    void rebuild_ids(engine::MonoTime now);
    void remember_id(const Stored& stored);
    void forget_old_ids(engine::MonoTime now);

    StreamConfig config_;
    const engine::MonoTime created_;
    std::uint64_t next_sequence_ = 1;
    std::deque<Stored> messages_;
    std::map<std::string, SubjectLog, std::less<>> logs_;

    struct KnownId {
        engine::MonoTime time;
        MessagePtr message;  // keeps the key of the table alive
    };
    std::deque<KnownId> known_ids_;   // oldest first
    engine::MonoTime forget_from_{};  // nothing is forgotten before
    bool ids_rebuilt_ = true;
    std::unordered_map<std::string_view, std::uint64_t> sequence_of_id_;  // never iterated
};

}  // namespace lockstep::fakes
