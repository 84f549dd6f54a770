// The network: who listens where, connections, and the state of the links. Nodes meet only here.
//
// A connection attempt is a message to the server and one back: refused when nobody listens or the node is down, waiting
// while the link is cut, waiting in the server's backlog while the server is paused.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "fakes/world.h"
#include "sim/world/connection.h"
#include "sim/world/event_queue.h"
#include "sim/world/link_faults.h"
#include "sim/world/node.h"

namespace lockstep::sim {

class Network {
public:
    using Connected = std::function<void(std::shared_ptr<fakes::Connection>)>;

    /// `draws`: of latencies and of the tails of closed connections, by link.
    /// `schedule` (may be null) holds up what nodes send; outlives the network.
    Network(EventQueue& queue, Nodes& nodes, fakes::Trace& trace, fakes::Distribution latency, fakes::KeyedRng& draws,
            Schedule* schedule = nullptr);
    ~Network();
    Network(const Network&) = delete;
    Network& operator=(const Network&) = delete;

    void listen(NodeId node, std::string_view service, fakes::Server& server);
    void connect(NodeId client, NodeId server, std::string_view service, fakes::ConnectionListener& listener,
                 Connected done);

    /// Breaks the connections of a node whose process is about to be destroyed. The node must already count as down.
    void node_crashed(NodeId node);

    /// After a change, `links_changed` lets go what is no longer held up.
    [[nodiscard]] LinkFaults& links() { return links_; }
    void links_changed();

    /// Ends everything without telling anybody. Whoever still holds a connection holds a dead one.
    void close();

    [[nodiscard]] std::size_t connections() const { return connections_.size(); }

    // For connections.
    [[nodiscard]] EventQueue& queue() { return queue_; }
    [[nodiscard]] Nodes& nodes() { return nodes_; }
    [[nodiscard]] fakes::Rng draw_for(NodeId from, NodeId to);
    [[nodiscard]] Duration draw_delay(NodeId from, NodeId to);
    /// Lets `action` wait for the end of the pause of `node`.
    void park(Node& node, Action action);
    bool report_broken(NodeId node, NodeId peer);
    void forget(const SimConnection& connection);

private:
    enum class Stage : std::uint8_t { asking, cut_off, at_server, refusing, refusal_cut_off };
    struct Attempt {
        NodeId client;
        NodeId server;
        std::string service;
        fakes::ConnectionListener* listener;
        Connected done;
        Stage stage = Stage::asking;
    };
    using Id = std::uint64_t;

    void ask(Id id);
    void arrive_at_server(Id id);
    void accept(Id id);
    void refuse(Id id);
    void give_up(Id id);

    EventQueue& queue_;
    Nodes& nodes_;
    fakes::Trace& trace_;
    const fakes::Distribution latency_;
    fakes::KeyedRng& draws_;
    Schedule* const schedule_;
    LinkFaults links_;
    std::map<std::pair<NodeId, std::string>, fakes::Server*> servers_;
    std::map<Id, Attempt> attempts_;
    std::map<Id, std::shared_ptr<SimConnection>> connections_;
    Id last_id_ = 0;
};

}  // namespace lockstep::sim
