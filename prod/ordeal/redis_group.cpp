#include "prod/ordeal/redis_group.h"

#include <fmt/core.h>
#include <hiredis/hiredis.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "fakes/testing/server_lines.h"

namespace lockstep::prod::ordeal {

namespace {

using fakes::testing::ServerProcess;

constexpr timeval kPatience{0, 300'000};
constexpr std::chrono::seconds kMeeting{60};
constexpr const char* kName = "main";

using Reply = std::unique_ptr<redisReply, decltype(&freeReplyObject)>;

/// Null when it says nothing in time.
Reply ask(int port, const char* question) {
    const std::unique_ptr<redisContext, decltype(&redisFree)> asking(
        redisConnectWithTimeout("127.0.0.1", port, kPatience), &redisFree);
    if (asking == nullptr || asking->err != 0 || redisSetTimeout(asking.get(), kPatience) != REDIS_OK)
        return {nullptr, &freeReplyObject};
    return {static_cast<redisReply*>(redisCommand(asking.get(), question)), &freeReplyObject};
}

std::string text_of(const redisReply* reply) {
    const bool is_text = reply != nullptr && (reply->type == REDIS_REPLY_STRING || reply->type == REDIS_REPLY_STATUS);
    return is_text ? std::string(reply->str, reply->len) : std::string();
}

bool is_list(const Reply& reply) { return reply != nullptr && reply->type == REDIS_REPLY_ARRAY; }

/// How many of those that a sentinel names are there, as far as it knows.
std::size_t present(const Reply& reply, std::string_view flags) {
    std::size_t count = 0;
    for (std::size_t i = 0; is_list(reply) && i < reply->elements; ++i) {
        const redisReply* facts = reply->element[i];
        for (std::size_t f = 0; f + 1 < facts->elements; f += 2)
            count += text_of(facts->element[f]) == "flags" && text_of(facts->element[f + 1]) == flags ? 1 : 0;
    }
    return count;
}

std::size_t occurrences(std::string_view text, std::string_view word) {
    std::size_t count = 0;
    for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) ++count;
    return count;
}

ServerProcess::CommandLine sentinel_of(int primary) {
    return [primary](int port, const std::filesystem::path& folder) {
        const std::string file = (folder / "sentinel.conf").string();
        // It keeps there what it has learnt.
        if (!std::filesystem::exists(file))
            std::ofstream(file) << fmt::format(
                "port {0}\nbind 127.0.0.1\ndir {1}\nsentinel monitor {2} 127.0.0.1 {3} 2\n"
                "sentinel down-after-milliseconds {2} 5000\nsentinel failover-timeout {2} 4000\n"
                "sentinel parallel-syncs {2} 2\n",
                port, folder.string(), kName, primary);
        return std::vector<std::string>{*fakes::testing::find_program("redis-server"), file, "--sentinel"};
    };
}

}  // namespace

RedisGroup::RedisGroup(Durability durability) {
    members_[0] = std::make_unique<ServerProcess>(member(0, durability));
    const int primary = members_[0]->port();
    for (std::size_t i = 1; i < kMembers; ++i) {
        primary_of_.at(i) = primary;
        members_.at(i) = std::make_unique<ServerProcess>(member(i, durability));
    }
    // A sentinel that meets the replicas at once does not look for others for a while.
    must([&] { return followed(primary); }, "replicas follow their primary");
    for (Process& sentinel : sentinels_) sentinel = std::make_unique<ServerProcess>(sentinel_of(primary));
    must([&] { return missing().empty(); }, "sentinels find the replicas and one another");
}

ServerProcess::CommandLine RedisGroup::member(std::size_t number, Durability durability) {
    return [this, number, durability](int port, const std::filesystem::path& folder) {
        auto line = fakes::testing::redis_server_line(port, folder, fakes::testing::AppendOnly::always);
        line.insert(line.end(), {"--repl-diskless-sync-delay", "0"});
        if (durability == Durability::required)
            line.insert(line.end(), {"--min-replicas-to-write", "1", "--min-replicas-max-lag", "3"});
        if (const int primary = primary_of_.at(number); primary != 0)
            line.insert(line.end(), {"--replicaof", fmt::format("127.0.0.1 {}", primary)});
        return line;
    };
}

template <class Condition>
void RedisGroup::must(Condition condition, const char* what) {
    const auto give_up = std::chrono::steady_clock::now() + kMeeting;
    while (!condition()) {
        if (std::chrono::steady_clock::now() > give_up)
            throw std::runtime_error(fmt::format("redis-server: {} s passed, and not all {}", kMeeting.count(), what));
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
}

std::string RedisGroup::url() const {
    std::string hosts;
    for (const Process& sentinel : sentinels_)
        hosts += fmt::format("{}127.0.0.1:{}", hosts.empty() ? "" : ",", sentinel->port());
    return fmt::format("redis-sentinel://{}/{}", hosts, kName);
}

PrimaryPort RedisGroup::primary_port() const {
    std::array<int, kMembers> sentinels{};
    for (std::size_t i = 0; i < kMembers; ++i) sentinels.at(i) = sentinels_.at(i)->port();
    return [sentinels] {
        for (const int sentinel : sentinels) {
            const Reply reply = ask(sentinel, "SENTINEL GET-MASTER-ADDR-BY-NAME main");
            if (!is_list(reply) || reply->elements != 2) continue;
            const std::string port = text_of(reply->element[1]);
            int number = 0;
            std::from_chars(port.data(), port.data() + port.size(), number);
            return number;
        }
        return 0;
    };
}

bool RedisGroup::take_primary(bool freeze, std::string& target) {
    if (taken_ != nullptr || !missing().empty()) return false;
    const int port = primary_port()();
    const auto primary = std::ranges::find_if(members_, [port](const Process& one) { return one->port() == port; });
    if (primary == members_.end()) return false;
    taken_ = primary->get();
    target = fmt::format("redis-{}", primary - members_.begin());
    freeze ? taken_->freeze() : taken_->kill();
    return true;
}

bool RedisGroup::replaced() const {
    const int port = primary_port()();
    return port != 0 && taken_ != nullptr && port != taken_->port() &&
           text_of(ask(port, "INFO replication").get()).find("role:master") != std::string::npos;
}

void RedisGroup::give_back(bool as_replica) {
    ServerProcess& server = *std::exchange(taken_, nullptr);
    if (server.running()) return server.thaw();
    const int port = primary_port()();
    for (std::size_t i = 0; i < kMembers; ++i)
        if (members_.at(i).get() == &server) primary_of_.at(i) = as_replica && port != server.port() ? port : 0;
    server.start();
}

bool RedisGroup::followed(int port) const {
    return occurrences(text_of(ask(port, "INFO replication").get()), "state=online") == kMembers - 1;
}

bool RedisGroup::known_to(int sentinel) const {
    return present(ask(sentinel, "SENTINEL REPLICAS main"), "slave") == kMembers - 1 &&
           present(ask(sentinel, "SENTINEL SENTINELS main"), "sentinel") == kMembers - 1;
}

std::string RedisGroup::missing() const {
    const int port = primary_port()();
    if (!followed(port)) return fmt::format("the Redis on port {} is not followed by the others", port);
    for (const Process& sentinel : sentinels_)
        if (!known_to(sentinel->port()))
            return fmt::format("the sentinel on port {} does not see all others", sentinel->port());
    return {};
}

void RedisGroup::copy_logs(const std::filesystem::path& folder) const {
    const auto overwrite = std::filesystem::copy_options::overwrite_existing;
    for (std::size_t i = 0; i < kMembers; ++i) {
        std::filesystem::copy_file(members_.at(i)->folder() / "server.log", folder / fmt::format("redis-{}.log", i),
                                   overwrite);
        std::filesystem::copy_file(sentinels_.at(i)->folder() / "server.log",
                                   folder / fmt::format("sentinel-{}.log", i), overwrite);
    }
}

}  // namespace lockstep::prod::ordeal
