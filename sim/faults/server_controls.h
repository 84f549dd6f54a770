// What a fault plan can do to the simulated servers as a whole, and to what schedulers start with. Whoever builds them
// implements it. Every call comes between events, those to a server only while its node is up.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "engine/runtime/time.h"
#include "fakes/event.h"
#include "sim/scenario/fault.h"

namespace lockstep::sim {

class ServerControls {
public:
    virtual ~ServerControls() = default;

    /// Connections break; for `loading` every command is answered with LOADING; what the persistence mode had not saved
    /// is lost.
    virtual void redis_restart(engine::Duration loading) = 0;
    /// A replica that is `lag` behind takes over; nothing answers for `takes`.
    virtual void redis_failover(engine::Duration lag, engine::Duration takes) = 0;
    /// Its replica gets nothing from here on, until as often as that it goes on again. False: it has none.
    virtual bool redis_replica_stalls() = 0;
    virtual void redis_replica_goes_on() = 0;
    /// A replica that is `lag` behind takes over, while the old primary goes on for these nodes until there is one again.
    virtual void redis_two_primaries(engine::Duration lag, std::vector<fakes::NodeId> with_the_old) = 0;
    virtual void redis_one_primary() = 0;
    /// Forgets every cached script. Returns how many there were.
    virtual std::uint64_t redis_script_flush() = 0;
    /// Removes the keys that match the glob. Returns how many.
    virtual std::uint64_t redis_evict(std::string_view keys) = 0;
    /// Cuts the texts under the keys that match the glob in half. Returns how many.
    virtual std::uint64_t redis_corrupt(std::string_view keys) = 0;

    /// Connections break; nobody can connect for `down`.
    virtual void nats_restart(engine::Duration down) = 0;
    /// The same, and messages that were acknowledged but not yet synced to disk are gone.
    virtual void nats_power_cut(engine::Duration down) = 0;

    /// Consumers get another leader, which delivers none of what is in hand again; what is `forgotten` it takes for done. Returns
    /// how many messages that are.
    virtual std::uint64_t nats_new_leader(bool forgotten) = 0;
    /// Streams and consumers stand still from here on, also within an event, until as often as that they may go on again.
    virtual void nats_quorum_lost() = 0;
    virtual void nats_quorum_back() = 0;

    /// Has an operator write the settings that `fault` holds. `effective` is to be called when a scheduler has put them in
    /// force, or refused them; it may be kept for as long as the fault plan lives.
    virtual void config_update(const faults::ConfigUpdate& fault, std::function<void()> effective) = 0;

    /// Whenever this scheduler starts from now on, it has the `config` of `fault`, this worker its `worker`, and all else as
    /// before.
    virtual void reconfigure(fakes::NodeId node, const faults::Restarting& fault) = 0;
};

}  // namespace lockstep::sim
