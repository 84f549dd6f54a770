// A simulated gateway process: submits the load as a real one does, first to Redis, then to the stream. The cluster
// creates one for its node and destroys it where it stands when the node crashes; the next one submits what the plan
// does not yet hold as done, the same job ids included.
//
// 1. A submit writes, in this order: idempotency key, context, PENDING, topic, tenant, trace, metadata, request; then
//    it publishes. A step that fails or whose fate is unknown is done again from the first one: all of them bear it.
// 2. The publish is repeated with the same message id until it is acknowledged, for no longer than `patience`. A job
//    whose publish is then known not to have happened becomes FAILED; one whose fate is unknown stays PENDING.
// 3. A job that is already beyond PENDING is not submitted: it has been taken up.
// 4. Told as Event{submit}: before, and answered with flag = acknowledged.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "engine/ports/bus.h"
#include "engine/ports/redis.h"
#include "engine/runtime/scope.h"
#include "fakes/gateway/job_records.h"
#include "fakes/gateway/load_plan.h"
#include "fakes/world.h"

namespace lockstep::fakes {

struct GatewayConfig {
    /// False: only publishes, and the scheduler creates the job's records.
    bool writes_redis = true;
    std::string sender = "api-gateway-http";
    /// For requests without a tenant, when it writes to Redis: a gateway knows the tenant by the caller's key.
    std::string default_tenant = "default";
    /// When the load begins, by this node's monotonic clock: what that showed at the start of the run.
    engine::MonoTime load_begins{};
    engine::Duration publish_timeout = std::chrono::seconds{5};
    engine::Duration retry_pause = std::chrono::seconds{1};
    /// Longer than any outage that a run heals: its users try again until they get through.
    engine::Duration patience = std::chrono::minutes{30};
    RecordLifetimes lifetimes;
};

class Gateway {
public:
    /// Starts at once. Everything referred to must outlive it; executor, bus and redis are the node's.
    Gateway(World& world, NodeId node, engine::Executor& executor, engine::Bus& bus, engine::Redis& redis,
            LoadPlan& plan, GatewayConfig config = {});

private:
    enum class Records : std::uint8_t { written, not_needed, failed };

    engine::Task<void> drive();
    engine::Task<void> submit(std::size_t index);
    /// What is no packet, until the stream has it.
    engine::Task<void> publish_garbage(std::size_t index);
    /// What a stranger publishes, once it has left. That it comes by the connection of this node is nothing that anybody could
    /// see: a message names no publisher.
    engine::Task<void> publish_forged(std::size_t index);
    /// One attempt at everything that comes before the publish.
    engine::Task<Records> write_records(cap::JobRequest request, std::string trace_id);
    engine::Task<Records> write_records_until(cap::JobRequest request, std::string trace_id, engine::MonoTime give_up);
    /// Until acknowledged or given up; the best that is known of it then.
    engine::Task<engine::OutcomeKind> publish_until(cap::JobRequest request, std::string trace_id,
                                                    engine::MonoTime give_up);
    /// The request as this gateway would make it of what the user sent.
    [[nodiscard]] cap::JobRequest completed(cap::JobRequest request) const;
    [[nodiscard]] bool tell(When when, std::string_view job, engine::OutcomeKind outcome);

    World& world_;
    NodeId node_;
    engine::Executor& executor_;
    engine::Bus& bus_;
    LoadPlan& plan_;
    const GatewayConfig config_;
    JobRecords records_;
    engine::Scope scope_;
};

}  // namespace lockstep::fakes
