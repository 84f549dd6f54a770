#include "engine/store/deployment_id.h"

#include <fmt/core.h>

#include <utility>
#include <vector>

#include "engine/store/keys.h"
#include "engine/wire/subjects.h"

namespace lockstep::engine {

namespace {

/// One read at this interval. Short against the time in which an operator restarts a second replica.
constexpr Duration kKeepInterval = std::chrono::seconds{10};

}  // namespace

Task<Outcome<std::string>> DeploymentId::stored() {
    const auto reply = co_await ports_.redis.command({"GET", std::string(keys::kDeployment)}, deadline());
    if (!reply.applied()) co_return reply.failure_as<std::string>();
    co_return std::string(reply.value().is_nil() ? std::string_view{} : reply.value().text());
}

Task<Outcome<std::string>> DeploymentId::store_if_none(std::string id) {
    const auto set =
        co_await ports_.redis.command({"SET", std::string(keys::kDeployment), std::move(id), "NX"}, deadline());
    if (!set.applied()) co_return set.failure_as<std::string>();
    auto held = co_await stored();
    co_return held;
}

Task<tl::expected<std::string, std::string>> DeploymentId::at_start() {
    const auto failed = [](const Failure& failure) {
        return tl::make_unexpected(
            fmt::format("the deployment's id in Redis ({}): {}", keys::kDeployment, failure.detail));
    };
    auto held = co_await stored();
    if (!held.applied()) co_return failed(held.failure());
    std::string owner;
    std::string owned;
    const std::vector<std::string> durables = wire::own_durables();
    for (std::size_t i = 0; held.value().empty() && owner.empty() && i < durables.size(); ++i) {
        const auto state = co_await ports_.bus.consumer_state(std::string(wire::kStreamSys), durables[i], deadline());
        if (!state.applied())
            co_return tl::make_unexpected(
                fmt::format("durable consumer {}.{}: {}", wire::kStreamSys, durables[i], state.failure().detail));
        if (state.value()) owner = state.value()->deployment;
        owned = durables[i];
    }
    if (held.value().empty()) {
        // Another replica of this deployment may have started at the same moment, and have written both.
        held = owner.empty() ? co_await store_if_none(ports_.entropy.uuid()) : co_await stored();
        if (!held.applied()) co_return failed(held.failure());
    }
    if (held.value().empty())
        co_return tl::make_unexpected(fmt::format(
            "the durable consumer {}.{} belongs to deployment {}, and this Redis has no deployment id ({}): either it "
            "has lost its data, or it belongs to another deployment. Two deployments need a NATS, an account or a "
            "domain "
            "each. If this Redis is the one of deployment {}: lockstepctl consumers adopt",
            wire::kStreamSys, owned, owner, keys::kDeployment, owner));
    id_ = held.value();
    co_return id_;
}

Task<void> DeploymentId::keep() {
    std::string told;  // the id of another deployment that has been logged
    while (true) {
        co_await ports_.clock.sleep(kKeepInterval);
        auto held = co_await stored();
        if (held.applied() && held.value().empty()) {
            held = co_await store_if_none(id_);
            if (!held.applied()) continue;
            ports_.log.event(LogLevel::error, "Redis has lost the deployment's id; it is written again",
                             {{"key", keys::kDeployment}, {"id", id_}});
        }
        if (!held.applied() || held.value() == std::exchange(told, held.value()) || held.value() == id_) continue;
        ports_.log.event(LogLevel::error,
                         "Redis holds another deployment's id: restart this replica, or give each deployment a NATS of "
                         "its own",
                         {{"key", keys::kDeployment}, {"id", held.value()}, {"started_as", id_}});
    }
}

}  // namespace lockstep::engine
