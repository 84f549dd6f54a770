#include "sim/simulation/simulation.h"

#include <algorithm>
#include <utility>

#include "engine/runtime/invariant.h"

namespace lockstep::sim {

namespace {

constexpr Duration kCheckInterval = std::chrono::seconds{1};
/// How long an interrupt may wait: counted in steps, since there may be no end of them at one instant.
constexpr std::uint64_t kStepsBetweenLooks = 256;
/// A timer this far away never fires; the sum with any clock still fits.
constexpr Duration kNever = Duration::max() / 4;

}  // namespace

Simulation::Simulation(const Scenario& scenario, std::uint64_t seed, SimulationOptions options)
    : seed_(seed),
      options_(std::move(options)),
      topology_(scenario.cluster),
      schedule_(scenario.cluster.schedule, topology_.nodes().size(), seed),
      queue_(seed, options_.ties, &schedule_),
      nodes_(topology_, scenario.cluster, seed, queue_, *this),
      trace_(queue_, nodes_),
      network_(queue_, nodes_, trace_, scenario.cluster.network_latency, draws("network"), &schedule_),
      lifecycle_(queue_, nodes_, network_, trace_),
      fault_plan_(queue_, topology_, nodes_, lifecycle_, network_, trace_, seed) {
    const engine::LogLevel* least = options_.log_level ? &*options_.log_level : nullptr;
    for (const Topology::Entry& node : topology_.nodes()) {
        logs_.emplace_back(node.id, trace_, marks_, least);
        metrics_.emplace_back(node.id, metric_store_);
    }
    trace_.add_observer(metric_store_);
    trace_.set_last_observer(fault_plan_);
    fault_plan_.set_replica_lag(scenario.cluster.redis_replica_lag);
    for (const Fault& fault : scenario.faults) fault_plan_.add(fault);
}

Simulation::~Simulation() { close(); }

Simulation::End Simulation::run(Time limit, const std::function<bool()>& done) {
    while (!stopped_) {
        if (to_be_interrupted()) {
            interrupted_ = true;
            stop("interrupted");
            break;
        }
        const std::optional<Time> next = queue_.next_time();
        if (!next) return End::idle;
        if (*next > limit) {
            queue_.advance(std::max(limit, now()));
            return End::limit;
        }
        const Time check{std::chrono::floor<std::chrono::seconds>(next->time_since_epoch())};
        if (done && check >= next_check_) {
            queue_.advance(std::max(check, now()));
            next_check_ = check + kCheckInterval;
            if (done()) return End::done;
            settle();
            continue;
        }
        step();
    }
    return End::stopped;
}

Simulation::End Simulation::run_for(Duration duration) {
    const Time limit = now() + duration;
    const End end = run(limit);
    if (end == End::idle) queue_.advance(limit);
    return end;
}

bool Simulation::to_be_interrupted() const {
    return options_.interrupt && steps_ % kStepsBetweenLooks == 0 && options_.interrupt();
}

void Simulation::step() {
    const EventQueue::Due due = queue_.pop();
    ++steps_;
    try {
        if (due.node.valid()) {
            run_entry(due, nodes_[due.node]);
        } else {
            queue_.take_action(due.ticket)();
        }
        settle();
    } catch (...) {
        on_defect(due.node.valid() ? due.node : nodes_.current(), std::current_exception());
    }
    nodes_.set_current(NodeId{});
}

void Simulation::run_entry(const EventQueue::Due& due, Node& node) {
    if (node.paused()) {
        node.hold_back(due.ticket);
        return;
    }
    if (!node.up) {
        queue_.cancel(due.ticket);
        return;
    }
    if (node.step_time > Duration::zero()) {
        if (node.busy(now())) {
            if (node.line.empty()) serve_later(node);
            node.line.push(due.ticket);
            return;
        }
        node.free_at = now() + node.step_time;
    }
    take_step(due, node);
}

void Simulation::serve_later(Node& node) {
    queue_.push(node.free_at, NodeId{}, [this, &node] { serve_next(node); });
}

void Simulation::serve_next(Node& node) {
    // Another one is on its way when the node has crashed, or was paused, since this one was sent.
    if (now() < node.free_at) return;
    if (node.paused()) node.hold_back_line();
    while (!node.line.empty()) {
        const EventQueue::Ticket next = node.line.pop();
        if (!queue_.holds(next)) continue;
        node.free_at = now() + node.step_time;
        if (!node.line.empty()) serve_later(node);
        take_step({next, node.id}, node);
        return;
    }
}

void Simulation::take_step(const EventQueue::Due& due, Node& node) {
    nodes_.set_current(node.id);
    schedule_.step(node.id);
    if (!queue_.is_work(due.ticket)) {
        queue_.take_action(due.ticket)();
    } else {
        if (queue_.is_timer(due.ticket)) {
            fakes::Event event;
            event.kind = fakes::EventKind::timer;
            event.node = node.id;
            // A fault may be placed here: a dead node runs nothing, a paused one runs it later.
            if (!trace_.emit(event)) return;
            if (node.paused()) {
                node.hold_back(due.ticket);
                return;
            }
        }
        node.executor.step(queue_.take_work(due.ticket));
    }
    nodes_.set_current(NodeId{});
}

void Simulation::settle() {
    nodes_.set_current(NodeId{});
    lifecycle_.bury();
    fault_plan_.run_commands();
    lifecycle_.bury();
}

void Simulation::on_defect(NodeId node, std::exception_ptr error) {
    if (defect_) return;
    Defect defect{.at = now(), .node = node};
    try {
        std::rethrow_exception(std::move(error));
    } catch (const engine::InvariantViolation& violation) {
        defect.what = violation.what();
        defect.invariant = true;
    } catch (const std::exception& other) {
        defect.what = other.what();
    } catch (...) {
        defect.what = "an exception of no known type";
    }
    stop(defect.what);
    defect_ = std::move(defect);
}

void Simulation::stop(std::string reason) {
    if (!stopped_) stop_reason_ = std::move(reason);
    stopped_ = true;
}

void Simulation::close() {
    if (closed_) return;
    closed_ = true;
    stopped_ = true;
    network_.close();
    queue_.drop_all_actions();
}

WallTime Simulation::wall(NodeId node) const {
    return node.valid() ? nodes_[node].clock.wall(now()) : perfect_wall(now());
}

MonoTime Simulation::monotonic(NodeId node) const {
    return node.valid() ? nodes_[node].clock.monotonic(now()) : MonoTime{now().time_since_epoch()};
}

fakes::World::TimerId Simulation::after(NodeId node, Duration delay, Action action) {
    PRECONDITION(delay >= Duration::zero(), "a timer of {} ns", delay.count());
    if (closed_ || !nodes_.alive(node)) return 0;
    delay = std::min(delay, kNever);
    if (!node.valid()) return queue_.push(now() + delay, node, std::move(action));
    const LocalClock& clock = nodes_[node].clock;
    const MonoTime deadline = clock.monotonic(now()) + delay;
    return queue_.push(clock.when(deadline, now()), node, std::move(action), deadline);
}

void Simulation::listen(NodeId node, std::string_view service, fakes::Server& server) {
    network_.listen(node, service, server);
}

void Simulation::connect(NodeId client, NodeId server, std::string_view service, fakes::ConnectionListener& listener,
                         std::function<void(std::shared_ptr<fakes::Connection>)> done) {
    if (!closed_) network_.connect(client, server, service, listener, std::move(done));
}

fakes::KeyedRng& Simulation::draws(std::string_view family) {
    auto found = draws_.find(family);
    if (found == draws_.end()) found = draws_.emplace(family, fakes::KeyedRng(seed_, family)).first;
    return found->second;
}

}  // namespace lockstep::sim
