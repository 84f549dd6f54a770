#include "sim/search/explore.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <set>

#include "sim/run/side_by_side.h"

namespace lockstep::sim {

namespace {

using Clock = std::chrono::steady_clock;

class Exploration {
public:
    Exploration(const Runner& runner, const ExploreOptions& options)
        : runner_(runner), options_(options), began_(Clock::now()), next_(options.first) {}

    void work() {
        while (const auto draw = take()) {
            if (options_.on_start) options_.on_start(*draw);
            Document document = draw_scenario(*draw, options_.draw);
            const auto scenario = parse_document(document, document["name"].get<std::string>());
            if (!scenario) {
                refused(*draw, to_string(scenario.error().front()));
                continue;
            }
            RunOptions run;
            run.stop = options_.stop;
            run.explain = false;
            completed(*draw, std::move(document), runner_(*scenario, *draw, run));
        }
    }

    ExploreOutcome outcome() {
        out_.next = next();
        out_.interrupted = stopped();
        out_.total.histories = digests_.size();
        return std::move(out_);
    }

private:
    std::optional<std::uint64_t> take() {
        const std::lock_guard lock(mutex_);
        if (over_ || stopped()) return {};
        if (options_.wall.count() > 0 && Clock::now() - began_ >= options_.wall) return {};
        if (regressions_ < options_.regressions.size()) return options_.regressions[regressions_++];
        if (options_.seeds > 0 && next_ - options_.first >= options_.seeds) return {};
        under_way_.insert(next_);
        return next_++;
    }

    void completed(std::uint64_t draw, Document document, const RunResult& result) {
        const std::lock_guard lock(mutex_);
        if (result.interrupted) return;  // it will be made again: it stays under way
        under_way_.erase(draw);
        add_up(result);
        const std::string signature = signature_of(result);
        const Failure* found = signature.empty() ? nullptr : keep(draw, signature, std::move(document), result);
        out_.total.next = next();
        if (options_.on_run) options_.on_run(out_.total, found);
    }

    void add_up(const RunResult& result) {
        ++out_.total.runs;
        out_.total.events += result.events;
        out_.total.virtual_ms += result.virtual_ms;
        digests_.insert(result.digest);
        out_.total.histories = digests_.size();
        for (const FaultCount& fault : result.faults) {
            auto& sum = out_.faults[fault.kind];
            sum.kind = fault.kind;
            sum.armed += fault.armed;
            sum.fired += fault.fired;
            sum.effective += fault.effective;
        }
        for (const auto& [name, count] : result.exercised) out_.exercised[name] += count;
        for (const auto& [name, count] : result.reached) out_.reached[name] += count;
    }

    const Failure* keep(std::uint64_t draw, const std::string& signature, Document document, const RunResult& result) {
        ++out_.total.failures;
        ++out_.counts[signature];
        if (!options_.keep_going) over_ = true;
        const auto known = out_.failures.find(signature);
        if (known != out_.failures.end() && known->second.events <= result.events) return nullptr;
        Failure failure = failure_of(std::move(document), result, fmt::format("explore, draw {}", draw));
        out_.total.signatures += known == out_.failures.end() ? 1 : 0;
        return &(out_.failures[signature] = std::move(failure));
    }

    /// A drawn document that the loader refuses is a defect of the drawing: kept as a failure, so that it is seen.
    void refused(std::uint64_t draw, const std::string& why) {
        const std::lock_guard lock(mutex_);
        under_way_.erase(draw);
        ++out_.refused;
        RunResult result;
        result.seed = draw;
        result.error = fmt::format("a drawn scenario cannot be loaded: {}", why);
        ++out_.total.runs;
        const Failure* found = keep(draw, signature_of(result), draw_scenario(draw, options_.draw), result);
        out_.total.next = next();
        if (options_.on_run) options_.on_run(out_.total, found);
    }

    [[nodiscard]] std::uint64_t next() const { return under_way_.empty() ? next_ : *under_way_.begin(); }
    [[nodiscard]] bool stopped() const { return options_.stop != nullptr && options_.stop->load(); }

    const Runner& runner_;
    const ExploreOptions& options_;
    const Clock::time_point began_;
    std::mutex mutex_;  // guards what follows
    std::uint64_t next_;
    std::size_t regressions_ = 0;
    bool over_ = false;
    std::set<std::uint64_t> under_way_;
    std::set<std::uint64_t> digests_;
    ExploreOutcome out_;
};

}  // namespace

ExploreOutcome explore(const Runner& runner, const ExploreOptions& options) {
    Exploration exploration(runner, options);
    side_by_side(options.threads, [&] { exploration.work(); });
    return exploration.outcome();
}

}  // namespace lockstep::sim
