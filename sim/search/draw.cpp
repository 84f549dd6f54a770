#include "sim/search/draw.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/config/tunables.h"
#include "engine/wire/json_text.h"
#include "sim/scenario/catalogue.h"
#include "sim/search/dice.h"
#include "sim/search/disturbances.h"
#include "sim/search/fault_free.h"
#include "sim/search/limit_themes.h"
#include "sim/search/request_themes.h"
#include "sim/search/theme_parts.h"
#include "sim/search/themes.h"

namespace lockstep::sim {

namespace {

struct Candidate {
    const char* name;
    std::array<const char*, 4> values;
};

// Values that shift the order of things, within what an operator might choose. Lock lives and ack waits come below the
// lengths of freezes, so that a freeze outlives them.
constexpr std::array kTunables{
    Candidate{"job_lock_ttl", {"5s", "10s", "20s", "60s"}},
    Candidate{"bus_ack_wait", {"10s", "30s", "2m", "10m"}},
    Candidate{"bus_processed_ttl", {"20s", "1m", "4m", "20m"}},
    Candidate{"worker_ttl", {"10s", "15s", "30s", "60s"}},
    Candidate{"pending_age", {"10s", "30s", "1m", "2m"}},
    Candidate{"replayer_interval", {"5s", "10s", "20s", "30s"}},
    Candidate{"reconciler_interval", {"5s", "10s", "20s", "30s"}},
    Candidate{"dispatch_timeout", {"20s", "1m", "2m", "5m"}},
    Candidate{"running_timeout", {"30s", "1m", "5m", "15m"}},
    Candidate{"backoff_max", {"2s", "5s", "10s", "30s"}},
    Candidate{"max_scheduling_retries", {"3", "5", "10", "50"}},
    Candidate{"max_in_flight", {"1", "4", "32", "512"}},
    Candidate{"bus_max_ack_pending", {"4", "16", "128", "2048"}},
    Candidate{"circuit_open_for", {"5s", "10s", "30s", "60s"}},
    Candidate{"policy_check_fail_mode", {"closed", "open", "closed", "closed"}},
    Candidate{"publish_settle", {"500ms", "1s", "2s", "5s"}},
    Candidate{"reconciler_scheduled_timeout", {"30s", "1m", "5m", "0s"}},
};

// Settings that matter less often, or to fewer jobs: each with values on both sides of its default where that has two.
constexpr std::array kFurtherTunables{
    Candidate{"store_op_timeout", {"500ms", "1s", "3s", "5s"}},
    Candidate{"lock_poll", {"5ms", "10ms", "50ms", "200ms"}},
    Candidate{"lock_wait", {"0s", "200ms", "1s", "5s"}},
    Candidate{"max_renewal_failures", {"1", "2", "4", "6"}},
    Candidate{"max_dispatch_retries", {"0", "1", "2", "10"}},
    Candidate{"retry_delay_busy", {"100ms", "250ms", "1s", "3s"}},
    Candidate{"retry_delay_store", {"200ms", "500ms", "2s", "4s"}},
    Candidate{"retry_delay_publish", {"500ms", "1s", "3s", "5s"}},
    Candidate{"retry_delay_no_workers", {"500ms", "1s", "3s", "5s"}},
    Candidate{"backoff_base", {"200ms", "500ms", "2s", "4s"}},
    Candidate{"backoff_jitter", {"100ms", "250ms", "1s", "2s"}},
    Candidate{"publish_timeout", {"1s", "2s", "3s", "8s"}},
    Candidate{"publish_resend_limit", {"5s", "10s", "30s", "60s"}},
    Candidate{"routing_inflight_correction", {"false", "false", "false", "true"}},
    Candidate{"results_from_any_worker", {"true", "true", "true", "false"}},
    Candidate{"overload_utilization", {"0.4", "0.5", "0.75", "1.0"}},
    Candidate{"overload_cpu", {"50", "75", "80", "100"}},
    Candidate{"overload_gpu", {"50", "75", "80", "100"}},
    Candidate{"safety_timeout", {"500ms", "1s", "3s", "5s"}},
    Candidate{"safety_throttle_delay", {"1s", "2s", "8s", "10s"}},
    Candidate{"safety_unavailable_delay", {"1s", "2s", "8s", "10s"}},
    Candidate{"policy_answer_max_age", {"0s", "1s", "3s", "20s"}},
    Candidate{"circuit_fail_budget", {"1", "2", "5", "8"}},
    Candidate{"circuit_half_open_max", {"1", "2", "4", "6"}},
    Candidate{"circuit_close_after", {"1", "1", "3", "3"}},
    Candidate{"output_policy_fail_mode", {"closed", "closed", "closed", "open"}},
    Candidate{"output_meta_timeout", {"20ms", "50ms", "500ms", "2s"}},
    Candidate{"output_content_timeout", {"2s", "5s", "10s", "60s"}},
    Candidate{"hydrated_worker_ttl", {"5s", "10s", "20s", "30s"}},
    Candidate{"snapshot_interval", {"1s", "2s", "3s", "8s"}},
    Candidate{"snapshot_lock_ttl", {"6s", "8s", "15s", "20s"}},
    Candidate{"snapshot_read_timeout", {"500ms", "1s", "2s", "8s"}},
    Candidate{"reconciler_max_iterations", {"1", "2", "5", "20"}},
    Candidate{"reconciler_batch", {"1", "2", "5", "50"}},
    Candidate{"reconciler_max_retries", {"1", "2", "5", "10"}},
    Candidate{"reconciler_emit_dead_letter", {"false", "false", "false", "true"}},
    Candidate{"cancel_on_timeout", {"false", "false", "false", "true"}},
    Candidate{"config_reload_interval", {"5s", "10s", "20s", "60s"}},
    Candidate{"saga_lock_ttl", {"10s", "30s", "60s", "5m"}},
    Candidate{"saga_rollback_timeout", {"10s", "15s", "20s", "60s"}},
    Candidate{"saga_entry_max_age", {"30s", "1m", "10m", "24h"}},
    Candidate{"bus_max_deliver", {"20", "30", "50", "200"}},
    Candidate{"bus_inflight_ttl", {"20s", "30s", "1m", "5m"}},
    Candidate{"bus_guard_key_scope", {"stream", "stream", "stream", "consumer"}},
    Candidate{"bus_guard_on_error", {"nak", "nak", "nak", "degrade"}},
    Candidate{"bus_rate_limit", {"0", "8000000", "64000000", "512000000"}},
    Candidate{"bus_bytes_in_flight", {"3000000", "8000000", "32000000", "128000000"}},
    Candidate{"stream_clock_margin", {"5s", "20s", "2m", "5m"}},
    Candidate{"shutdown_grace", {"500ms", "2s", "5s", "30s"}},
    Candidate{"job_meta_ttl", {"4h", "5h", "24h", "336h"}},
    Candidate{"data_ttl", {"4h", "5h", "12h", "48h"}},
    Candidate{"dlq_entry_ttl", {"4h", "24h", "168h", "1440h"}},
    Candidate{"dlq_max_size", {"2000", "5000", "20000", "50000"}},
    Candidate{"dlq_undecodable_max_size", {"20", "100", "500", "5000"}},
};

class Draw {
public:
    Draw(std::uint64_t number, const DrawOptions& options) : number_(number), options_(options), dice_(number) {}

    Document run() {
        Document out = Document::object();
        out["name"] = fmt::format("draw-{}", number_);
        out["seed"] = number_;
        if (options_.bases.empty()) {
            out["duration"] = "12h";
            out["cluster"] = cluster();
            out["load"] = load();
        } else {
            adopt(options_.bases[number_ % options_.bases.size()], out);
        }
        out["faults"] = Document::array();
        const bool by_themselves = options_.bases.empty() && apply_themes(out);
        // A worker that hangs holds its places for the whole running timeout, again and again, and jobs wait that long for them; or for
        // ever, where it never hears that they are called off. A run ends when nothing is left to do.
        if (options_.bases.empty()) config(out).emplace("overload_limit", "2h");
        // What holds in calm weather is put to the test in calm weather only.
        const bool calm = options_.bases.empty() && dice_.chance(0.15);
        const bool disturbed = !by_themselves && !calm;
        const std::size_t of_themes = out["faults"].size();
        if (disturbed) {
            disturb(out);
            relate_to_limits(dice_, out);
        }
        // By turns, as themes are: each of them meets these.
        const auto turn = number_ / themes().size() % 5;
        if (options_.data_loss.redis) lose_in_redis(out);
        if (options_.data_loss.nats) lose_in_nats(out);
        if (turn == 3 && options_.data_loss.redis) ask_for_a_replica(out);
        if (turn == 2 && disturbed) lose_quorum(out);
        if (disturbed && options_.bases.empty()) leave_fault_free(number_, of_themes, out);
        if (!options_.data_loss.redis) spare_forgetful_redis(out);
        if (!by_themselves && dice_.chance(0.3)) out["cluster"]["schedule"] = schedule();
        keep_policy_reachable(out);
        keep_store_reachable(out);
        name_present_replicas(out);
        if (out["faults"].empty()) out.erase("faults");
        if (!options_.without.empty()) out["without"] = options_.without;
        out["expect"] = {{"invariants", "all"}};
        const auto scenario = parse_document(out, "draw");
        if (scenario) out = with_chaos_drawn(std::move(out), *scenario, number_);
        return out;
    }

private:
    /// Whether what they brought is to be all.
    bool apply_themes(Document& out) {
        const bool of_a_run = dice_.chance(0.15);
        if (of_a_run && dice_.chance(0.3)) return false;
        // In turns, so that chance leaves none out.
        const Theme& first = of_a_run ? dice_.one_of(run_themes()) : themes()[number_ % themes().size()];
        if (first.alone && options_.data_loss.any()) return false;  // its settings bear no loss beside it either
        out["tags"] = Document::array({first.name});
        first.apply(dice_, out);
        if (first.alone) return true;
        for (int i = dice_.one_of(std::array{0, 0, 1, 1, 2}); i > 0; --i) {
            const Theme& further = dice_.one_of(themes());
            if (further.alone || std::ranges::count(out["tags"], further.name) > 0) continue;
            out["tags"].push_back(further.name);
            further.apply(dice_, out);
        }
        return false;
    }

    // Cluster and load -------------------------------------------------------------------------------------------------

    Document tunables() {
        Document out = Document::object();
        const int changed = dice_.between(0, 5);
        for (int i = 0; i < changed; ++i) change(dice_.one_of(kTunables), out);
        const int further = dice_.chance(0.6) ? dice_.between(1, 4) : 0;
        for (int i = 0; i < further; ++i) change(dice_.one_of(kFurtherTunables), out);
        return out;
    }

    /// A value that is JSON stands for itself, such as a number; any other is text.
    void change(const Candidate& candidate, Document& tunables) {
        const std::string value = dice_.one_of(candidate.values);
        const Document parsed = engine::wire::read_ordered_json(value);
        tunables[candidate.name] = parsed.is_discarded() ? Document(value) : parsed;
    }

    Document workers() {
        static constexpr std::array<const char*, 4> kServiceTimes{"50ms", "500ms", "3s", "20s"};
        static constexpr std::array<const char*, 16> kOutcomes{
            "FAILED", "FAILED_RETRYABLE", "FAILED_FATAL",     "duplicate", "early",     "late",
            "hang",   "FAILED",           "FAILED_RETRYABLE", "CANCELLED", "COMPLETED", "contradict",
            "crash",  "progress",         "DENIED",           "TIMEOUT"};
        Document group = {{"id", "w"}, {"count", dice_.between(1, 4)}, {"max_parallel_jobs", dice_.between(1, 8)}};
        group["service_time"] = {{"dist", "exp"}, {"mean", std::string(dice_.one_of(kServiceTimes))}};
        if (dice_.chance(0.5)) {
            Document outcomes = {{"SUCCEEDED", 0.7}};
            for (int i = dice_.between(1, 3); i > 0; --i) outcomes[dice_.one_of(kOutcomes)] = 0.1;
            group["outcomes"] = std::move(outcomes);
        }
        if (dice_.chance(0.2)) group["listens_to_cancel"] = true;
        if (dice_.chance(0.2)) group["heartbeat"] = dice_.word({"1s", "3s", "8s"});
        return Document::array({std::move(group)});
    }

    Document policy() {
        Document rules = Document::array();
        rules.push_back(
            {{"id", "ask"}, {"match", {{"labels", {{"needs", "a human"}}}}}, {"decision", "require_approval"}});
        if (dice_.chance(0.4))
            rules.back()["constraints"] = {
                {"budgets", {{"max_runtime_ms", 60'000}, {"max_retries", dice_.between(1, 3)}}}};
        rules.push_back({{"id", "no"}, {"match", {{"labels", {{"needs", "nothing"}}}}}, {"decision", "deny"}});
        rules.push_back({{"id", "few"},
                         {"match", {{"labels", {{"needs", "few"}}}}},
                         {"decision", "allow_with_constraints"},
                         {"constraints",
                          {{"budgets",
                            {{"max_concurrent_jobs", dice_.between(1, 3)},
                             {"max_retries", dice_.between(1, 3)},
                             {"max_artifact_bytes", 1024}}}}}});
        return {{"default_decision", "allow"}, {"rules", std::move(rules)}};
    }

    /// Withholds and redacts, some of it at the first look and some by content.
    Document output_policy() {
        Document rules = Document::array();
        rules.push_back({{"id", "keys"}, {"decision", "quarantine"}, {"match", {{"scanners", {"secret"}}}}});
        rules.push_back({{"id", "people"}, {"decision", "redact"}, {"match", {{"scanners", {"pii"}}}}});
        if (dice_.chance(0.5))
            rules.push_back({{"id", "tagged"},
                             {"decision", dice_.chance(0.5) ? "deny" : "redact"},
                             {"match", {{"risk_tags", {"private"}}}}});
        return {{"enabled", true}, {"fail_mode", dice_.chance(0.5) ? "open" : "closed"}, {"rules", std::move(rules)}};
    }

    Document cluster() {
        Document out = Document::object();
        out["schedulers"] = dice_.between(1, 4);
        Document config = tunables();
        if (!config.empty()) out["config"] = std::move(config);
        out["kernel"] = {{"latency", "2ms"}, {"policy", policy()}};
        outputs_ = dice_.chance(0.4);
        if (outputs_) out["output_policy"] = output_policy();
        out["workers"] = workers();
        if (dice_.chance(0.5)) out["clocks"] = {{"drift_ppm", 200}};
        recorded_ = !dice_.chance(0.3);
        if (!recorded_) out["gateway"] = "publish-only";
        return out;
    }

    Document schedule() {
        return {{"kind", dice_.word({"pct", "delay_bounded"})},
                {"depth", dice_.between(2, 6)},
                {"within", dice_.one_of(std::array{500, 5000, 50000})},
                {"lag", dice_.word({"1ms", "5ms", "20ms"})}};
    }

    Document load() {
        static constexpr std::array<const char*, 4> kRates{"1/s", "5/s", "20/s", "200/s"};
        Document lines = Document::array();
        lines.push_back({{"at", "1s"},
                         {"topic", "job.default"},
                         {"count", dice_.on_every_scale(60)},
                         {"rate", dice_.one_of(kRates)}});
        for (const char* needs : {"a human", "nothing", "few"}) {
            if (!dice_.chance(0.4)) continue;
            const Document job = {{"labels", {{"needs", needs}}}, {"tenant_id", "t"}};
            lines.push_back(
                {{"at", fmt::format("{}s", dice_.between(1, 60))}, {"count", dice_.between(1, 8)}, {"job", job}});
        }
        // Steps of a workflow: those that fail for good have the others of their run undone.
        for (const char* run_id : {"run-1", "run-2", ""}) {
            if (!dice_.chance(0.2)) continue;
            Document job = {{"workflow_id", "wf"}, {"compensation", {{"topic", "job.default"}}}};
            if (*run_id != '\0') job["labels"] = {{"run_id", run_id}};
            lines.push_back({{"at", fmt::format("{}s", dice_.between(1, 30))},
                             {"count", dice_.between(2, 12)},
                             {"rate", "2/s"},
                             {"job", job}});
        }
        for (const char* output : {"the key is AKIAIOSFODNN7EXAMPLE", "write to ann@example.org"}) {
            if (!outputs_) continue;
            const Document job = {{"env", {{"SIM_OUTPUT", output}}}, {"meta", {{"risk_tags", {"private"}}}}};
            lines.push_back({{"at", fmt::format("{}s", dice_.between(1, 30))},
                             {"count", dice_.between(1, 10)},
                             {"rate", "2/s"},
                             {"job", job}});
        }
        if (dice_.chance(0.5)) {
            const Document job = {{"job_id", "asked"}, {"labels", {{"needs", "a human"}}}};
            lines.push_back({{"at", "2s"}, {"job", job}});
            lines.push_back({{"at", fmt::format("{}s", dice_.between(3, 90))}, {"approve", "asked"}});
        }
        if (dice_.chance(0.5)) {
            lines.push_back({{"at", "2s"}, {"job", {{"job_id", "unwanted"}}}});
            lines.push_back({{"at", fmt::format("{}ms", dice_.between(2000, 6000))}, {"cancel", "unwanted"}});
        }
        if (recorded_)
            for (Document& line : lines)
                if (!line.contains("approve") && !line.contains("cancel") && dice_.chance(0.15))
                    embellish(dice_, line["job"]);
        return lines;
    }

    /// The cluster and load of a file. It keeps its own time, too: what it waits for may take long.
    void adopt(const Document& base, Document& out) {
        for (const char* key : {"duration", "cluster", "load"}) {
            if (base.contains(key)) out[key] = base[key];
        }
        Document changed = tunables();
        for (auto& [name, value] : changed.items()) out["cluster"]["config"][name] = value;
    }

    // Faults -----------------------------------------------------------------------------------------------------------

    Document chaos() {
        static constexpr std::array<const char*, 4> kLevels{"light", "moderate", "moderate", "heavy"};
        static constexpr std::array<const char*, 4> kHealAt{"1m", "3m", "5m", "8m"};
        Document kinds = Document::array();
        for (const NamedItem& kind : chaos_kind_table()) {
            if (kind.available && dice_.chance(0.4)) kinds.push_back(std::string(kind.name));
        }
        if (kinds.empty()) kinds.push_back("pause");
        Document out = {
            {"level", dice_.one_of(kLevels)}, {"faults", std::move(kinds)}, {"heal_at", dice_.one_of(kHealAt)}};
        if (options_.data_loss.any()) out["data_loss"] = std::string(name_of(options_.data_loss));
        return out;
    }

    void disturb(Document& out) {
        Document& faults = out["faults"];
        // Of drawn clusters only: a file's workers have other names.
        if (options_.bases.empty() && dice_.chance(0.4)) faults.push_back(mishap(dice_));
        const bool placed = dice_.chance(0.7);
        for (int i = placed ? dice_.between(1, 3) : 0; i > 0; --i) add_preemption(dice_, faults);
        if (!placed || dice_.chance(0.7)) out["chaos"] = chaos();
    }

    /// A Redis that has something to lose, unless a file says what it keeps; and often its loss at a chosen moment.
    void lose_in_redis(Document& out) {
        Document& cluster = out["cluster"];
        if (!cluster.contains("redis"))
            cluster["redis"] = {{"persistence", dice_.word({"everysec", "everysec", "none", "always"})},
                                {"replica_lag", dice_.word({"20ms", "200ms", "1s", "5s"})}};
        if (dice_.chance(0.6)) add_loss(dice_, out["faults"]);
    }

    /// A NATS that takes its time to sync, unless a file says otherwise; and often a power cut around the publishes of jobs.
    void lose_in_nats(Document& out) {
        Document& cluster = out["cluster"];
        if (!cluster.contains("nats")) cluster["nats"] = {{"sync_interval", dice_.word({"200ms", "1s", "10s", "2m"})}};
        if (dice_.chance(0.7)) add_power_cut(dice_, out["faults"]);
    }

    /// What a failover takes back, nobody has gone on from then.
    void ask_for_a_replica(Document& out) {
        Dice dice(number_, "replicas");
        Document& config = out["cluster"]["config"];
        config["redis_replicas"] = 1;
        if (dice.chance(0.3)) config["redis_replicas_patience"] = dice.word({"100ms", "900ms"});
        // One that lags for longer never has a write in time: then nothing counts, and nobody gets anywhere.
        out["cluster"]["redis"]["replica_lag"] = dice.word({"2ms", "20ms", "50ms"});
        config.erase("store_op_timeout");  // some are too short to wait for a replica
        const bool twins = dice.chance(0.4);
        if (!twins && !dice.chance(0.6)) return;
        const int nth = dice.between(1, 30);
        Document step = {{"event", "redis"}, {"script", "commit"}, {"when", "applied"}, {"nth", nth}};
        if (twins) {  // the old primary goes on for one replica, and has nobody who confirms anything
            out["faults"].push_back({{"on", step},
                                     {"do", "redis.two_primaries"},
                                     {"target", "actor"},
                                     {"for", dice.word({"500ms", "3s", "10s"})}});
            return;
        }
        // It has nothing of a few steps of jobs, and is the primary then.
        out["faults"].push_back(
            {{"on", step}, {"do", "redis.replica_stalls"}, {"for", dice.word({"5s", "20s", "60s"})}});
        step["nth"] = nth + dice.between(1, 8);
        out["faults"].push_back({{"on", step}, {"do", "redis.failover"}, {"for", dice.word({"100ms", "1s"})}});
    }

    /// Streams and consumers stand still for a while, once in the midst of the load.
    void lose_quorum(Document& out) {
        Dice dice(number_, "quorum");
        out["faults"].push_back({{"at", dice.seconds(1, 30)},
                                 {"do", "nats.no_quorum"},
                                 {"for", dice.word({"3s", "8s", "15s", "40s", "2m"})}});
    }

    /// Whoever waits for an answer for a shorter time than it always takes never has one: then no job could end, whatever anybody
    /// did, and the draw would prove nothing.
    static void keep_policy_reachable(Document& out) {
        const Document::json_pointer at("/cluster/kernel/latency");
        if (!out.contains(at) || !out[at].is_string()) return;
        const auto latency = engine::parse_duration(out[at].get_ref<const std::string&>());
        if (!latency || 2 * *latency < limit_in_force(out, "safety_timeout")) return;
        out["cluster"]["config"]["safety_timeout"] = engine::format_duration(2 * *latency + std::chrono::seconds{1});
    }

    /// The same for the store where everything that a node sends takes its rank's time longer, for the whole run. Loading an input
    /// has one second, whatever the settings (engine/wire/wire.md 7.1), and a job whose input is not read is tried again until it is.
    static void keep_store_reachable(Document& out) {
        constexpr int kRanksThereAndBack = 60;
        constexpr engine::Duration kLagMost = std::chrono::milliseconds{10};
        static_assert(kRanksThereAndBack * kLagMost < std::chrono::seconds{1}, "the rest is for replicas of Redis");
        auto& cluster = out["cluster"];
        const auto schedule = cluster.find("schedule");
        if (schedule == cluster.end() || (*schedule)["kind"] != "pct") return;
        const auto drawn = engine::parse_duration((*schedule)["lag"].get_ref<const std::string&>());
        if (!drawn) return;
        const engine::Duration lag = std::min(*drawn, kLagMost);
        if (lag < *drawn) (*schedule)["lag"] = engine::format_duration(lag);
        if (kRanksThereAndBack * lag <= limit_in_force(out, "store_op_timeout")) return;
        cluster["config"]["store_op_timeout"] = engine::format_duration(kRanksThereAndBack * lag);
    }

    /// A server that forgets when it restarts is restarted only by those who ask for that.
    void spare_forgetful_redis(Document& out) {
        const Document::json_pointer at("/cluster/redis/persistence");
        if (!out.contains(at) || out[at] == "always") return;
        Document kept = Document::array();
        for (Document& fault : out["faults"])
            if (fault.value("target", "") != "redis") kept.push_back(std::move(fault));
        out["faults"] = std::move(kept);
    }

    const std::uint64_t number_;
    const DrawOptions& options_;
    Dice dice_;
    bool outputs_ = false;  // the cluster judges them
    bool recorded_ = true;  // the gateway writes to Redis: what is refused still comes to an end
};

}  // namespace

Document draw_scenario(std::uint64_t number, const DrawOptions& options) { return Draw(number, options).run(); }

}  // namespace lockstep::sim
