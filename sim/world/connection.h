// One simulated TCP connection: two ordered flows between two nodes, and its end. Made by the network, shared by both
// sides.
//
// A message stands in one of three places: in the sender's outbox while the sender is paused, held while the link is
// cut, or in flight. It never overtakes another of its flow. The end of a connection travels as the last message of a
// flow, so that the other side hears of it after everything that was sent before.
#pragma once

#include <array>
#include <functional>
#include <memory>

#include "fakes/world.h"
#include "sim/world/fifo.h"
#include "sim/world/node.h"

namespace lockstep::sim {

class Network;

class SimConnection final : public fakes::Connection, public std::enable_shared_from_this<SimConnection> {
public:
    enum Side : std::uint8_t { kClient = 0, kServer = 1 };

    SimConnection(Network& network, std::uint64_t id, NodeId client, NodeId server);

    void send_to_server(Action arrival) override { send(kClient, std::move(arrival)); }
    void send_to_client(Action arrival) override { send(kServer, std::move(arrival)); }
    void close_from_client() override { close(kClient); }
    void close_from_server() override { close(kServer); }
    /// As the node knows that is running now: the other side may have gone without this one having heard.
    [[nodiscard]] bool open() const override;

    // For the network.
    [[nodiscard]] std::uint64_t id() const { return id_; }
    [[nodiscard]] NodeId node(Side side) const { return ends_[side].node; }
    /// From when the client has the connection: one that breaks before is an attempt that failed, and its client's own
    /// timeout deals with it.
    void set_client_listener(fakes::ConnectionListener& listener) { ends_[kClient].listener = &listener; }
    void set_server_listener(fakes::ConnectionListener& listener) { ends_[kServer].listener = &listener; }
    /// The process on this side is gone.
    void abort(Side side);
    /// The links have changed: sends on what is no longer held up.
    void release_held();
    /// Neither side has anything to do with it any more.
    [[nodiscard]] bool finished() const { return ends_[kClient].closed && ends_[kServer].closed; }
    /// The world is being torn down: nothing has an effect any more.
    void detach();

private:
    // An empty action is the end of the flow.
    struct End {
        NodeId node;
        fakes::ConnectionListener* listener = nullptr;
        bool closed = false;  // no longer sends, and is told nothing
        Fifo<Action> outbox;
        Fifo<Action> held;
        Fifo<Action> in_flight;
        Time last_arrival{};
    };

    [[nodiscard]] static Side other(Side side) { return side == kClient ? kServer : kClient; }
    void send(Side from, Action arrival);
    void close(Side side);
    void shut(Side side);
    void depart(Side from, Action message);
    void leave_outbox(Side from);
    void fly(Side from, Action message);
    void arrive(Side to);
    void hear_of_end(Side side);

    Network* network_;
    const std::uint64_t id_;
    std::array<End, 2> ends_;
};

}  // namespace lockstep::sim
