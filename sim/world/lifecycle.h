// Starting, crashing, restarting, pausing: what each means for the processes, the queue and the network together.
#pragma once

#include <vector>

#include "fakes/world.h"
#include "sim/world/network.h"
#include "sim/world/node.h"

namespace lockstep::sim {

class Lifecycle {
public:
    Lifecycle(EventQueue& queue, Nodes& nodes, Network& network, fakes::Trace& trace);

    /// Gives a node its process. It is down until `start_all`.
    void host(NodeId node, Process& process);
    /// Starts the servers at once and every other process at the present instant, in the order of the ties.
    void start_all();

    /// Kills the node at the end of the present step; until then it counts as dead to the world. False when it was.
    bool crash(NodeId node);
    /// The same, of a process that ends with an error of its own: whoever watches it starts it again after `pause`, unless somebody has.
    void fail(NodeId node, engine::Duration pause);
    /// Carries out what `crash` began. The loop calls it after every event.
    void bury();
    /// Asks the node's process to end by itself. False when it is down, or has been asked before. REQUIRES: no step is running.
    bool stop(NodeId node);
    /// Starts the process of a node that is down; of one that is about to end, as soon as it has. False when it is up. REQUIRES:
    /// no step is running.
    bool restart(NodeId node);

    /// Stops the node until every pause has ended; false when it is down. `held_back` counts what waits because of it,
    /// outlives the pause and names it.
    bool pause(NodeId node, std::uint64_t& held_back);
    /// Ends that pause. Nothing happens when a crash has ended it already.
    void resume(NodeId node, std::uint64_t& held_back);

private:
    void boot(Node& node);
    void destroy(Node& node);
    bool tell(fakes::EventKind kind, NodeId node);

    EventQueue& queue_;
    Nodes& nodes_;
    Network& network_;
    fakes::Trace& trace_;
    std::vector<NodeId> dying_;
};

}  // namespace lockstep::sim
