#include "sim/search/output_proof.h"

#include <algorithm>
#include <mutex>
#include <set>

#include "sim/run/side_by_side.h"
#include "sim/scenario/catalogue.h"

namespace lockstep::sim {

namespace {

using How = Corruption::How;
/// Of the runs that have an output the shortest are tried, and in each its first, middle and last value.
constexpr std::size_t kRunsTried = 8;

struct CleanRun {
    const Scenario* scenario;
    std::uint64_t events;
    OutputsSeen outputs;
};

std::vector<How> ways_for(std::string_view output) {
    if (output.ends_with(" removed")) return {How::dropped};
    if (output.ends_with(" expiry")) return {How::changed, How::dropped};
    if (output.ends_with(" score")) return {How::changed};
    if (output.ends_with(" member")) return {How::changed, How::dropped};
    if (output.ends_with(" labels")) return {How::changed};
    if (output.ends_with(" whole")) return {How::dropped, How::stale, How::late};
    if (output.find(' ') == std::string_view::npos) return {How::dropped};
    if (output.starts_with("job:meta:") || output.starts_with("lockstep:durable:"))
        return {How::changed, How::dropped, How::stale, How::late};
    return {How::changed, How::dropped};
}

class Prover {
public:
    Prover(const Runner& runner, OutputProofOptions options) : runner_(runner), options_(std::move(options)) {}

    std::vector<OutputProof> run() {
        see();
        std::map<std::string, std::vector<std::string>> values;
        for (const CleanRun& clean : runs_)
            for (const auto& [output, seen] : clean.outputs) {
                auto& kept = values[output];
                for (const std::string& value : seen.values)
                    if (kept.size() < 24 && std::ranges::find(kept, value) == kept.end()) kept.push_back(value);
            }
        std::vector<OutputProof> proofs;
        std::size_t number = 0;
        for (const auto& [output, some] : values)
            if (number++ % options_.shares == options_.share) proofs.push_back({.output = output, .noticed_by = {}});
        std::atomic<std::size_t> next = 0;
        std::size_t done = 0;
        side_by_side(options_.threads, [&] {
            for (std::size_t i = next++; i < proofs.size() && !stopped(); i = next++) {
                prove(proofs[i], values.at(proofs[i].output));
                const std::scoped_lock lock(mutex_);
                if (options_.on_progress) options_.on_progress(++done, proofs.size());
            }
        });
        return proofs;
    }

private:
    [[nodiscard]] bool stopped() const { return options_.stop != nullptr && *options_.stop; }

    [[nodiscard]] RunOptions run_options() const {
        RunOptions options;
        options.explain = false;
        options.stop = options_.stop;
        return options;
    }

    void see() {
        std::atomic<std::size_t> next = 0;
        side_by_side(options_.threads, [&] {
            for (std::size_t i = next++; i < options_.scenarios.size() && !stopped(); i = next++) {
                Scenario& scenario = options_.scenarios[i];
                scenario.expect.all_invariants = false;
                scenario.expect.invariants = judges_;
                scenario.expect.all_but.clear();
                RunOptions options = run_options();
                options.outputs = true;
                RunResult result = runner_(scenario, scenario.seed, options);
                if (!result.violations.empty() || !result.error.empty()) continue;
                const std::scoped_lock lock(mutex_);
                runs_.push_back({&scenario, result.events, std::move(result.outputs)});
            }
        });
        std::ranges::sort(runs_, {}, [](const CleanRun& run) { return std::pair(run.events, run.scenario->file); });
    }

    void prove(OutputProof& proof, const std::vector<std::string>& values) {
        for (const How how : ways_for(proof.output)) {
            if (options_.wanted && !options_.wanted(proof.output, how)) continue;
            Corruption corruption{.output = proof.output, .how = how, .others = values};
            bool applies = false;
            std::string noticed;
            std::size_t tried = 0;
            for (const CleanRun& clean : runs_) {
                const auto seen = clean.outputs.find(proof.output);
                if (seen == clean.outputs.end()) continue;
                const int count = seen->second.count;
                for (const int occurrence : std::set{1, (count + 1) / 2, count}) {
                    corruption.occurrence = occurrence;
                    RunOptions options = run_options();
                    options.corruption = &corruption;
                    const RunResult result = runner_(*clean.scenario, clean.scenario->seed, options);
                    applies |= result.corrupted > 0;
                    if (!result.violations.empty()) noticed = result.violations.front().invariant;
                    if (!noticed.empty() || stopped()) break;
                }
                if (!noticed.empty() || ++tried == kRunsTried || stopped()) break;
            }
            if (applies) proof.noticed_by.emplace(how, noticed);
        }
    }

    /// All but the one that goes by the register, which may be about to be written.
    static std::vector<std::string> make_judges() {
        std::vector<std::string> names = names_of(invariant_table(), true);
        std::erase(names, "unclaimed_output");
        return names;
    }

    const std::vector<std::string> judges_ = make_judges();
    const Runner& runner_;
    OutputProofOptions options_;
    std::mutex mutex_;
    std::vector<CleanRun> runs_;
};

}  // namespace

std::vector<OutputProof> prove_outputs(const Runner& runner, OutputProofOptions options) {
    return Prover(runner, std::move(options)).run();
}

std::string_view name_of(Corruption::How how) {
    switch (how) {
        case How::same: return "same";
        case How::changed: return "changed";
        case How::dropped: return "dropped";
        case How::stale: return "stale";
        case How::late: return "late";
    }
    return {};
}

}  // namespace lockstep::sim
