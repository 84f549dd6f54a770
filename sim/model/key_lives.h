// When the keys of Redis expire, and what the present command of a scheduler does to that.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fakes/by_text.h"
#include "fakes/event.h"
#include "fakes/redis/keyspace.h"

namespace lockstep::sim {

/// A key that a command has written.
struct WrittenKey {
    std::string key;
    std::string text;                 // of a circuit's counter
    std::int64_t expires_before = 0;  // as the command found it; kNever also for a key that was not there
    std::int64_t expires_at = 0;      // as the command left it
    bool made = false;                // by this command
    bool renewed = false;             // the write is one that gives it its full time
    bool moved = false;               // of a job's hash: its state was written
    bool given_by_others = false;     // its expiry, which schedulers leave alone until a time that they have noted
};

class KeyLives {
public:
    struct Expiry {
        std::int64_t at = fakes::redis::kNever;
        bool noted = false;            // of a job's hash: until when schedulers leave it and what goes with it alone
        bool given_by_others = false;  // as in WrittenKey
    };

    /// A command of a scheduler; an invalid client stands for any other, and for none.
    void begin(fakes::NodeId scheduler, std::int64_t now_ms);
    void text_set(fakes::NodeId client, std::string_view key, std::string_view after, std::int64_t expires_before,
                  std::int64_t expires_at);
    void field_set(fakes::NodeId client, std::string_view key, std::string_view field, const std::string* before,
                   std::string_view after);
    void element_set(fakes::NodeId client, std::string_view key) { content_set(client, key, true); }
    void expiry_set(fakes::NodeId client, std::string_view key, std::int64_t before, std::int64_t after);
    void removed(std::string_view key);
    void restored(const fakes::redis::Keyspace& now);

    /// By the present command.
    [[nodiscard]] const std::vector<WrittenKey>& written() const { return written_; }
    [[nodiscard]] fakes::NodeId writer() const { return scheduler_; }
    /// When the command began, by the clock of Redis.
    [[nodiscard]] std::int64_t now_ms() const { return now_ms_; }
    /// Of a container or a record of a job; null: there is none.
    [[nodiscard]] const Expiry* find(std::string_view key) const {
        const auto known = expiries_.find(key);
        return known == expiries_.end() ? nullptr : &known->second;
    }

private:
    WrittenKey& written(std::string_view key, std::int64_t expires_before);
    WrittenKey* content_set(fakes::NodeId client, std::string_view key, bool renews);
    /// Until when schedulers leave the expiries of a job's records alone has been noted in its hash.
    void note(std::string_view hash_key);
    [[nodiscard]] bool is_left_alone(std::string_view key) const;

    /// Of containers and of jobs' records.
    fakes::ByText<Expiry> expiries_;
    std::vector<WrittenKey> written_;
    fakes::NodeId scheduler_;
    std::int64_t now_ms_ = 0;
};

}  // namespace lockstep::sim
