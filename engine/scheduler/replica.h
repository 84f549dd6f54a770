// All that the parts of one scheduler share. Owned by Scheduler; what is in this room holds a reference. Rooms below are given
// what they use of it, one by one, in their constructors.
#pragma once

#include <memory>
#include <utility>

#include "engine/config/context.h"
#include "engine/config/pools.h"
#include "engine/config/timeouts.h"
#include "engine/output/output_client.h"
#include "engine/policy/policy_client.h"
#include "engine/rollback/saga_store.h"
#include "engine/routing/registry.h"
#include "engine/scheduler/jobs_stream.h"
#include "engine/store/dead_letter_store.h"
#include "engine/store/job_lease.h"
#include "engine/store/job_store.h"
#include "engine/store/sweep_store.h"

namespace lockstep::engine {

struct Replica : Context {
    Replica(const Ports& p, Tunables t, RoutingTable table, const Mechanisms& m = {}, Timeouts limits = {},
            std::shared_ptr<Room> r = nullptr)
        : Context(p, std::move(t), m, std::move(r)),
          timeouts(std::move(limits)),
          store(ports.redis, ports.clock, tunables, scripts),
          sweeps(ports.redis, ports.clock, tunables, scripts, store.news()),
          letters(ports.redis, ports.clock, tunables, scripts),
          sagas(ports.redis, ports.clock, tunables, scripts, mechanisms),
          policy(ports.kernel, ports.redis, ports.clock, ports.log, large_content, tunables, scripts, mechanisms),
          output(ports.kernel, ports.redis, ports.clock, ports.metrics, ports.log, large_content, tunables, scripts,
                 mechanisms),
          jobs_stream(ports.bus, ports.clock, ports.log, tunables, mechanisms),
          registry(tunables.worker_ttl, mechanisms.on(Mechanism::heartbeat_bounds)),
          routing(std::make_shared<const RoutingTable>(routable(std::move(table)))),
          leases(*this, scripts) {
        store.news().report_to(ports.log, ports.metrics);
    }

    Timeouts timeouts;  // by topic and workflow; change while the scheduler runs, see config_watcher.h
    const StoreScripts& scripts = StoreScripts::shared();
    JobStore store;
    SweepStore sweeps;
    DeadLetterStore letters;
    SagaStore sagas;
    LargeContent large_content;
    PolicyClient policy;
    OutputPolicyClient output;
    JobsStream jobs_stream;
    Registry registry;
    std::shared_ptr<const RoutingTable> routing;  // changes as well
    Leases leases;                                // last: its tasks use what stands above
};

}  // namespace lockstep::engine
