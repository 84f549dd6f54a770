#include "sim/world/connection.h"

#include <algorithm>
#include <utility>

#include "sim/world/network.h"

namespace lockstep::sim {

SimConnection::SimConnection(Network& network, std::uint64_t id, NodeId client, NodeId server)
    : network_(&network), id_(id) {
    ends_[kClient].node = client;
    ends_[kServer].node = server;
}

bool SimConnection::open() const {
    if (network_ == nullptr) return false;
    const NodeId running = network_->nodes().current();
    if (running == ends_[kClient].node) return !ends_[kClient].closed;
    if (running == ends_[kServer].node) return !ends_[kServer].closed;
    return !ends_[kClient].closed && !ends_[kServer].closed;
}

void SimConnection::send(Side from, Action arrival) {
    if (ends_[from].closed || !network_->nodes().alive(ends_[from].node)) return;
    depart(from, std::move(arrival));
}

void SimConnection::close(Side side) {
    // A dying process closes its connections as it is destroyed; the crash itself ends them.
    if (ends_[side].closed || !network_->nodes().alive(ends_[side].node)) return;
    shut(side);
}

void SimConnection::abort(Side side) {
    End& end = ends_[side];
    const bool end_unsent = end.closed && !end.outbox.empty();
    end.outbox.clear();  // it never left the machine
    if (!end.closed) {
        shut(side);
    } else if (end_unsent) {
        depart(side, Action{});
    }
}

void SimConnection::shut(Side side) {
    End& end = ends_[side];
    end.closed = true;
    end.listener = nullptr;
    ends_[other(side)].in_flight.clear();
    ends_[other(side)].held.clear();
    // What waits for a retransmission when its sender goes may be sent once more, or not.
    if (!end.held.empty())
        end.held.truncate(network_->draw_for(end.node, ends_[other(side)].node).below(end.held.size() + 1));
    if (!ends_[other(side)].closed) depart(side, Action{});
    if (finished()) network_->forget(*this);
}

void SimConnection::detach() {
    network_ = nullptr;
    for (End& end : ends_) {
        end.closed = true;
        end.listener = nullptr;
    }
    for (End& end : ends_) {
        end.outbox.clear();
        end.held.clear();
        end.in_flight.clear();
    }
}

void SimConnection::depart(Side from, Action message) {
    End& end = ends_[from];
    Node& sender = network_->nodes()[end.node];
    if (end.outbox.empty() && !(sender.paused() && sender.alive())) {
        fly(from, std::move(message));
        return;
    }
    if (end.outbox.empty()) {
        network_->park(sender, [self = shared_from_this(), from] { self->leave_outbox(from); });
    }
    end.outbox.push(std::move(message));
}

void SimConnection::leave_outbox(Side from) {
    while (!ends_[from].outbox.empty()) fly(from, ends_[from].outbox.pop());
}

void SimConnection::release_held() {
    for (const Side from : {kClient, kServer}) {
        End& end = ends_[from];
        if (end.held.empty() || network_->links().cut(end.node, ends_[other(from)].node)) continue;
        Fifo<Action> waiting = std::exchange(end.held, {});
        while (!waiting.empty()) fly(from, waiting.pop());
    }
}

void SimConnection::fly(Side from, Action message) {
    End& end = ends_[from];
    const Side to = other(from);
    if (ends_[to].closed) return;
    if (!end.held.empty() || network_->links().cut(end.node, ends_[to].node)) {
        network_->links().count_cut(end.node, ends_[to].node);
        end.held.push(std::move(message));
        return;
    }
    EventQueue& queue = network_->queue();
    const Time soonest = queue.now() + network_->draw_delay(end.node, ends_[to].node);
    end.last_arrival = std::max(soonest, end.last_arrival + Duration{1});
    end.in_flight.push(std::move(message));
    queue.push(end.last_arrival, ends_[to].node, [self = shared_from_this(), to] { self->arrive(to); });
}

void SimConnection::arrive(Side to) {
    if (ends_[to].closed) return;
    Action message = ends_[other(to)].in_flight.pop();
    if (message) {
        message();
    } else {
        hear_of_end(to);
    }
}

void SimConnection::hear_of_end(Side side) {
    End& end = ends_[side];
    fakes::ConnectionListener* listener = std::exchange(end.listener, nullptr);
    end.closed = true;
    const std::shared_ptr<SimConnection> self = shared_from_this();
    const bool lives_on = network_->report_broken(end.node, ends_[other(side)].node);
    network_->forget(*this);
    if (lives_on && listener != nullptr) listener->on_broken();
}

}  // namespace lockstep::sim
