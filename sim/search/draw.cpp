#include "sim/search/draw.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "fakes/rng.h"
#include "sim/scenario/catalogue.h"

namespace lockstep::sim {

namespace {

using namespace std::chrono_literals;
using fakes::Rng;

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

struct Place {
    const char* event;
    const char* script;   // filter for redis; null = any
    const char* subject;  // null = any
    int often;            // about how many there are per job
};

// Steps of a replica between which a crash or a freeze makes a difference.
constexpr std::array kPlaces{
    Place{"redis", nullptr, nullptr, 10},       Place{"redis", "commit", nullptr, 3},
    Place{"redis", "take_up", nullptr, 1},      Place{"redis", "take_lock", nullptr, 1},
    Place{"redis", "renew_lock", nullptr, 1},   Place{"redis", "release_lock", nullptr, 1},
    Place{"publish", nullptr, "worker.*", 1},   Place{"publish", nullptr, "sys.job.*", 1},
    Place{"ack", nullptr, nullptr, 2},          Place{"nak", nullptr, nullptr, 1},
    Place{"kernel_check", nullptr, nullptr, 1}, Place{"redis", "tick_lock", nullptr, 1},
    Place{"redis", "saga_next", nullptr, 1},
};

class Draw {
public:
    Draw(std::uint64_t number, const DrawOptions& options) : number_(number), options_(options), rng_(number, "draw") {}

    Document run() {
        Document out = Document::object();
        out["name"] = fmt::format("draw-{}", number_);
        out["seed"] = number_;
        if (options_.bases.empty()) {
            out["duration"] =
                "3h";  // a worker that hangs holds its slots for the whole running timeout, again and again
            out["cluster"] = cluster();
            out["load"] = load();
        } else {
            const Document& base = options_.bases[number_ % options_.bases.size()];
            adopt(base, out);
        }
        auto placed = preemptions();
        if (!placed.empty()) out["faults"] = std::move(placed);
        if (placed_ == 0 || rng_.chance(0.7)) out["chaos"] = chaos();
        if (!options_.without.empty()) out["without"] = options_.without;
        out["expect"] = {{"invariants", "all"}};
        const auto scenario = parse_document(out, "draw");
        return scenario ? with_chaos_drawn(std::move(out), *scenario, number_) : out;
    }

private:
    // Draws ------------------------------------------------------------------------------------------------------------

    int between(int min, int max) {
        return min + static_cast<int>(rng_.below(static_cast<std::uint64_t>(max - min + 1)));
    }

    /// Every power of two with the same chance.
    int on_every_scale(int max) {
        const int low = 1 << rng_.below(static_cast<std::uint64_t>(std::bit_width(static_cast<unsigned>(max))));
        return std::min(max, low + static_cast<int>(rng_.below(static_cast<std::uint64_t>(low))));
    }

    template <class Range>
    const auto& one_of(const Range& range) {
        return range[rng_.below(range.size())];
    }

    // Cluster and load -------------------------------------------------------------------------------------------------

    Document tunables() {
        Document out = Document::object();
        const int changed = between(0, 5);
        for (int i = 0; i < changed; ++i) {
            const Candidate& candidate = one_of(kTunables);
            const std::string value = one_of(candidate.values);
            const bool number = std::ranges::all_of(value, [](char c) { return c >= '0' && c <= '9'; });
            out[candidate.name] = number ? Document(std::stoll(value)) : Document(value);
        }
        return out;
    }

    Document workers() {
        static constexpr std::array<const char*, 4> kServiceTimes{"50ms", "500ms", "3s", "20s"};
        static constexpr std::array<const char*, 7> kOutcomes{
            "FAILED", "FAILED_RETRYABLE", "FAILED_FATAL", "duplicate", "early", "late", "hang"};
        Document group = {{"id", "w"}, {"count", between(1, 4)}, {"max_parallel_jobs", between(1, 8)}};
        group["service_time"] = {{"dist", "exp"}, {"mean", std::string(one_of(kServiceTimes))}};
        if (rng_.chance(0.5)) {
            Document outcomes = {{"SUCCEEDED", 0.7}};
            for (int i = between(1, 3); i > 0; --i) outcomes[one_of(kOutcomes)] = 0.1;
            group["outcomes"] = std::move(outcomes);
        }
        return Document::array({std::move(group)});
    }

    Document policy() {
        Document rules = Document::array();
        rules.push_back(
            {{"id", "ask"}, {"match", {{"labels", {{"needs", "a human"}}}}}, {"decision", "require_approval"}});
        rules.push_back({{"id", "no"}, {"match", {{"labels", {{"needs", "nothing"}}}}}, {"decision", "deny"}});
        rules.push_back(
            {{"id", "few"},
             {"match", {{"labels", {{"needs", "few"}}}}},
             {"decision", "allow_with_constraints"},
             {"constraints", {{"budgets", {{"max_concurrent_jobs", between(1, 3)}, {"max_retries", between(1, 3)}}}}}});
        return {{"default_decision", "allow"}, {"rules", std::move(rules)}};
    }

    /// Withholds and redacts, some of it at the first look and some by content.
    Document output_policy() {
        Document rules = Document::array();
        rules.push_back({{"id", "keys"}, {"decision", "quarantine"}, {"match", {{"scanners", {"secret"}}}}});
        rules.push_back({{"id", "people"}, {"decision", "redact"}, {"match", {{"scanners", {"pii"}}}}});
        if (rng_.chance(0.5))
            rules.push_back({{"id", "tagged"},
                             {"decision", rng_.chance(0.5) ? "deny" : "redact"},
                             {"match", {{"risk_tags", {"private"}}}}});
        return {{"enabled", true}, {"fail_mode", rng_.chance(0.5) ? "open" : "closed"}, {"rules", std::move(rules)}};
    }

    Document cluster() {
        Document out = Document::object();
        out["schedulers"] = between(1, 4);
        Document config = tunables();
        if (!config.empty()) out["config"] = std::move(config);
        out["kernel"] = {{"latency", "2ms"}, {"policy", policy()}};
        outputs_ = rng_.chance(0.4);
        if (outputs_) out["output_policy"] = output_policy();
        out["workers"] = workers();
        if (rng_.chance(0.5)) out["clocks"] = {{"drift_ppm", 200}};
        if (rng_.chance(0.3)) out["gateway"] = "publish-only";
        return out;
    }

    Document load() {
        static constexpr std::array<const char*, 4> kRates{"1/s", "5/s", "20/s", "200/s"};
        Document lines = Document::array();
        lines.push_back(
            {{"at", "1s"}, {"topic", "job.default"}, {"count", on_every_scale(100)}, {"rate", one_of(kRates)}});
        for (const char* needs : {"a human", "nothing", "few"}) {
            if (!rng_.chance(0.4)) continue;
            const Document job = {{"labels", {{"needs", needs}}}, {"tenant_id", "t"}};
            lines.push_back({{"at", fmt::format("{}s", between(1, 60))}, {"count", between(1, 8)}, {"job", job}});
        }
        // Steps of a workflow: those that fail for good have the others of their run undone.
        for (const char* run_id : {"run-1", "run-2", ""}) {
            if (!rng_.chance(0.2)) continue;
            Document job = {{"workflow_id", "wf"}, {"compensation", {{"topic", "job.default"}}}};
            if (*run_id != '\0') job["labels"] = {{"run_id", run_id}};
            lines.push_back({{"at", fmt::format("{}s", between(1, 30))}, {"count", between(2, 12)}, {"rate", "2/s"}, {"job", job}});
        }
        for (const char* output : {"the key is AKIAIOSFODNN7EXAMPLE", "write to ann@example.org"}) {
            if (!outputs_) continue;
            const Document job = {{"env", {{"SIM_OUTPUT", output}}}, {"meta", {{"risk_tags", {"private"}}}}};
            lines.push_back({{"at", fmt::format("{}s", between(1, 30))}, {"count", between(1, 10)}, {"rate", "2/s"}, {"job", job}});
        }
        if (rng_.chance(0.5)) {
            const Document job = {{"job_id", "asked"}, {"labels", {{"needs", "a human"}}}};
            lines.push_back({{"at", "2s"}, {"job", job}});
            lines.push_back({{"at", fmt::format("{}s", between(3, 90))}, {"approve", "asked"}});
        }
        if (rng_.chance(0.5)) {
            lines.push_back({{"at", "2s"}, {"job", {{"job_id", "unwanted"}}}});
            lines.push_back({{"at", fmt::format("{}ms", between(2000, 6000))}, {"cancel", "unwanted"}});
        }
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
            if (kind.available && rng_.chance(0.4)) kinds.push_back(std::string(kind.name));
        }
        if (kinds.empty()) kinds.push_back("pause");
        Document out = {{"level", one_of(kLevels)}, {"faults", std::move(kinds)}, {"heal_at", one_of(kHealAt)}};
        if (options_.data_loss) out["data_loss"] = true;
        return out;
    }

    Document preemptions() {
        Document faults = Document::array();
        // Of drawn clusters only: a file's workers have other names.
        if (options_.bases.empty() && rng_.chance(0.4)) faults.push_back(mishap());
        if (!rng_.chance(0.7)) return faults;
        for (int i = between(1, 3); i > 0; --i) faults.push_back(preemption());
        placed_ = faults.size();
        return faults;
    }

    /// What chaos does not draw: workers that lie, a replica that is stopped in good order, an output policy that is away.
    Document mishap() {
        static constexpr std::array<const char*, 7> kKinds{"worker.silence", "worker.zombie",        "worker.overload",      "stop",
                                                           "nats.drop_core", "output_policy.errors", "output_policy.latency"};
        static constexpr std::array<const char*, 4> kLengths{"3s", "20s", "45s", "2m"};
        const std::string kind = one_of(kKinds);
        Document fault = {{"at", fmt::format("{}s", between(2, 60))}, {"do", kind}};
        if (kind.starts_with("worker.")) fault["target"] = "w-0";
        if (kind == "stop") fault["target"] = "scheduler-0";
        if (kind == "nats.drop_core") fault["rate"] = 0.2;
        if (kind == "output_policy.latency") fault["latency"] = "2s";
        fault["for"] = std::string(one_of(kLengths));
        return fault;
    }

    Document preemption() {
        static constexpr std::array<const char*, 3> kWhen{"before", "applied", "answered"};
        static constexpr std::array<const char*, 6> kFreezes{"500ms", "5s", "15s", "40s", "75s", "150s"};
        static constexpr std::array<const char*, 4> kOutages{"100ms", "3s", "20s", "90s"};
        const Place& place = one_of(kPlaces);
        Document on = {{"event", place.event}, {"when", one_of(kWhen)}};
        if (place.script != nullptr) on["script"] = place.script;
        if (place.subject != nullptr) on["subject"] = place.subject;
        on["nth"] = on_every_scale(30 * place.often);
        const bool crash = rng_.chance(0.35);
        Document fault = {{"on", std::move(on)}, {"do", crash ? "crash" : "pause"}, {"target", "actor"}};
        fault["for"] = std::string(crash ? one_of(kOutages) : one_of(kFreezes));
        return fault;
    }

    const std::uint64_t number_;
    const DrawOptions& options_;
    Rng rng_;
    std::size_t placed_ = 0;
    bool outputs_ = false;  // the cluster judges them
};

}  // namespace

Document draw_scenario(std::uint64_t number, const DrawOptions& options) { return Draw(number, options).run(); }

}  // namespace lockstep::sim
