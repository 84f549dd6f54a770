// A result reader as a process of its node. A crash destroys all of it where it stands; a start builds it anew from nothing.
#pragma once

#include <functional>
#include <memory>

#include "engine/runtime/scope.h"
#include "fakes/kernel/client.h"
#include "fakes/nats/client.h"
#include "fakes/redis/client.h"
#include "sim/run/result_reader.h"
#include "sim/run/replica_process.h"
#include "sim/world/node.h"

namespace lockstep::sim {

class ResultReaderProcess final : public Process {
public:
    /// All references outlive the process.
    ResultReaderProcess(fakes::World& world, Node& node, const Servers& servers, engine::Tunables tunables,
                        const engine::Mechanisms& mechanisms, engine::Log& log);

    void start() override;
    void crash() override { life_.reset(); }
    void stop(std::function<void()> ended) override;

    /// Results that are being handled now; none while it is down.
    [[nodiscard]] std::size_t in_flight() const { return life_ ? life_->reader.in_flight() : 0; }

private:
    /// Everything that a crash takes.
    struct Life {
        explicit Life(ResultReaderProcess& process);
        fakes::redis::RedisClient redis;
        fakes::NatsClient nats;
        fakes::KernelClient kernel;  // a port that nobody calls
        ResultReader reader;
        engine::Scope boot;
    };

    [[nodiscard]] engine::Task<void> boot();
    [[nodiscard]] engine::Task<void> drain(std::function<void()> ended);

    fakes::World& world_;
    Node& node_;
    Servers servers_;
    engine::Tunables tunables_;
    engine::Mechanisms mechanisms_;
    engine::Log& log_;
    Uncounted metrics_;
    std::unique_ptr<Life> life_;
};

}  // namespace lockstep::sim
