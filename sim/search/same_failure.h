// Decides whether a smaller scenario is still the same failure: the same signature, and what cured it cures it still.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "sim/run/result.h"
#include "sim/scenario/document.h"

namespace lockstep::sim {

/// Without the cure, any scenario that cannot end well would do: one without workers, one that is cut short, or of an expectation that
/// so many jobs succeed, one without jobs. So of a scenario that names mechanisms in `without`, and holds with them, that is demanded of
/// every candidate, too; and once the file as it will be when the bug is fixed proves something (each fault takes effect, the
/// invariant is put to the test), it has to go on doing so. An expectation that is not met is met without the faults, or without the
/// faults and settings, and has to go on being so.
class SameFailure {
public:
    struct Seen {
        Scenario scenario;
        RunResult result;
    };

    /// `runner` and `stop` outlive it; `stop` may be null.
    SameFailure(const Runner& runner, const std::atomic<bool>* stop) : runner_(runner), stop_(stop) {}

    /// Takes this as the failure to hold on to, and changes it to expect only what it violates. `signature` as `signature_of`
    /// gives it; empty = that of its first run. Nothing and a sentence in `why_not` when it does not fail like that.
    [[nodiscard]] std::optional<Seen> adopt(Document& document, std::string signature, std::string& why_not);
    /// Nothing when it is another failure, none, or nonsense. What it returns is held on to: the caller keeps the candidate.
    [[nodiscard]] std::optional<Seen> judge(const Document& candidate);

    [[nodiscard]] const std::string& signature() const { return signature_; }
    /// Whether candidates have to hold with the mechanisms that they switch off, or without what hurts them.
    [[nodiscard]] bool demands_cure() const { return demands_cure_; }
    [[nodiscard]] std::uint64_t runs() const { return runs_; }

private:
    enum class Cure : std::uint8_t { none, vacuous, proven };
    /// What a scenario holds without.
    enum class Remedy : std::uint8_t { missing_mechanisms, faults, faults_and_settings };
    [[nodiscard]] RunResult run(const Scenario& scenario);
    [[nodiscard]] Cure cure_of(const Scenario& failing);
    void find_cure(const Scenario& failing);

    const Runner& runner_;
    const std::atomic<bool>* stop_;
    std::string signature_;
    Remedy remedy_ = Remedy::missing_mechanisms;
    bool demands_cure_ = false;
    bool demands_proof_ = false;
    std::uint64_t runs_ = 0;
};

}  // namespace lockstep::sim
