// Gateway and operator as processes of their nodes. They work off one plan, which outlives them: what a crashed one left
// undone, the next one does.
#pragma once

#include <deque>
#include <memory>

#include "fakes/gateway/gateway.h"
#include "fakes/gateway/load_plan.h"
#include "fakes/gateway/operator.h"
#include "fakes/gateway/settings_editor.h"
#include "fakes/kernel/client.h"
#include "fakes/nats/client.h"
#include "fakes/redis/client.h"
#include "sim/run/scheduler_process.h"
#include "sim/scenario/scenario.h"

namespace lockstep::sim {

/// The load of the scenario as a plan. Throws std::runtime_error when a job cannot be read, which a checked scenario's can.
[[nodiscard]] fakes::LoadPlan load_plan_of(const Scenario& scenario);

class GatewayProcess final : public Process {
public:
    /// All arguments outlive the process.
    GatewayProcess(fakes::World& world, Node& node, const Servers& servers, fakes::LoadPlan& plan, bool writes_redis);
    void start() override { life_ = std::make_unique<Life>(*this); }
    void crash() override { life_.reset(); }

private:
    struct Life {
        explicit Life(GatewayProcess& process);
        fakes::redis::RedisClient redis;
        fakes::NatsClient nats;
        fakes::Gateway gateway;
    };

    fakes::World& world_;
    Node& node_;
    Servers servers_;
    fakes::LoadPlan& plan_;
    fakes::GatewayConfig config_;
    std::unique_ptr<Life> life_;
};

class OperatorProcess final : public Process {
public:
    /// All arguments outlive the process.
    OperatorProcess(fakes::World& world, Node& node, const Servers& servers, fakes::LoadPlan& plan);
    void start() override;
    void crash() override { life_.reset(); }

    /// Changes the settings of the schedulers: now, or when the node is up again. Changes are made in their order.
    void change_settings(fakes::SettingsChange change);

private:
    struct Life {
        explicit Life(OperatorProcess& process);
        fakes::redis::RedisClient redis;
        fakes::NatsClient nats;
        fakes::KernelClient kernel;
        fakes::redis::RedisClient settings_redis;
        fakes::SettingsEditor editor;
        fakes::Operator work;
        engine::Event more_changes;
        engine::Scope scope;
    };

    [[nodiscard]] engine::Task<void> make_changes();

    fakes::World& world_;
    Node& node_;
    Servers servers_;
    fakes::LoadPlan& plan_;
    fakes::OperatorConfig config_;
    std::deque<fakes::SettingsChange> changes_;  // to be made; those of a crashed operator, too
    std::unique_ptr<Life> life_;
};

}  // namespace lockstep::sim
