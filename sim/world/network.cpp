#include "sim/world/network.h"

#include <utility>
#include <vector>

namespace lockstep::sim {

Network::Network(EventQueue& queue, Nodes& nodes, fakes::Trace& trace, fakes::Distribution latency,
                 fakes::KeyedRng& draws, Schedule* schedule)
    : queue_(queue), nodes_(nodes), trace_(trace), latency_(latency), draws_(draws), schedule_(schedule) {}

Network::~Network() { close(); }

void Network::close() {
    attempts_.clear();
    const auto connections = std::exchange(connections_, {});
    for (const auto& [id, connection] : connections) connection->detach();
}

void Network::listen(NodeId node, std::string_view service, fakes::Server& server) {
    servers_[{node, std::string(service)}] = &server;
}

void Network::connect(NodeId client, NodeId server, std::string_view service, fakes::ConnectionListener& listener,
                      Connected done) {
    if (!nodes_.alive(client)) return;
    const Id id = ++last_id_;
    attempts_.emplace(id, Attempt{client, server, std::string(service), &listener, std::move(done)});
    if (nodes_.paused(client)) {
        park(nodes_[client], [this, id] { ask(id); });
    } else {
        ask(id);
    }
}

void Network::ask(Id id) {
    const auto found = attempts_.find(id);
    if (found == attempts_.end()) return;
    Attempt& attempt = found->second;
    if (links_.cut(attempt.client, attempt.server)) {
        links_.count_cut(attempt.client, attempt.server);
        attempt.stage = Stage::cut_off;
        return;
    }
    attempt.stage = Stage::asking;
    // The world's own event, not the server's: a server that is down still has to refuse.
    queue_.push(queue_.now() + draw_delay(attempt.client, attempt.server), NodeId{},
                [this, id] { arrive_at_server(id); });
}

void Network::arrive_at_server(Id id) {
    const auto found = attempts_.find(id);
    if (found == attempts_.end()) return;
    Attempt& attempt = found->second;
    if (!nodes_.alive(attempt.server)) {
        refuse(id);
        return;
    }
    attempt.stage = Stage::at_server;
    queue_.push(queue_.now(), attempt.server, [this, id] { accept(id); });
}

void Network::accept(Id id) {
    const auto found = attempts_.find(id);
    if (found == attempts_.end()) return;
    const auto server = servers_.find({found->second.server, found->second.service});
    if (server == servers_.end() || !server->second->listening()) {
        refuse(id);
        return;
    }
    Attempt attempt = std::move(found->second);
    attempts_.erase(found);
    auto connection = std::make_shared<SimConnection>(*this, id, attempt.client, attempt.server);
    connections_.emplace(id, connection);
    // Sent first, so that the client has the connection before anything arrives on it.
    connection->send_to_client([done = std::move(attempt.done), connection, listener = attempt.listener] {
        connection->set_client_listener(*listener);
        done(connection);
    });
    connection->set_server_listener(server->second->on_accept(connection, attempt.client));
}

void Network::refuse(Id id) {
    Attempt& attempt = attempts_.at(id);
    if (links_.cut(attempt.server, attempt.client)) {
        links_.count_cut(attempt.server, attempt.client);
        attempt.stage = Stage::refusal_cut_off;
        return;
    }
    attempt.stage = Stage::refusing;
    queue_.push(queue_.now() + draw_delay(attempt.server, attempt.client), attempt.client, [this, id] { give_up(id); });
}

void Network::give_up(Id id) {
    auto attempt = attempts_.extract(id);
    if (!attempt.empty()) attempt.mapped().done(nullptr);
}

void Network::node_crashed(NodeId node) {
    // Aborting may forget the connection, so that the map must not be walked meanwhile.
    std::vector<std::shared_ptr<SimConnection>> concerned;
    for (const auto& [id, connection] : connections_) {
        if (connection->node(SimConnection::kClient) == node || connection->node(SimConnection::kServer) == node) {
            concerned.push_back(connection);
        }
    }
    for (const auto& connection : concerned) {
        for (const auto side : {SimConnection::kClient, SimConnection::kServer}) {
            if (connection->node(side) == node) connection->abort(side);
        }
    }
    std::erase_if(attempts_, [node](const auto& entry) { return entry.second.client == node; });
    for (const auto& [id, attempt] : attempts_) {
        if (attempt.server == node && attempt.stage == Stage::at_server) refuse(id);
    }
}

void Network::links_changed() {
    for (const auto& [id, attempt] : attempts_) {
        if (attempt.stage == Stage::cut_off) ask(id);
        if (attempt.stage == Stage::refusal_cut_off) refuse(id);
    }
    for (const auto& [id, connection] : connections_) connection->release_held();
}

// Message n of a link, whatever has been sent on others meanwhile.
fakes::Rng Network::draw_for(NodeId from, NodeId to) {
    return draws_.next(fakes::DrawKey().with(from.key()).with(to.key()));
}

Duration Network::draw_delay(NodeId from, NodeId to) {
    const Duration lag = schedule_ == nullptr ? Duration{} : schedule_->lag(from);
    fakes::Rng rng = draw_for(from, to);
    return latency_.draw(rng) + links_.delay(from, to) + lag;
}

void Network::park(Node& node, Action action) { node.hold_back(queue_.push_parked(node.id, std::move(action))); }

bool Network::report_broken(NodeId node, NodeId peer) {
    fakes::Event event;
    event.kind = fakes::EventKind::connection_broken;
    event.node = node;
    event.peer = peer;
    return trace_.emit(event);
}

void Network::forget(const SimConnection& connection) { connections_.erase(connection.id()); }

}  // namespace lockstep::sim
