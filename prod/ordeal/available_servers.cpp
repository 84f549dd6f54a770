#include <chrono>

#include "prod/ordeal/nats_group.h"
#include "prod/ordeal/redis_group.h"
#include "prod/ordeal/servers.h"

namespace lockstep::prod::ordeal {

namespace {

using Clock = std::chrono::steady_clock;

/// Longer than any choice of another takes. Who was taken comes back then all the same.
constexpr std::chrono::seconds kChoiceMost{30};

bool is_of_redis(DisturbanceKind kind) {
    return kind == DisturbanceKind::redis_kill || kind == DisturbanceKind::redis_freeze;
}

class AvailableServers final : public Servers {
public:
    explicit AvailableServers(Durability durability) : redis_(durability) {}

    [[nodiscard]] std::string redis_url() const override { return redis_.url(); }
    [[nodiscard]] std::string nats_url() const override { return nats_.url(); }
    [[nodiscard]] PrimaryPort primary_port() const override { return redis_.primary_port(); }

    bool begin(DisturbanceKind kind, int how, std::string& target) override {
        const bool of_redis = is_of_redis(kind);
        const bool done = of_redis ? redis_.take_primary(kind == DisturbanceKind::redis_freeze, target)
                                   : nats_.take_leader(how % 2 == 0 ? "CORDUM_SYS" : "CORDUM_JOBS",
                                                       kind == DisturbanceKind::nats_freeze, target);
        if (!done) return false;
        if (of_redis) as_replica_ = how % 3 != 0;
        (of_redis ? redis_give_up_ : nats_give_up_) = Clock::now() + kChoiceMost;
        return true;
    }
    bool can_end(DisturbanceKind kind) override {
        return is_of_redis(kind) ? redis_.replaced() || Clock::now() > redis_give_up_
                                 : nats_.replaced() || Clock::now() > nats_give_up_;
    }
    void end(DisturbanceKind kind) override { is_of_redis(kind) ? redis_.give_back(as_replica_) : nats_.give_back(); }
    std::string missing() override {
        std::string why = redis_.missing();
        return why.empty() ? nats_.missing() : why;
    }

    void copy_logs(const std::filesystem::path& folder) const override {
        redis_.copy_logs(folder);
        nats_.copy_logs(folder);
    }

private:
    RedisGroup redis_;
    NatsGroup nats_;
    bool as_replica_ = false;
    Clock::time_point redis_give_up_{};
    Clock::time_point nats_give_up_{};
};

}  // namespace

std::unique_ptr<Servers> available_servers(Durability durability) {
    return std::make_unique<AvailableServers>(durability);
}

}  // namespace lockstep::prod::ordeal
