// The simulated servers as processes of their nodes: a crash of the node is a crash of the server.
#pragma once

#include "fakes/kernel/server.h"
#include "fakes/nats/server.h"
#include "fakes/redis/server.h"
#include "sim/world/node.h"

namespace lockstep::sim {

class RedisProcess final : public Process {
public:
    explicit RedisProcess(fakes::redis::RedisServer& server) : server_(server) {}
    void start() override {
        if (down_) server_.node_up();
        down_ = false;
    }
    void crash() override {
        server_.node_down();
        down_ = true;
    }

private:
    fakes::redis::RedisServer& server_;
    bool down_ = false;
};

class NatsProcess final : public Process {
public:
    explicit NatsProcess(fakes::NatsServer& server) : server_(server) {}
    void start() override {
        if (down_) server_.on_node_up();
        down_ = false;
    }
    void crash() override {
        server_.on_node_down();
        down_ = true;
    }

private:
    fakes::NatsServer& server_;
    bool down_ = false;
};

/// Calls in progress die with their connections.
class KernelProcess final : public Process {
public:
    explicit KernelProcess(fakes::KernelServer& server) : server_(server) {}
    void start() override {}
    void crash() override { server_.node_down(); }

private:
    fakes::KernelServer& server_;
};

}  // namespace lockstep::sim
