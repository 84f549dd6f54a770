#include "sim/search/shrink.h"

#include <fmt/format.h>

#include <array>
#include <functional>
#include <set>
#include <utility>

#include "engine/wire/json_text.h"
#include "sim/search/reductions.h"
#include "sim/search/same_failure.h"

namespace lockstep::sim {

namespace {

constexpr std::uint64_t kOtherSeeds = 8;
/// Of a list of candidates the first so many are worth other seeds from the beginning: all of them, halves, quarters.
constexpr std::size_t kAmbitious = 7;

std::string counted(std::int64_t count, std::string_view noun) {
    return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

/// "lock_fencing and job_lock"
std::string enumerated(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, " and ")); }

std::string description_of(const Scenario& scenario, const RunResult& result, const std::string& signature) {
    const std::string without =
        scenario.without.empty() ? std::string{} : fmt::format("Without {}: ", enumerated(scenario.without));
    std::string what = signature;
    if (!result.violations.empty()) {
        const Violation& violation = result.violations.front();
        what = fmt::format("{} is violated, {}", violation.invariant, violation.detail);
    }
    return fmt::format("{}{}. Reduced from {}.", without, what, scenario.name);
}

/// In the order in which people read, with a description of its own: that of the original tells of more than is left.
Document as_file(const Document& document, const std::string& description) {
    static constexpr std::array kFirst{"name", "description", "seed",    "duration", "cluster",
                                       "load", "faults",      "without", "expect"};
    Document out = Document::object();
    for (const char* key : kFirst) {
        if (std::string_view(key) == "description")
            out[key] = description;
        else if (document.contains(key))
            out[key] = document[key];
    }
    for (const auto& [key, value] : document.items()) {
        if (!out.contains(key) && key != "tags" && key != "$schema") out[key] = value;
    }
    return out;
}

class Shrinker {
public:
    Shrinker(std::uint64_t seed, const Runner& runner, const ShrinkOptions& options)
        : seed_(seed), options_(options), failure_(runner, options.stop) {}

    Shrunk run(Document document, std::string signature) {
        if (!begin(std::move(document), std::move(signature))) return std::move(out_);
        for (const Round& round : {Round{0, false}, Round{kOtherSeeds, false}, Round{kOtherSeeds, true}}) {
            round_ = round;
            while (!spent() && take_away()) {
            }
        }
        out_.complete = !spent();
        out_.runs = failure_.runs();
        out_.scenario = as_file(out_.scenario, description_of(scenario_, out_.result, failure_.signature()));
        return std::move(out_);
    }

private:
    struct Round {
        std::uint64_t other_seeds;
        bool finish;
    };

    bool begin(Document document, std::string signature) {
        const auto as_given = parse_document(document, "scenario");
        if (!as_given) return refuse(to_string(as_given.error().front()));
        document = with_chaos_drawn(std::move(document), *as_given, seed_);
        document["seed"] = seed_;
        auto seen = failure_.adopt(document, std::move(signature), out_.error);
        if (!seen) return refuse(out_.error);
        out_.before = size_of(seen->scenario, document);
        keep(std::move(document), std::move(*seen));
        return true;
    }

    /// Everything once, in the order in which it is worth trying. True when anything could be taken away.
    bool take_away() {
        bool any = false;
        for (Document& candidate : without_bystanders(out_.scenario, out_.result))
            any = (!spent() && still_fails(std::move(candidate), 0)) || any;
        for (const Reduction& reduction : reductions()) {
            if (reduction.when_curable && !failure_.demands_cure()) continue;
            if (reduction.stage == Reduction::Stage::finish && !round_.finish) continue;
            any = exhaust(reduction) || any;
        }
        return any;
    }

    /// Takes away of this kind whatever can be taken away. True when anything could.
    bool exhaust(const Reduction& reduction) {
        bool any = false;
        for (bool again = true; again && !spent();) {
            again = false;
            std::vector<Document> candidates = reduction.candidates(out_.scenario);
            for (std::size_t i = 0; i < candidates.size() && !spent(); ++i) {
                const std::uint64_t others = i < kAmbitious ? kOtherSeeds : round_.other_seeds;
                const bool by_chance = reduction.stage == Reduction::Stage::structure;
                if (!still_fails(std::move(candidates[i]), by_chance ? others : 0)) continue;
                any = again = true;
                // From here on in what is left: what came before is tried again when the end is reached.
                candidates = reduction.candidates(out_.scenario);
                --i;
            }
        }
        return any;
    }

    bool still_fails(Document candidate, std::uint64_t others) {
        if (!tried_.emplace(std::hash<std::string>{}(engine::wire::json_text(candidate)), others).second) return false;
        if (fails_under(candidate, seed_)) return true;
        for (std::uint64_t seed = 1; seed <= others && !spent(); ++seed) {
            if (seed != seed_ && fails_under(candidate, seed)) return true;
        }
        return false;
    }

    bool fails_under(Document& candidate, std::uint64_t seed) {
        candidate["seed"] = seed;
        auto seen = failure_.judge(candidate);
        if (seen) {
            seed_ = seed;
            keep(std::move(candidate), std::move(*seen));
        }
        if (options_.on_progress) options_.on_progress(out_.after, failure_.runs());
        return seen.has_value();
    }

    void keep(Document document, SameFailure::Seen seen) {
        out_.after = size_of(seen.scenario, document);
        out_.scenario = std::move(document);
        out_.result = std::move(seen.result);
        scenario_ = std::move(seen.scenario);
    }

    bool refuse(std::string why) {
        out_.error = std::move(why);
        out_.runs = failure_.runs();
        return false;
    }
    [[nodiscard]] bool spent() const {
        return failure_.runs() >= options_.max_runs || (options_.stop != nullptr && options_.stop->load());
    }

    std::uint64_t seed_;
    Round round_{};
    const ShrinkOptions& options_;
    SameFailure failure_;
    std::set<std::pair<std::size_t, std::uint64_t>> tried_;  // hashes, with the other seeds under which it was tried
    Scenario scenario_;                                      // what `out_` holds as a document
    Shrunk out_;
};

}  // namespace

ScenarioSize size_of(const Scenario& scenario, const Document& document) {
    ScenarioSize size;
    for (const Load& line : scenario.load) size.jobs += line.kind == Load::Kind::submit ? line.count : 0;
    size.runs = static_cast<std::int64_t>(run_ids(scenario.load).size());
    size.replicas = scenario.cluster.schedulers;
    for (const WorkerGroup& group : scenario.cluster.workers) size.workers += group.count.value_or(1);
    size.faults = static_cast<std::int64_t>(scenario.faults.size());
    if (const auto cluster = document.find("cluster"); cluster != document.end()) {
        for (const auto& [key, value] : cluster->items()) {
            if (key == "config")
                size.settings += static_cast<std::int64_t>(value.size());
            else if (key != "schedulers" && key != "workers")
                ++size.settings;
        }
    }
    return size;
}

std::string to_string(const ScenarioSize& size) {
    std::string load = counted(size.jobs, "job");
    if (size.runs > 0) load = size.jobs > 0 ? load + ", " + counted(size.runs, "run") : counted(size.runs, "run");
    return fmt::format("{}, {}, {}, {}, {}", load, counted(size.replicas, "replica"), counted(size.workers, "worker"),
                       counted(size.faults, "fault"), counted(size.settings, "setting"));
}

Shrunk shrink(Document document, std::uint64_t seed, std::string signature, const Runner& runner,
              const ShrinkOptions& options) {
    return Shrinker(seed, runner, options).run(std::move(document), std::move(signature));
}

}  // namespace lockstep::sim
