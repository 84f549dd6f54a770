// The registry against a model that is as simple as the rules: a worker is forgotten in the instant in which it is no longer
// alive. When the registry drops what it keeps of dead workers must make no difference.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>

#include "engine/routing/registry.h"
#include "engine/wire/messages.h"

namespace lockstep::engine {
namespace {

constexpr Duration kTtl = std::chrono::seconds{30};

struct Command {
    enum class Kind : std::uint8_t { heartbeat, handshake, hydrate, dispatch, forget, end, sweep, wait };
    Kind kind{};
    int worker = 0;
    int pool = 0;
    int number = 0;  // active jobs, or seconds
};

std::string name_of(int worker) { return "w" + std::to_string(worker); }
std::string pool_of(int pool) { return "p" + std::to_string(pool); }
std::string zone_of(int number) { return "z" + std::to_string(number % 2); }
constexpr const char* kZone = "placement.zone";

void showValue(const Command& command, std::ostream& os) {
    constexpr std::array kNames{"heartbeat", "handshake", "hydrate", "dispatch", "forget", "end", "sweep", "wait"};
    os << kNames.at(static_cast<std::size_t>(command.kind)) << " w" << command.worker << " p" << command.pool << " "
       << command.number;
}

rc::Gen<Command> any_command() {
    return rc::gen::build<Command>(
        rc::gen::set(&Command::kind,
                     rc::gen::map(rc::gen::inRange(0, 8), [](int kind) { return static_cast<Command::Kind>(kind); })),
        rc::gen::set(&Command::worker, rc::gen::inRange(0, 3)), rc::gen::set(&Command::pool, rc::gen::inRange(0, 2)),
        rc::gen::set(&Command::number, rc::gen::inRange(0, 45)));
}

class Model {
public:
    struct Known {
        bool routable = false;
        bool heard = false;
        std::string pool;
        int active = 0;
        int sent = 0;
        int ended = 0;
        MonoTime until{};
    };

    void apply(const Command& command, MonoTime now) {
        std::erase_if(known_, [now](const auto& one) { return now > one.second.until; });
        const std::string id = name_of(command.worker);
        const auto found = known_.find(id);
        switch (command.kind) {
            case Command::Kind::heartbeat:
                known_[id] = {true, true, pool_of(command.pool), command.number, 0, 0, now + kTtl};
                break;
            case Command::Kind::handshake:
                known_[id].heard = known_[id].heard || !known_[id].routable;
                known_[id].until = now + kTtl;
                break;
            case Command::Kind::hydrate:
                if (found == known_.end() || !found->second.heard)
                    known_[id] = {true,
                                  false,
                                  pool_of(command.pool),
                                  command.number,
                                  0,
                                  0,
                                  now + std::chrono::seconds{command.number}};
                break;
            case Command::Kind::dispatch:
                if (found != known_.end()) ++found->second.sent;
                break;
            case Command::Kind::forget:
                if (found != known_.end()) found->second.sent = std::max(0, found->second.sent - 1);
                break;
            case Command::Kind::end:
                if (found != known_.end()) ++found->second.ended;
                break;
            case Command::Kind::sweep:
            case Command::Kind::wait: break;
        }
    }
    [[nodiscard]] const Known* find(const std::string& id, MonoTime now) const {
        const auto found = known_.find(id);
        return found == known_.end() || now > found->second.until ? nullptr : &found->second;
    }

private:
    std::map<std::string, Known> known_;
};

void apply(Registry& registry, const Command& command, MonoTime now) {
    const std::string id = name_of(command.worker);
    cap::Heartbeat heartbeat;
    cap::Handshake handshake;
    Worker worker;
    switch (command.kind) {
        case Command::Kind::heartbeat:
            heartbeat.set_worker_id(id);
            heartbeat.set_pool(pool_of(command.pool));
            heartbeat.set_active_jobs(command.number);
            if (command.number % 3 != 0) (*heartbeat.mutable_labels())[kZone] = zone_of(command.number);
            registry.on_heartbeat(heartbeat, now);
            return;
        case Command::Kind::handshake:
            handshake.set_role(cap::COMPONENT_ROLE_WORKER);
            handshake.set_component_id(id);
            registry.on_handshake(handshake, now);
            return;
        case Command::Kind::hydrate:
            worker.id = WorkerId(id);
            worker.pool = pool_of(command.pool);
            worker.active_jobs = command.number;
            worker.labels = {{"rack", "7"}, {std::string(kZone), zone_of(command.number)}};
            registry.hydrate(worker, now + std::chrono::seconds{command.number}, now);
            return;
        case Command::Kind::dispatch: return registry.note_dispatch(WorkerId(id));
        case Command::Kind::forget: return registry.forget_dispatch(WorkerId(id));
        case Command::Kind::end: return registry.note_end(WorkerId(id));
        case Command::Kind::sweep: return registry.sweep(now);
        case Command::Kind::wait: return;
    }
}

/// Who is alive of those in the index, as it has them.
std::vector<std::string> in_order(const LoadIndex::Order* order, MonoTime now) {
    std::vector<std::string> ids;
    if (order == nullptr) return ids;
    for (const LoadIndex::Place& place : *order)
        if (Registry::alive(*place.worker, now)) ids.push_back(place.worker->id.text());
    return ids;
}

/// Least loaded first, then by id.
std::vector<std::string> by_load(const Registry& registry, std::vector<std::string> ids, MonoTime now) {
    std::ranges::sort(ids, {}, [&](const std::string& id) {
        return std::pair(load_score(*registry.find_routable(WorkerId(id), now), true), id);
    });
    return ids;
}

void agree(const Registry& registry, const Model& model, MonoTime now) {
    std::size_t routable = 0;
    std::map<std::string, std::vector<std::string>> by_pool;
    for (int number = 0; number < 3; ++number) {
        const std::string id = name_of(number);
        const Model::Known* expected = model.find(id, now);
        RC_ASSERT(registry.is_alive(WorkerId(id), now) == (expected != nullptr));
        const Worker* worker = registry.find_routable(WorkerId(id), now);
        RC_ASSERT((worker != nullptr) == (expected != nullptr && expected->routable));
        if (worker == nullptr) continue;
        ++routable;
        by_pool[expected->pool].push_back(id);
        RC_ASSERT(worker->pool == expected->pool);
        RC_ASSERT(worker->active_jobs == expected->active);
        RC_ASSERT(worker->sent_since_heartbeat == expected->sent);
        RC_ASSERT(worker->ended_since_heartbeat == expected->ended);
        RC_ASSERT(worker->heard == expected->heard);
    }
    for (int pool = 0; pool < 2; ++pool) {
        const auto& members = by_pool[pool_of(pool)];
        RC_ASSERT(in_order(registry.by_load().of_pool(pool_of(pool)), now) == by_load(registry, members, now));
        for (const char* zone : {"z0", "z1"}) {
            std::vector<std::string> carriers;
            for (const std::string& id : members) {
                const auto& labels = registry.find_routable(WorkerId(id), now)->labels;
                if (labels.contains(kZone) && labels.at(kZone) == zone) carriers.push_back(id);
            }
            RC_ASSERT(in_order(registry.by_load().carriers(pool_of(pool), kZone, zone), now) ==
                      by_load(registry, carriers, now));
        }
        RC_ASSERT(registry.by_load().carriers(pool_of(pool), "rack", "7") == nullptr);
    }
    RC_ASSERT(registry.statistics(now).workers == routable);
}

// H-24
RC_GTEST_PROP(RegistryProperty, KnowsExactlyWhoIsAliveWhateverWasSweptAway, ()) {
    const auto commands = *rc::gen::container<std::vector<Command>>(any_command());
    Registry registry(kTtl);
    Model model;
    MonoTime now{std::chrono::hours{1}};
    for (const Command& command : commands) {
        if (command.kind == Command::Kind::wait) now += std::chrono::seconds{command.number};
        apply(registry, command, now);
        model.apply(command, now);
        agree(registry, model, now);
    }
}

}  // namespace
}  // namespace lockstep::engine
