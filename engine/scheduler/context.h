// What all parts of one scheduler share. Owned by Scheduler; everything else holds a reference.
#pragma once

#include <memory>
#include <string>

#include "engine/config/mechanisms.h"
#include "engine/config/timeouts.h"
#include "engine/config/tunables.h"
#include "engine/output/output_client.h"
#include "engine/policy/policy_client.h"
#include "engine/ports/bus.h"
#include "engine/ports/clock.h"
#include "engine/ports/entropy.h"
#include "engine/ports/kernel.h"
#include "engine/ports/log.h"
#include "engine/ports/metrics.h"
#include "engine/ports/redis.h"
#include "engine/routing/pools.h"
#include "engine/routing/registry.h"
#include "engine/runtime/executor.h"
#include "engine/runtime/scope.h"
#include "engine/saga/saga_store.h"
#include "engine/scheduler/jobs_stream.h"
#include "engine/store/job_store.h"

namespace lockstep::engine {

/// Everything the engine asks of the world. All of it outlives the scheduler.
struct Ports {
    Executor& executor;
    Clock& clock;
    Entropy& entropy;
    Redis& redis;
    Bus& bus;
    Kernel& kernel;
    Metrics& metrics;
    Log& log;
};

inline constexpr const char* kSchedulerSender = "cordum-scheduler";

struct Context {
    Context(const Ports& p, Tunables t, RoutingTable table, const Mechanisms& m = {}, Timeouts limits = {})
        : ports(p),
          tunables(std::move(t)),
          mechanisms(m),
          timeouts(std::move(limits)),
          store(p.redis, p.clock, tunables, scripts),
          sagas(p.redis, p.clock, tunables, scripts, mechanisms),
          policy(p.kernel, p.redis, p.clock, p.log, tunables, scripts, mechanisms),
          output(p.kernel, p.redis, p.clock, p.metrics, p.log, tunables, scripts, mechanisms),
          jobs_stream(p.bus, p.clock, p.log, tunables, mechanisms),
          registry(tunables.worker_ttl, m.on(Mechanism::heartbeat_bounds)),
          routing(std::make_shared<const RoutingTable>(routable(std::move(table)))) {
        store.report_to(p.log, p.metrics);
    }
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;

    [[nodiscard]] LeasePorts lease_ports() {
        return {ports.clock, ports.redis, ports.metrics, ports.log,  ports.executor,
                tunables,    scripts,     leases,        mechanisms, releases};
    }

    Ports ports;
    Tunables tunables;  // some of them change while the scheduler runs: see config_watcher.h
    const Mechanisms mechanisms;
    Timeouts timeouts;  // by topic and workflow; change as well
    StoreScripts scripts;
    LeaseBook leases;
    JobStore store;
    SagaStore sagas;
    PolicyClient policy;
    OutputPolicyClient output;
    JobsStream jobs_stream;
    Registry registry;
    std::shared_ptr<const RoutingTable> routing;
    bool stopping = false;
    int active_handlers = 0;         // messages in hand, of all pumps
    Scope releases{ports.executor};  // last: its tasks use everything above
};

}  // namespace lockstep::engine
