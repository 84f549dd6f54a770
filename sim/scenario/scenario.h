// A scenario as the loader hands it to the simulator: everything resolved, every name checked, every default filled in.
// The file format is the user's contract; the loader's table is its one description.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/config/pinned_settings.h"
#include "engine/config/tunables.h"
#include "fakes/rng.h"
#include "sim/scenario/data_loss.h"
#include "sim/scenario/fault.h"

namespace lockstep::sim {

/// A group of like workers. Without a count the group is one worker named `id`; with one, `id-0`, `id-1` and so on.
struct WorkerGroup {
    std::string id;
    std::optional<int> count;
    std::string pool = "default";
    int max_parallel_jobs = 8;
    std::vector<std::string> capabilities;
    std::map<std::string, std::string> labels;
    std::string region;
    std::string type;
    Duration heartbeat = std::chrono::seconds{5};
    Distribution service_time = Distribution::constant(std::chrono::seconds{1});
    /// Weights by outcome: CAP status names without prefix, or hang, crash, late, duplicate, early, progress.
    std::map<std::string, double> outcomes = {{"SUCCEEDED", 1.0}};
    bool listens_to_cancel = false;  // a JobCancel stops its job
    /// Names as in `outcomes`: of the first jobs that a worker takes up after each start, before it draws.
    std::vector<std::string> first_outcomes;
    Duration heartbeat_phase{};                         // before the first heartbeat after a start
    std::optional<std::pair<double, double>> cpu_load;  // least and most that a heartbeat reports; absent: by its jobs
    std::optional<std::pair<double, double>> gpu_load;  // the same of its graphics processor; absent: none
};

/// JSON text of the documents that are parsed elsewhere, each by the code that production uses.
struct Documents {
    std::string pools;          // {"topics": {...}, "pools": {...}}
    std::string timeouts;       // as timeouts.yaml, durations turned into whole seconds; may be empty
    std::string policy;         // as safety.yaml
    std::string output_policy;  // {"enabled": ..., "fail_mode": ..., "rules": [...]}; may be empty
};

enum class RedisPersistence : std::uint8_t { none, everysec, always };

/// Who goes next where several could; see sim/world/schedule.h.
struct SchedulePolicy {
    enum class Kind : std::uint8_t { random, pct, delay_bounded };
    Kind kind = Kind::random;
    int depth = 3;                 // one more than the times that a node falls behind, or that a message is held up
    std::uint64_t within = 20000;  // of how many steps those are drawn, from the beginning of the run
    Duration lag = std::chrono::milliseconds{5};  // pct: of what a node sends, for each rank above it; else: of a delay
};

struct Cluster {
    int schedulers = 1;
    int workflow_engines = 0;               // on nodes of their own
    bool schedulers_run_workflows = false;  // each scheduler's process holds a workflow engine, too
    int result_readers = 0;                 // of another service; see sim/run/result_reader.h
    bool gateway_writes_redis = true;       // "gateway": "publish-only" switches it off
    engine::Tunables config;
    engine::PinnedSettings pinned;  // what `config` names is not the configuration service's to change
    Documents documents;
    Distribution kernel_latency = Distribution::constant(std::chrono::milliseconds{2});
    std::uint64_t kernel_judging_rate = 0;  // bytes of questions a second, one after the other; 0: no limit
    std::vector<WorkerGroup> workers;
    RedisPersistence redis_persistence = RedisPersistence::always;
    Duration redis_replica_lag{};
    Duration nats_sync_interval = std::chrono::seconds{1};     // zero: every write is on disk when it is acknowledged
    std::uint64_t nats_max_payload = 1'048'576;                // bytes of one message
    std::uint64_t nats_max_pending = std::uint64_t{64} << 20;  // bytes that a client may let wait
    std::uint64_t nats_jobs_stream_messages = 0;               // that the stream of dispatches takes; 0: no limit
    std::uint64_t nats_bandwidth = 0;  // of the link from NATS to each client, bytes per second; 0: no limit
    Distribution network_latency{Distribution::Kind::uniform, std::chrono::microseconds{200},
                                 std::chrono::milliseconds{2}, 0};
    SchedulePolicy schedule;
    Distribution clock_offset;
    /// Steps a second that a node can take, by node or group; the others' steps take no time.
    std::map<std::string, double> service_rates;
    double clock_drift_ppm = 0;  // each node draws its drift uniformly from -drift_ppm .. +drift_ppm
};

/// What somebody asks of workflows and their runs.
struct RunOrder {
    enum class Kind : std::uint8_t { put, start, approve, cancel, retry, rewrite };
    Kind kind = Kind::put;
    std::string workflow;       // put, start
    std::string definition;     // put: JSON, as it is stored
    std::string org;            // put, start
    std::string run;            // start: the given id, or empty for generated ones; else which
    std::string input = "{}";   // start: JSON
    std::string key;            // start: an idempotency key
    std::string step;           // approve: as in the run's `steps`
    bool approved = true;       // approve
    std::string reason;         // cancel
    bool by_reference = false;  // written as a gateway of another kind writes it, which tells nobody
    Duration takes{};           // approve, cancel, rewrite by the reference: from its read to its write
};

/// One line of load: submits, messages that are no packet, or packets and other bytes of a stranger, at a rate, one cancel,
/// approval or Redis command by an operator, or workflow runs.
struct Load {
    enum class Kind : std::uint8_t { submit, cancel, approve, garbage, forge, redis, workflow };
    Duration at{};
    Kind kind = Kind::submit;
    std::string job_id;                // cancel, approve: which; submit: the given id, or empty for generated ones
    std::string topic;                 // submit
    int count = 1;                     // submit, garbage, forge
    double per_second = 0;             // submit, garbage, forge: rate; 0 = all at once
    int payload_bytes = 0;             // submit: the request is filled up by as many; garbage: of each message
    std::string job_json;              // submit: a JobRequest in protobuf JSON form, without job id and topic
    std::string packet_json;           // forge: a BusPacket in protobuf JSON form; or
    std::string raw;                   // forge: what is published, whatever it is
    std::vector<std::string> command;  // redis: its words
    std::string subject;               // forge: where it is published; empty = where packets of its kind belong
    RunOrder order;                    // workflow
};

/// The ids of the jobs that these lines submit, in the order of the lines: a given id, else `job-0`, `job-1` and so on,
/// numbered over all lines.
[[nodiscard]] std::vector<std::string> job_ids(const std::vector<Load>& load);

/// The ids of the runs that these lines start, in the order of the lines: a given id, else `run-0`, `run-1` and so on, numbered over
/// all lines.
[[nodiscard]] std::vector<std::string> run_ids(const std::vector<Load>& load);

/// Sets them as an environment would: what it names is not the configuration service's to change.
void put_in_force(const NamedTunables& named, engine::Tunables& tunables, engine::PinnedSettings& pinned);

/// A stretch of virtual time.
struct Stretch {
    Duration at;
    Duration length;
};

struct Chaos {
    std::string level;
    std::vector<std::string> faults;
    std::optional<Duration> heal_at;
    std::vector<Stretch> fault_free;
    std::string heal = "all";
    DataLoss data_loss{};
};

/// A comparison such as ">= 180" or 0 (meaning == 0).
struct Expected {
    enum class Op : std::uint8_t { eq, ne, lt, le, gt, ge };
    Op op = Op::eq;
    double value = 0;
    bool is_duration = false;  // `value` is in seconds
    std::string text;          // as written
    [[nodiscard]] bool holds(double actual) const;
    /// It does not hold, and would of more.
    [[nodiscard]] bool is_too_few(double actual) const { return !holds(actual) && actual <= value; }
};

struct MetricExpectation {
    std::string metric;
    std::map<std::string, std::string> labels;
    std::string statistic;  // "", p50, p99, max, sum, count
    Expected expected;
    std::string text;  // as written
};

/// Of a measure (sim/measure/catalogue.h).
struct MeasureExpectation {
    std::string measure;
    Expected expected;
};

struct EventExpectation {
    Trigger filter;  // its event, when and filters
    std::string outcome;
    std::string trace;                          // the trace id that a message carries; empty = any
    std::optional<Duration> in_any;             // not how many in all, but at most in any span of this length
    std::map<std::string, std::string> fields;  // of its packet, by path: globs
    std::optional<Trigger> before_event;        // only those before the nth of these, of the run, the node or the job
    std::string in_state;                       // only those about a job in this state
    Expected count;
};

/// How many dead letters, by globs over the fields of their entries.
struct DeadLetterExpectation {
    std::string job, code, reason;
    Expected count;
};

/// What Redis holds at one time, or at the end.
struct RedisExpectation {
    std::string key;
    std::string field;                 // of a hash
    std::string member;                // of a list, a set or a sorted set, where its score is the value
    std::optional<std::string> value;  // a glob; absent: any
    bool absent = false;
    std::optional<Duration> at;
};

struct Expectations {
    std::string pointer = "/expect";  // where they stand in the file
    bool all_invariants = true;
    bool invariants_given = false;  // the file names them, be it as "all"; else all are checked, none must be exercised
    std::vector<std::string> invariants;  // when not all
    std::vector<std::string> all_but;     // when all: those that are not watched
    std::vector<std::string> violated;    // a counterexample: these must be violated
    std::map<std::string, Expected> states;
    std::map<std::string, std::string> jobs;
    std::map<std::string, Expected> run_states;                       // runs by status
    std::map<std::string, std::string> runs;                          // status by run
    std::map<std::string, std::map<std::string, std::string>> steps;  // status by run and step
    std::vector<MetricExpectation> metrics;
    std::vector<MeasureExpectation> measures;
    std::vector<EventExpectation> events;
    std::vector<DeadLetterExpectation> dead_letters;
    std::vector<RedisExpectation> redis;
    std::vector<std::string> sometimes;

    /// To hold, as far as it is not one that must be violated.
    [[nodiscard]] bool watches(std::string_view invariant) const {
        const std::vector<std::string>& named = all_invariants ? all_but : invariants;
        return all_invariants != (std::ranges::find(named, invariant) != named.end());
    }
};

/// What the file says about one mechanism: without it, these invariants break. Also runs as a second half, see proof.h.
struct Proof {
    std::string without;
    std::vector<std::string> violated;
    Expectations expect;  // of states, jobs, metrics, events and marks, instead of those of the file
};

struct Scenario {
    std::string file;
    std::string name;
    std::string description;
    std::vector<std::string> tags;
    std::uint64_t seed = 1;
    Duration duration = std::chrono::minutes{30};  // longer than a job may run (running_timeout)
    Duration at_least{};                           // it goes on until then, however quiet it is
    Cluster cluster;
    std::vector<Load> load;
    std::vector<Fault> faults;
    std::optional<Chaos> chaos;
    std::vector<std::string> without;
    Expectations expect;
    std::optional<Proof> proves;
    bool counterexample = false;    // made from another one's `proves`
    std::vector<std::string> cell;  // of the file's matrix: what is set in it, as --set takes it
};

}  // namespace lockstep::sim
