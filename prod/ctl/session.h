// What operator commands need: a loop, and the connections to Redis and NATS that they ask for.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/runtime/task.h"
#include "prod/config/settings.h"
#include "prod/loop/system_clock.h"
#include "prod/loop/system_entropy.h"
#include "prod/nats/nats_bus.h"
#include "prod/redis/hiredis_client.h"

namespace lockstep::prod {

/// Exit codes of lockstepctl.
inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;  // a server cannot be reached, or refused
inline constexpr int kWrongUse = 2;
inline constexpr int kNotFound = 3;  // no such job, entry, workflow, run or pool
inline constexpr int kEndedBadly =
    4;  // --wait: the job or run ended other than succeeded, or not in time; a pool is not empty
inline constexpr int kUnwell = 5;  // doctor: something is wrong

/// What stops a command: printed to standard error, with the exit code.
struct CommandError {
    int exit_code = kFailed;
    std::string message;
};

class Session {
public:
    explicit Session(Settings settings) : settings_(std::move(settings)) {}

    /// Connects to the servers asked for. The error names the server and the option that sets its address; a bus that is not there
    /// is only told of, with the words of `without_bus`, where there are any: the command goes on without it.
    [[nodiscard]] tl::expected<void, CommandError> connect(bool with_redis, bool with_bus,
                                                           const char* without_bus = nullptr);
    /// Connects to whichever server answers, for a command that tells of the other.
    void connect_to_what_is_there();
    /// Runs one command to its end.
    int run(engine::Task<int> command);

    [[nodiscard]] UvLoop& loop() { return loop_; }
    [[nodiscard]] SystemClock& clock() { return clock_; }
    [[nodiscard]] engine::Entropy& entropy() { return entropy_; }
    [[nodiscard]] engine::Redis& redis() { return *redis_; }
    [[nodiscard]] engine::Bus& bus() { return *bus_; }
    [[nodiscard]] bool has_redis() const { return redis_ != nullptr; }
    [[nodiscard]] bool has_bus() const { return bus_ != nullptr; }
    /// Why there is none; empty when there is one.
    [[nodiscard]] const std::string& redis_trouble() const { return redis_trouble_; }
    [[nodiscard]] const std::string& bus_trouble() const { return bus_trouble_; }
    [[nodiscard]] NatsBus& nats() { return *bus_; }
    [[nodiscard]] const Settings& settings() const { return settings_; }
    /// Several commands at once, every one of which has to be answered: where one is refused, the error says which and why, so that
    /// a refusal is not taken for "there is none".
    [[nodiscard]] engine::Task<tl::expected<std::vector<engine::RedisValue>, std::string>> read_all(
        std::vector<engine::RedisCommand> commands);
    /// For one command to a server.
    [[nodiscard]] engine::MonoTime deadline() const { return clock_.in(std::chrono::seconds(5)); }

private:
    Settings settings_;
    UvLoop loop_;
    SystemClock clock_;
    SystemEntropy entropy_;
    std::unique_ptr<HiredisClient> redis_;
    std::unique_ptr<NatsBus> bus_;
    std::string redis_trouble_;
    std::string bus_trouble_;
};

/// Prints `lockstepctl: <what>`, of one line or several, without hidden characters, and answers the code.
int complain(int exit_code, const std::string& what);

}  // namespace lockstep::prod
