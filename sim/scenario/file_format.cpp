#include "sim/scenario/file_format.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "engine/ports/rare_branches.h"
#include "sim/scenario/catalogue.h"
#include "sim/scenario/schema.h"

namespace lockstep::sim {

namespace {

using namespace shape;

// Large enough for any question that a simulation can answer in reasonable time, small enough to catch a slip.
constexpr double kReplicasMax = 100;
constexpr double kWorkersMax = 100'000;
constexpr double kJobsMax = 1'000'000;
/// A server that takes less than this cannot even be asked what it holds.
constexpr double kPayloadMin = 4096;
constexpr double kBytesMax = 1e12;
constexpr double kFillingMax = 8'000'000;
/// A worker that never pauses would never let the time pass.
constexpr engine::Duration kHeartbeatMin = std::chrono::milliseconds{1};
constexpr double kSeedMax = 18446744073709551615.0;

/// A word list of which only the available items may be used.
Shape named(std::span<const NamedItem> table, std::string_view noun) {
    Shape made = word(names_of(table, true), noun);
    for (const NamedItem& item : table)
        if (!item.available) made.unavailable.emplace_back(item.name);
    return made;
}

Shape mechanism() { return defined(named(mechanism_table(), "mechanism"), "mechanism"); }
Shape invariant() { return defined(named(invariant_table(), "invariant"), "invariant"); }

Shape invariants() {
    Shape names = list(invariant(), 1);
    Shape made = either({word({"all"}), names,
                         object({{"all_but", "all are watched but these", names},
                                 {"violated", "a counterexample: these must be violated", names}})});
    made.expected = "\"all\", a list of invariants, {\"all_but\": [...]} or {\"violated\": [...]}";
    return made;
}

Shape rare_branch() {
    return defined(word({engine::kRareBranches.begin(), engine::kRareBranches.end()}, "rare branch"), "rare_branch");
}

std::vector<std::string> texts(std::span<const std::string> words) { return {words.begin(), words.end()}; }

Shape workers() {
    return object({
        {"id", "name; with a count, of `id`-0, `id`-1 and so on", text(), true},
        {"count", "like workers of this group", integer(1, kWorkersMax)},
        {"pool", "default: default", text()},
        {"max_parallel_jobs", "default 8", integer(0, 1'000'000)},
        {"capabilities", "", list(text())},
        {"labels", "", map(text_or_empty())},
        {"region", "", text()},
        {"type", "", text()},
        {"heartbeat", "pause between heartbeats; default 5s", duration_of_at_least(kHeartbeatMin)},
        {"service_time", "how long a job takes; default 1s", distribution()},
        {"outcomes", "weights of what a job comes to; default all SUCCEEDED",
         map(number(0), texts(worker_outcomes()), "outcome")},
        {"first_outcomes",
         "what the first jobs of each worker come to, one after the other and anew after a restart, before `outcomes` "
         "are "
         "drawn",
         list(word(texts(worker_outcomes()), "outcome"))},
        {"heartbeat_phase", "pause before the first heartbeat; default 0s", duration()},
        {"cpu_load", "percent of processor load that heartbeats report, drawn; default: by the jobs",
         object({{"min", "least", number(0, 100), true}, {"max", "most", number(0, 100), true}})},
        {"gpu_load", "percent of graphics processor load that heartbeats report, drawn; default: 0",
         object({{"min", "least", number(0, 100), true}, {"max", "most", number(0, 100), true}})},
        {"listens_to_cancel", "whether a JobCancel stops its job; default false", flag()},
    });
}

Shape cluster() {
    return object({
        {"schedulers", "scheduler replicas; default 1", integer(1, kReplicasMax)},
        {"workflow_engines", "workflow engine replicas on nodes of their own; default 0", integer(0, kReplicasMax)},
        {"schedulers_run_workflows", "whether each scheduler's process runs a workflow engine, too; default false",
         flag()},
        {"result_readers",
         "replicas of another service that reads the results of jobs through a durable of its own; default 0",
         integer(0, kReplicasMax)},
        {"gateway", "whether the gateway writes to Redis as a real one does; default full",
         word({"full", "publish-only"})},
        {"config", "engine tunables", format::tunables()},
        {"pools", "as pools.yaml; default: topic job.default, pool default", format::pools_document()},
        {"timeouts", "as timeouts.yaml", format::timeouts_document()},
        {"kernel", "the safety kernel",
         object({{"latency", "default 2ms", distribution()},
                 {"judging_rate", "bytes of questions a second that it judges, one after the other; default: no limit",
                  integer(1'000, kBytesMax)},
                 {"policy", "as safety.yaml; default: allow everything",
                  document("a safety policy, as in safety.yaml")}})},
        {"output_policy", "checks of results",
         object({{"enabled", "default false", flag()},
                 {"fail_mode", "default open", word({"open", "closed"})},
                 {"rules", "as output_rules of safety.yaml", list(document("an output rule, as in safety.yaml"))}})},
        {"workers", "groups of like workers", list(workers())},
        {"redis", "",
         object({{"persistence", "what a restart keeps; default always", word({"none", "everysec", "always"})},
                 {"replica_lag", "how far the replica is behind; default 0", duration()}})},
        {"nats", "",
         object({{"sync_interval", "how often streams reach the disk; 0s: with every write; default 1s", duration()},
                 {"max_payload", "bytes of one message; default 1048576", integer(kPayloadMin, kBytesMax)},
                 {"max_pending", "bytes that a client may let wait before it is hung up on; default 67108864",
                  integer(kPayloadMin, kBytesMax)},
                 {"jobs_stream_messages",
                  "messages that the stream of dispatches holds before it refuses more; default: no limit",
                  integer(1, kJobsMax)},
                 {"bandwidth", "bytes a second from NATS to each client; default: no limit", integer(1, kBytesMax)}})},
        {"service_rates", "steps a second that a node can take, by node or group; without one a step takes no time",
         map(rate(), {}, "node or group")},
        {"network", "", object({{"latency", "one way, between two nodes", distribution()}})},
        {"schedule", "who goes next where several nodes could",
         object({{"kind",
                  "by chance; by drawn priorities that hardly ever change; or in order of issue but for a few delays; "
                  "default random",
                  word({"random", "pct", "delay_bounded"}, "kind of schedule")},
                 {"depth",
                  "one more than the times that a node falls behind all others (pct) or that a message is held up "
                  "(delay_bounded); default 3",
                  integer(1, 100)},
                 {"within", "of how many steps from the beginning of the run those are drawn; default 20000",
                  integer(1, 1'000'000'000)},
                 {"lag",
                  "what a node sends takes so much longer for each rank above it (pct), or when it is held up "
                  "(delay_bounded); default 5ms",
                  duration()}})},
        {"clocks", "",
         object({{"offset", "of each node's clock", signed_distribution()},
                 {"drift_ppm", "bound of each node's drift, either way", number(0, 100'000)}})},
    });
}

Shape workflow() {
    return object({
        {"put", "a workflow definition that is stored", document("a workflow definition")},
        {"start", "id of a workflow that is started, `count` times", text()},
        {"run", "start: id of the run; default run-0, run-1 and so on", text()},
        {"input", "start: of the run; default {}", document("the input of a run")},
        {"org", "start: whose run it is; default: whose workflow it is, else default", text()},
        {"idempotency_key", "start: a second run under it is the first one", text()},
        {"approve", "id of a run of which a person decides on a step", text()},
        {"step", "approve: which, as in the run's `steps`", text()},
        {"approved", "approve: default true", flag()},
        {"cancel", "id of a run that a person cancels", text()},
        {"reason", "cancel: default: cancelled by an operator", text()},
        {"retry", "id of a run that a person has tried again once it has ended failed, denied or timed_out", text()},
        {"rewrite", "id of a run whose document the reference's gateway reads and writes back as it was", text()},
        {"takes",
         "approve, cancel and rewrite by the reference: how long after it has read the document it writes it, over "
         "whatever others have written meanwhile; default 0s",
         duration()},
        {"by",
         "who writes: lockstep, which wakes an engine, or the reference's gateway, which writes the documented keys "
         "whole and tells nobody; default lockstep",
         word({"lockstep", "reference"})},
    });
}

Shape load() {
    return object({
        {"at", "default 0s", duration()},
        {"topic", "default: the topic of the job, else job.default", text()},
        {"count", "jobs to submit; default 1", integer(1, kJobsMax)},
        {"rate", "default: all at once", rate()},
        {"job", "a CAP JobRequest in protobuf's JSON form", document("a CAP JobRequest in protobuf's JSON form")},
        {"payload_bytes", "bytes that each request is filled up by; default 0", integer(0, kFillingMax)},
        {"garbage", "bytes of messages on the submit subject that are no packets, `count` of them",
         integer(1, kFillingMax)},
        {"forge",
         "a CAP BusPacket in protobuf's JSON form, such as {\"heartbeat\": {...}} or {\"job_result\": {...}}, that a "
         "stranger publishes, `count` times",
         document("a CAP BusPacket in protobuf's JSON form")},
        {"raw", "bytes that a stranger publishes as they are on `subject`, `count` times", text()},
        {"subject", "where `forge` or `raw` is published; default of a packet: where packets of its kind belong",
         text()},
        {"redis", "a Redis command that the operator gives, word by word, such as [\"SET\", \"key\", \"value\"]",
         list(text_or_empty(), 1)},
        {"cancel", "id of a job that the operator cancels", text()},
        {"approve", "id of a job that the operator approves", text()},
        {"workflow", "what is asked of workflows and their runs: one of put, start, approve, cancel, retry and rewrite",
         workflow()},
    });
}

Shape chaos() {
    return object({
        {"level", "default moderate", named(chaos_level_table(), "chaos level")},
        {"faults", "default: all kinds", list(named(chaos_kind_table(), "kind of chaos"), 1)},
        {"heal_at", "when every fault ends; default: two thirds of the duration", duration()},
        {"fault_free", "stretches in which no drawn fault is in force; default: none",
         list(object({{"at", "", duration(), true}, {"for", "", duration_of_at_least(engine::Duration{1}), true}}))},
        {"heal", "default all", named(chaos_heal_table(), "way to heal")},
        {"data_loss", "also faults that destroy data which these servers had acknowledged; true: both; default false",
         either({flag(), word({kDataLosses.begin(), kDataLosses.end()}, "server that loses data")})},
    });
}

Shape job_state() { return defined(word(texts(job_states()), "job state"), "job_state"); }

std::vector<Field> outcomes() {
    auto event = format::event_filter();
    event.push_back({"outcome", "", word({"applied", "not_applied", "unknown"})});
    event.push_back({"trace", "only messages that carry this trace id", text()});
    event.push_back(
        {"in_any", "count the most in any span of this length, not all", duration_of_at_least(engine::Duration{1})});
    event.push_back(
        {"fields",
         "only messages whose packet has these, by path, such as {\"job_result.error_code\": \"timeout*\"}; * is any "
         "run of characters, and a field at its default is \"\"",
         map(text_or_empty())});
    event.push_back(
        {"before_event", "only those before the nth of these of the run, the node or the job", format::trigger()});
    event.push_back({"in_state", "only those about a job in this state", job_state()});
    event.push_back({"count", "default >= 1", comparison()});
    return {
        {"states", "jobs by final state", map(comparison(), texts(job_states()), "job state")},
        {"jobs", "final state by job id", map(job_state())},
        {"run_states", "workflow runs by status at the end", map(comparison(), texts(run_statuses()), "run status")},
        {"runs", "status at the end by run id", map(word(texts(run_statuses()), "run status"))},
        {"steps", "status at the end by run id and step, as in the run's `steps`",
         map(map(word(texts(step_statuses()), "step status")))},
        {"metrics", "name{label=\"v\"}:statistic; histograms have p50, p99, max, sum, count", map(comparison())},
        {"measures", "of the whole run, such as submit_to_terminal.p99; lockstep list measures names them",
         map(comparison())},
        {"events", "", list(defined(object(std::move(event)), "expected_event"))},
        {"dead_letters", "entries at the end",
         list(defined(object({{"job", "glob", text()},
                              {"code", "reason code; glob", text_or_empty()},
                              {"reason", "glob", text_or_empty()},
                              {"count", "default >= 1", comparison()}}),
                      "expected_letter"))},
        {"redis", "what Redis holds",
         list(defined(
             object({{"key", "", text(), true},
                     {"field", "of a hash", text_or_empty()},
                     {"member", "of a list, a set or a sorted set, where its score is the value", text_or_empty()},
                     {"value", "glob; default: any", text_or_empty()},
                     {"absent", "whether there is no such thing; default false", flag()},
                     {"at", "virtual time; default: at the end", duration()}}),
             "expected_value"))},
        {"sometimes", "rare branches that the seeds of a run must have reached", list(rare_branch())},
    };
}

Shape expectations() {
    auto fields = outcomes();
    fields.insert(fields.begin(), {"invariants", "default all", invariants()});
    return object(std::move(fields));
}

Shape proof() {
    return object({
        {"without", "the mechanism that the second run goes without", mechanism(), true},
        {"violated", "the invariants that break then, and no other", list(invariant(), 1)},
        {"expect", "what else is different then", object(outcomes())},
    });
}

Shape scenario() {
    return object({
        {"$schema", "for editors", text()},
        {"include", "parts that the file begins with, called *.part.json, and then changes (JSON Merge Patch)",
         either({text(), list(text(), 1)})},
        {"matrix", "values by path, as --set takes them: the file is a scenario of each combination",
         map(list(either({text(), number(std::numeric_limits<double>::lowest()), flag()}), 1), {}, "path")},
        {"name", "", text(), true},
        {"description", "", text_or_empty()},
        {"tags", "", list(text())},
        {"seed", "default 1; the command line can override it", integer(0, kSeedMax)},
        {"duration", "virtual time by which everything must have drained; default 30m", duration()},
        {"at_least", "the run goes on until then, however quiet it is; default 0s", duration()},
        {"cluster", "", cluster()},
        {"load", "what the gateway submits and the operator does", list(load())},
        {"faults", "", list(format::fault())},
        {"chaos", "a fault schedule drawn from the seed", chaos()},
        {"without", "protective mechanisms switched off", list(mechanism())},
        {"expect", "", expectations()},
        {"proves", "what a mechanism is good for: the file is run a second time without it", proof()},
    });
}

}  // namespace

const Shape& scenario_shape() {
    static const Shape kShape = scenario();
    return kShape;
}

std::string scenario_schema() {
    return json_schema(scenario_shape(), "Lockstep scenario",
                       "Written by `lockstep list --schema`. Comments (// and /* */) are allowed in scenario files.");
}

}  // namespace lockstep::sim
