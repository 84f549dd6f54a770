#include "sim/search/power.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "sim/scenario/catalogue.h"
#include "sim/search/explore.h"

namespace lockstep::sim {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kTellEvery = 20;

class Measurement {
public:
    Measurement(const Runner& runner, const PowerOptions& options) : runner_(runner), options_(options) {}

    PowerOutcome run() {
        PowerOutcome out;
        for (const std::string& mechanism : options_.mechanisms) {
            if (stopped()) break;
            out.mechanisms.push_back(measure(mechanism));
            if (options_.on_measured && !stopped()) options_.on_measured(out.mechanisms.back());
        }
        out.interrupted = stopped();
        return out;
    }

private:
    MechanismPower measure(const std::string& mechanism) {
        MechanismPower power;
        power.mechanism = mechanism;
        std::optional<Failure> smallest;
        for (std::uint64_t i = 0; i < options_.repeats && !stopped(); ++i) {
            tell(fmt::format("{}: search {} of {}", mechanism, i + 1, options_.repeats));
            power.searches.push_back(search(mechanism, options_.first + i * options_.seeds, smallest));
        }
        for (const PowerSearch& search : power.searches)
            if (search.found()) ++power.noticed[search.invariant];
        if (options_.breadth > 0 && !stopped()) look_further(power);
        if (options_.shrink && smallest && !stopped()) shrink_twice(*smallest, power);
        return power;
    }

    /// `smallest`: of the failures so far, the one with the fewest events.
    PowerSearch search(const std::string& mechanism, std::uint64_t first, std::optional<Failure>& smallest) {
        ExploreOptions explore_options;
        explore_options.draw.without = {mechanism};
        explore_options.draw.data_loss = loss_that_tells(mechanism);
        explore_options.first = first;
        explore_options.seeds = options_.seeds;
        explore_options.threads = options_.threads;
        explore_options.stop = options_.stop;
        const auto began = Clock::now();
        ExploreOutcome outcome = explore(runner_, explore_options);
        PowerSearch result;
        result.first = first;
        result.seconds = std::chrono::duration<double>(Clock::now() - began).count();
        result.draws = options_.seeds;
        if (!outcome.first_failure) return result;
        const Failure& found = *outcome.first_failure;
        result.draw = found.seed;
        result.draws = found.seed - first + 1;
        result.invariant = found.signature.substr(0, found.signature.find(':'));
        if (!smallest || found.events < smallest->events) smallest = std::move(*outcome.first_failure);
        return result;
    }

    void look_further(MechanismPower& power) {
        tell(fmt::format("{}: {} draws, whatever fails", power.mechanism, options_.breadth));
        ExploreOptions explore_options;
        explore_options.draw.without = {power.mechanism};
        explore_options.draw.data_loss = loss_that_tells(power.mechanism);
        explore_options.first = options_.first;
        explore_options.seeds = options_.breadth;
        explore_options.keep_going = true;
        explore_options.threads = options_.threads;
        explore_options.stop = options_.stop;
        const ExploreOutcome outcome = explore(runner_, explore_options);
        for (const auto& [signature, count] : outcome.counts)
            power.noticed[signature.substr(0, signature.find(':'))] += count;
    }

    void shrink_twice(const Failure& failure, MechanismPower& power) {
        tell(fmt::format("{}: shrinking draw {}", power.mechanism, failure.seed));
        ShrinkOptions shrink_options;
        shrink_options.stop = options_.stop;
        shrink_options.on_progress = [&](const ScenarioSize& left, std::uint64_t runs) {
            if (runs % kTellEvery == 0)
                tell(fmt::format("{}: shrinking draw {}, {} runs: {}", power.mechanism, failure.seed, runs,
                                 to_string(left)));
        };
        Shrunk once = shrink(failure.scenario, failure.seed, failure.signature, runner_, shrink_options);
        power.shrink_error = once.error;
        if (!once.error.empty() || stopped()) return;
        power.before = once.before;
        power.shrunk = once.after;
        const Shrunk twice = shrink(once.scenario, once.scenario["seed"].get<std::uint64_t>(), failure.signature,
                                    runner_, shrink_options);
        power.shrinks_once = twice.error.empty() && twice.scenario == once.scenario;
        power.smallest = std::move(once.scenario);
    }

    void tell(const std::string& what) const {
        if (options_.on_progress) options_.on_progress(what);
    }
    [[nodiscard]] bool stopped() const { return options_.stop != nullptr && options_.stop->load(); }

    const Runner& runner_;
    const PowerOptions& options_;
};

}  // namespace

double median(std::vector<double> values) {
    if (values.empty()) return 0;
    std::ranges::sort(values);
    const std::size_t middle = values.size() / 2;
    return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double MechanismPower::median_draws() const {
    std::vector<double> draws;
    for (const PowerSearch& search : searches) draws.push_back(static_cast<double>(search.draws));
    return median(std::move(draws));
}

double MechanismPower::median_seconds() const {
    std::vector<double> seconds;
    for (const PowerSearch& search : searches) seconds.push_back(search.seconds);
    return median(std::move(seconds));
}

bool MechanismPower::always_found() const {
    return !searches.empty() && std::ranges::all_of(searches, &PowerSearch::found);
}

PowerOutcome measure_power(const Runner& runner, const PowerOptions& options) {
    return Measurement(runner, options).run();
}

}  // namespace lockstep::sim
