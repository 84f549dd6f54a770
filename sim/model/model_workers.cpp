// What the model makes of workers: which of them each replica has heard.
#include "engine/wire/messages.h"
#include "sim/model/heartbeat_bounds.h"
#include "sim/model/model.h"
#include "sim/model/snapshot_text.h"

namespace lockstep::sim {

using fakes::Event;

void Model::on_sign_of_life(const Event& event, Time now) {
    if (event.packet == nullptr || !event.node.valid()) return;
    const Since since{clock_.present(), now};
    if (event.packet->has_handshake()) {
        liveness_of(event.node, event.packet->handshake().component_id()).heard = since;
    } else if (event.packet->has_heartbeat()) {
        const cap::Heartbeat& heartbeat = event.packet->heartbeat();
        if (is_within_bounds(heartbeat))
            liveness_of(event.node, heartbeat.worker_id()).heard = since;
        else
            note(HeartbeatOutOfBounds{}, event.node, nullptr, clock_.present());
    }
}

void Model::on_snapshot(const Event& event, Time now) {
    if (!event.node.valid()) return;
    for (const auto& [worker, named] : read_snapshot(event.payload).workers)
        liveness_of(event.node, worker).named = {clock_.present(), now};
}

Liveness& Model::liveness_of(fakes::NodeId replica, std::string_view worker) {
    const auto place = static_cast<std::size_t>(replica.value);
    if (place >= workers_.size()) workers_.resize(place + 1);
    const WorkerNumber number = worker_names_.number_of(worker);
    if (number >= workers_[place].size()) workers_[place].resize(number + 1);
    return workers_[place][number];
}

std::span<const Liveness> Model::workers_of(fakes::NodeId replica) const {
    const auto place = static_cast<std::size_t>(replica.value);
    return place < workers_.size() ? std::span<const Liveness>(workers_[place]) : std::span<const Liveness>{};
}

const Liveness* Model::liveness(fakes::NodeId replica, WorkerNumber worker) const {
    const std::span<const Liveness> workers = workers_of(replica);
    if (worker >= workers.size()) return nullptr;
    const Liveness& known = workers[worker];
    return known.heard.event == 0 && known.named.event == 0 ? nullptr : &known;
}

}  // namespace lockstep::sim
