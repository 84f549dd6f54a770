// A simulated operator: cancels, approves and rejects jobs through the gateway's code, on a node of its own. Created
// and destroyed as a gateway is; what the plan does not hold as done is done by the next one.
//
// 1. A cancellation takes no lock. When it was made, a CANCELLED result without a worker goes to the result stream and
//    a JobCancel to all; a job that has ended is left alone.
// 2. A job that is not there yet, or does not wait for an approval yet, is tried again until `patience` has passed.
// 3. Told as Event{cancel} and Event{approve}: before, and answered with flag = done; a rejection is an approve with
//    to = DENIED.
// 4. A Redis command is given as it stands, again while it surely did not happen, and told by nothing but itself.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "engine/ports/bus.h"
#include "engine/ports/redis.h"
#include "engine/runtime/scope.h"
#include "fakes/gateway/approval.h"
#include "fakes/gateway/job_records.h"
#include "fakes/gateway/load_plan.h"
#include "fakes/world.h"

namespace lockstep::fakes {

struct OperatorConfig {
    /// As in GatewayConfig, by the operator's node.
    engine::MonoTime load_begins{};
    engine::Duration retry_pause = std::chrono::seconds{1};
    engine::Duration patience = std::chrono::minutes{10};
    RecordLifetimes lifetimes;
};

class Operator {
public:
    /// Starts at once. Everything referred to must outlive it; executor, bus, redis and kernel are the node's. `kernel`
    /// may be null: approvals then do not compare the policy's snapshot.
    Operator(World& world, NodeId node, engine::Executor& executor, engine::Bus& bus, engine::Redis& redis,
             KernelClient* kernel, LoadPlan& plan, OperatorConfig config = {});

private:
    engine::Task<void> drive();
    engine::Task<void> act(std::size_t index);
    /// Whether this operator's word took effect.
    engine::Task<bool> cancel(std::string job, engine::MonoTime give_up);
    engine::Task<void> announce_cancel(std::string job);
    engine::Task<bool> decide(std::string job, bool approval, engine::MonoTime give_up);
    /// At most once more for each answer that said that it did not happen.
    engine::Task<void> command(std::size_t index);
    [[nodiscard]] bool tell(const LoadPlan::Action& action, When when, bool flag);
    [[nodiscard]] engine::MonoTime after_pause() const { return executor_.monotonic() + config_.retry_pause; }

    World& world_;
    NodeId node_;
    engine::Executor& executor_;
    engine::Bus& bus_;
    engine::Redis& redis_;
    LoadPlan& plan_;
    const OperatorConfig config_;
    JobRecords records_;
    Approvals approvals_;
    engine::Scope scope_;
};

}  // namespace lockstep::fakes
