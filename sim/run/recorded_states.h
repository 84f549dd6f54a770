// What Redis says of the states of jobs: the field of the job's hash, and while that is missing the text under its state key,
// as every reader of it does (redis-schema.md 3.1). Follows the keyspace, also where data is lost.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "fakes/redis/keyspace.h"

namespace lockstep::sim {

class RecordedStates {
public:
    struct Record {
        std::string hash;  // the field; empty without one
        std::string key;   // the state key; empty without one
        [[nodiscard]] const std::string& state() const { return hash.empty() ? key : hash; }
    };

    void string_set(std::string_view key, std::string_view after);
    void hash_set(std::string_view key, std::string_view field, std::string_view after);
    void key_removed(std::string_view key);
    void restored(const fakes::redis::Keyspace& now);

    /// Empty for a job that Redis does not know.
    [[nodiscard]] std::string of(std::string_view job) const;

private:
    std::map<std::string, Record, std::less<>> jobs_;
};

}  // namespace lockstep::sim
