// Gateway and operator as processes of their nodes. They work off one plan, which outlives them: what a crashed one left
// undone, the next one does.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string_view>

#include "fakes/gateway/gateway.h"
#include "fakes/gateway/load_plan.h"
#include "fakes/gateway/operator.h"
#include "fakes/gateway/settings_editor.h"
#include "fakes/kernel/client.h"
#include "fakes/nats/client.h"
#include "fakes/redis/client.h"
#include "sim/run/replica_process.h"
#include "sim/run/run_desk.h"
#include "sim/scenario/scenario.h"

namespace lockstep::sim {

/// The load of the scenario as a plan. Throws std::runtime_error when a job cannot be read, which a checked scenario's can.
[[nodiscard]] fakes::LoadPlan load_plan_of(const Scenario& scenario);

/// A run desk with connections of its own.
class RunDeskProcess {
public:
    /// All arguments outlive it.
    RunDeskProcess(fakes::World& world, Node& node, const Servers& servers, RunPlan& plan, RunDesk::Of of,
                   engine::MonoTime begins, engine::Log& log);

private:
    Uncounted metrics_;
    fakes::redis::RedisClient redis_;
    fakes::NatsClient nats_;
    fakes::KernelClient kernel_;  // a port that nobody calls
    RunDesk desk_;
};

class GatewayProcess final : public Process {
public:
    /// All arguments outlive the process.
    GatewayProcess(fakes::World& world, Node& node, const Servers& servers, fakes::LoadPlan& plan, RunPlan& runs,
                   bool writes_redis, engine::Log& log);
    void start() override { life_ = std::make_unique<Life>(*this); }
    void crash() override { life_.reset(); }

private:
    struct Life {
        explicit Life(GatewayProcess& process);
        fakes::redis::RedisClient redis;
        fakes::NatsClient nats;
        fakes::Gateway gateway;
        std::optional<RunDeskProcess> desk;  // where the load asks for something of workflows
    };

    fakes::World& world_;
    Node& node_;
    Servers servers_;
    fakes::LoadPlan& plan_;
    RunPlan& runs_;
    engine::Log& log_;
    fakes::GatewayConfig config_;
    std::unique_ptr<Life> life_;
};

class OperatorProcess final : public Process {
public:
    /// All arguments outlive the process.
    OperatorProcess(fakes::World& world, Node& node, const Servers& servers, fakes::LoadPlan& plan, RunPlan& runs,
                    engine::Log& log);
    void start() override;
    void crash() override { life_.reset(); }

    /// Changes the settings of the schedulers: now, or when the node is up again. Changes are made in their order.
    void change_settings(fakes::SettingsChange change);
    /// A replica cannot start, for this reason. An operator who is told to adopt its durables does so (engine/delivery-semantics.md, "Two
    /// deployments on one NATS").
    void read_why(std::string_view a_start_failed);

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
        bool adopts = false;
        engine::Scope scope;
        std::optional<RunDeskProcess> desk;  // where the load asks for something of workflows
    };

    [[nodiscard]] engine::Task<void> make_changes();
    [[nodiscard]] engine::Task<void> adopt_durables();

    fakes::World& world_;
    Node& node_;
    Servers servers_;
    fakes::LoadPlan& plan_;
    RunPlan& runs_;
    engine::Log& log_;
    fakes::OperatorConfig config_;
    std::deque<fakes::SettingsChange> changes_;  // to be made; those of a crashed operator, too
    std::unique_ptr<Life> life_;
};

}  // namespace lockstep::sim
