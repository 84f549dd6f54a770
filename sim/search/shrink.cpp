#include "sim/search/shrink.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "sim/search/failure.h"
#include "sim/search/reductions.h"

namespace lockstep::sim {

namespace {

constexpr std::string_view kExpectation = "expectation: ";
constexpr std::uint64_t kOtherSeeds = 8;

std::string counted(std::int64_t count, std::string_view noun) {
    return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

/// As a failure is looked for: what a counterexample wanted violated is to hold, and nothing else distracts.
Document normalised(Document document, std::string_view signature) {
    if (signature.starts_with(kExpectation)) return document;
    Document expect = {{"invariants", "all"}};
    if (!signature.empty()) {
        const std::string invariant(signature.substr(0, signature.find(':')));
        const auto known = document.contains("expect") && document["expect"].contains("invariants")
                               ? document["expect"]["invariants"]
                               : Document("all");
        // A broken INVARIANT of the engine is no oracle's; it is noticed whatever is expected.
        expect["invariants"] =
            invariant == "engine_invariant" || invariant == "harness" ? known : Document::array({invariant});
    }
    document["expect"] = std::move(expect);
    return document;
}

class Shrinker {
public:
    Shrinker(std::uint64_t seed, const Runner& runner, const ShrinkOptions& options)
        : seed_(seed), runner_(runner), options_(options) {}

    Shrunk run(Document document, std::string signature) {
        if (!begin(std::move(document), std::move(signature))) return std::move(out_);
        for (const std::uint64_t others : {std::uint64_t{0}, kOtherSeeds}) {
            other_seeds_ = others;
            tried_.clear();
            bool changed = true;
            while (changed && !spent()) {
                changed = false;
                for (const Reduction& reduction : reductions()) changed = exhaust(reduction) || changed;
            }
        }
        out_.complete = !spent();
        return std::move(out_);
    }

private:
    bool begin(Document document, std::string signature) {
        const auto as_given = parse_document(document, "scenario");
        if (!as_given) return refuse(to_string(as_given.error().front()));
        document = with_chaos_drawn(std::move(document), *as_given, seed_);
        document["seed"] = seed_;
        if (signature.empty()) {
            const auto open = parse_document(normalised(document, ""), "scenario");
            if (!open) return refuse(to_string(open.error().front()));
            signature = signature_of(run_once(*open));
            if (signature.empty()) return refuse("it does not fail: nothing was violated under this seed");
        }
        signature_ = std::move(signature);
        document = normalised(std::move(document), signature_);
        const auto scenario = parse_document(document, "scenario");
        if (!scenario) return refuse(to_string(scenario.error().front()));
        RunResult result = run_once(*scenario);
        if (signature_of(result) != signature_)
            return refuse(fmt::format("it does not fail as recorded: expected \"{}\", got \"{}\"", signature_,
                                      signature_of(result)));
        out_.before = size_of(*scenario, document);
        keep(std::move(document), *scenario, std::move(result));
        return true;
    }

    /// Takes away of this kind whatever can be taken away. True when anything could.
    bool exhaust(const Reduction& reduction) {
        bool any = false;
        for (bool again = true; again && !spent();) {
            again = false;
            for (Document& candidate : reduction.candidates(out_.scenario)) {
                if (spent()) return any;
                if (!still_fails(std::move(candidate))) continue;
                any = again = true;
                break;
            }
        }
        return any;
    }

    bool still_fails(Document candidate) {
        if (!tried_.insert(candidate.dump()).second) return false;
        if (fails_under(candidate, seed_)) return true;
        for (std::uint64_t seed = 1; seed <= other_seeds_ && !spent(); ++seed) {
            if (seed != seed_ && fails_under(candidate, seed)) return true;
        }
        return false;
    }

    bool fails_under(Document& candidate, std::uint64_t seed) {
        candidate["seed"] = seed;
        const auto scenario = parse_document(candidate, "candidate");
        if (!scenario) return false;
        RunResult result = run_once(*scenario);
        if (signature_of(result) != signature_) return false;
        seed_ = seed;
        keep(std::move(candidate), *scenario, std::move(result));
        if (options_.on_progress) options_.on_progress(out_.after, out_.runs);
        return true;
    }

    RunResult run_once(const Scenario& scenario) {
        RunOptions options;
        options.stop = options_.stop;
        ++out_.runs;
        return runner_(scenario, scenario.seed, options);
    }

    void keep(Document document, const Scenario& scenario, RunResult result) {
        out_.after = size_of(scenario, document);
        out_.scenario = std::move(document);
        out_.result = std::move(result);
    }

    bool refuse(std::string why) {
        out_.error = std::move(why);
        return false;
    }
    [[nodiscard]] bool spent() const {
        return out_.runs >= options_.max_runs || (options_.stop != nullptr && options_.stop->load());
    }

    std::uint64_t seed_;
    std::uint64_t other_seeds_ = 0;
    const Runner& runner_;
    const ShrinkOptions& options_;
    std::string signature_;
    std::set<std::string> tried_;
    Shrunk out_;
};

}  // namespace

ScenarioSize size_of(const Scenario& scenario, const Document& document) {
    ScenarioSize size;
    for (const Load& line : scenario.load) size.jobs += line.kind == Load::Kind::submit ? line.count : 0;
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
    return fmt::format("{}, {}, {}, {}, {}", counted(size.jobs, "job"), counted(size.replicas, "replica"),
                       counted(size.workers, "worker"), counted(size.faults, "fault"),
                       counted(size.settings, "setting"));
}

Shrunk shrink(Document document, std::uint64_t seed, std::string signature, const Runner& runner,
              const ShrinkOptions& options) {
    return Shrinker(seed, runner, options).run(std::move(document), std::move(signature));
}

}  // namespace lockstep::sim
