// What Redis holds, read and now and then written by hiredis and nothing of the engine's.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "prod/ordeal/ledger.h"
#include "prod/ordeal/servers.h"

struct redisContext;
struct redisReply;

namespace lockstep::prod::ordeal {

class StoreReader {
public:
    /// Connects when it is first asked, and again after a failure, to the server that takes writes then.
    StoreReader(PrimaryPort port, std::chrono::milliseconds patience);
    StoreReader(const StoreReader&) = delete;
    StoreReader& operator=(const StoreReader&) = delete;
    ~StoreReader();

    /// Jobs that have ended or wait for an approval, as the indexes list them. Nothing when Redis does not answer in time.
    std::optional<long> resting_jobs();
    /// Jobs of the tenant that have not ended. Nothing when Redis does not answer in time.
    std::optional<std::uint64_t> unfinished_jobs(const std::string& tenant);
    /// Keys that match, at most so many of them.
    std::vector<std::string> keys(const std::string& glob, std::size_t most);
    /// How many keys match.
    int count(const std::string& glob);

    // These throw std::runtime_error when Redis does not answer.
    /// What it knows of a job, whose content was submitted with this size.
    JobEnd end_of(const std::string& job, std::size_t content_size);
    /// The marks of messages in hand, which were given so long a life; at most so many of them.
    std::vector<LeftMark> marks_in_flight(Span life, std::size_t most);
    /// The job's state; empty when there is none.
    std::string state_of(const std::string& job);
    /// Runs a command that writes.
    void write(const std::vector<std::string>& command) { must(command); }

private:
    struct FreeReply {
        void operator()(redisReply* reply) const;
    };
    using Reply = std::unique_ptr<redisReply, FreeReply>;

    bool connected();
    /// Null when there is no answer.
    Reply ask(const std::vector<std::string>& words);
    Reply must(const std::vector<std::string>& words);

    const PrimaryPort port_;
    const std::chrono::milliseconds patience_;
    redisContext* context_ = nullptr;
};

}  // namespace lockstep::prod::ordeal
