// The example of the user's manual, letter by letter: what it shows must load.
#pragma once

#include <string_view>

namespace lockstep::sim {

inline constexpr std::string_view kManualExample = R"JSON({
  "name": "paused-dispatcher-does-not-dispatch-twice",
  "description": "A replica is frozen longer than its job lock lives; another takes over.",
  "tags": ["locks", "pause"],
  "seed": 7,                               // default 1; the command line can override it
  "duration": "15m",                       // virtual; the run ends earlier once all is quiet
  "cluster": {
    "schedulers": 3,                       // replicas
    "workflow_engines": 0,
    "config": { "job_lock_ttl": "60s", "max_dispatch_retries": 3 },   // engine tunables, see below
    "pools": { "topics": { "job.default": ["default"] }, "pools": { "default": { "requires": [] } } },
    "timeouts": { "reconciler": { "dispatch_timeout": "2m", "running_timeout": "4m", "scan_interval": "30s" } },
    "kernel": { "latency": "2ms", "policy": { "default_decision": "allow",
      "rules": [ { "id": "ask", "match": { "labels": { "needs": "a human" } }, "decision": "require_approval" } ] } },
    "output_policy": { "enabled": false, "rules": [] },
    "workers": [
      { "id": "w", "count": 4, "pool": "default", "max_parallel_jobs": 8, "capabilities": [], "labels": {},
        "heartbeat": "5s", "service_time": { "dist": "exp", "mean": "2s" },
        "outcomes": { "SUCCEEDED": 0.97, "FAILED": 0.02, "FAILED_RETRYABLE": 0.01 } }
    ],
    "redis": { "persistence": "everysec", "replica_lag": "50ms" },
    "network": { "latency": { "dist": "uniform", "min": "200us", "max": "2ms" } },
    "clocks": { "offset": { "dist": "uniform", "min": "-50ms", "max": "50ms" }, "drift_ppm": 50 }
  },
  "load": [
    { "at": "1s", "topic": "job.default", "count": 200, "rate": "20/s", "job": { "priority": "JOB_PRIORITY_BATCH" } },
    { "at": "3s", "job": { "job_id": "special", "topic": "job.default", "labels": { "preferred_worker_id": "w-2" } } },
    { "at": "4s", "job": { "job_id": "sensitive", "topic": "job.default", "labels": { "needs": "a human" } } },
    { "at": "9s", "cancel": "special" },
    { "at": "20s", "approve": "sensitive" }
  ],
  "faults": [
    { "at": "12s", "do": "pause", "target": "scheduler-0", "for": "75s" },
    { "at": "40s", "do": "redis.errors", "rate": 0.3, "outcome": "unknown", "for": "5s" },
    { "on": { "event": "publish", "subject": "worker.*.jobs", "when": "applied", "nth": 3 }, "do": "crash", "target": "actor", "for": "20s" }
  ],
  "chaos": { "level": "moderate", "faults": ["crash", "pause", "partition", "redis", "nats", "kernel"], "heal_at": "8m" },
  "without": [],                           // protective mechanisms switched off
  "expect": {
    "invariants": "all",                   // or a list; or {"violated": ["no_duplicate_dispatch"]} for a counterexample
    "states": { "SUCCEEDED": ">= 180", "PENDING": 0 },
    "jobs": { "special": "CANCELLED", "sensitive": "SUCCEEDED" },
    "metrics": { "cordum_scheduler_dispatch_latency_seconds:p99": "< 30s" },   // full metric name, {label="v"} optional, :p50 :p99 :max :sum :count
    "events": [ { "event": "redis", "outcome": "unknown", "count": ">= 1" } ],
    "sometimes": [ "publish_outcome_unknown" ]   // reached("…") marks that the seeds of a run must have passed
  }
}
)JSON";

}  // namespace lockstep::sim
