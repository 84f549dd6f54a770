// The server that the contract of the bus port is held against, and what a test does to it. The same expectations are built
// twice: once with the simulated server and client, once with a real nats-server and the daemon's binding.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "engine/ports/bus.h"
#include "engine/runtime/executor.h"

namespace lockstep::fakes::engine_test {

class BusServer {
public:
    virtual ~BusServer() = default;

    /// The client under test, whose connections the functions below break. It connects again by itself.
    [[nodiscard]] virtual engine::Bus& bus() = 0;
    /// A client on a connection of its own, which nothing but a restart breaks.
    [[nodiscard]] virtual engine::Bus& other() = 0;

    [[nodiscard]] virtual engine::Executor& executor() = 0;
    /// Turns the world until `done` holds; false when `limit` passed first, by its clock.
    virtual bool run_until(const std::function<bool()>& done, engine::Duration limit) = 0;

    virtual void break_connection() = 0;
    /// The server cannot be reached until `reconnect`.
    virtual void disconnect() = 0;
    virtual void reconnect() = 0;
    /// The server takes what `bus()` sends next, and the answer to it is lost.
    virtual void lose_next_answer() = 0;
    /// A clean stop and start; what is stored stays.
    virtual void restart() = 0;
    /// Somebody deletes the stream and makes it anew.
    virtual void make_stream_anew(const std::string& stream) = 0;
};

/// With the protocol's two streams, which are empty; null where the program for it is not installed.
[[nodiscard]] std::unique_ptr<BusServer> start_bus_server();

}  // namespace lockstep::fakes::engine_test
