#include "sim/search/same_failure.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/run/sweep.h"
#include "sim/search/failure.h"

namespace lockstep::sim {

namespace {

constexpr std::string_view kExpectation = "expectation: ";

/// Only what the failure violates is expected; nothing else distracts.
Document expecting_only(Document document, const std::string& signature) {
    if (signature.starts_with(kExpectation)) return document;
    const std::string invariant = signature.substr(0, signature.find(':'));
    const auto known = document.contains("expect") && document["expect"].contains("invariants")
                           ? document["expect"]["invariants"]
                           : Document("all");
    // A broken INVARIANT of the engine is no rule's; it is noticed whatever is expected.
    const bool of_a_rule = invariant != "engine_invariant" && invariant != "harness";
    Document expect = Document::object();
    expect["invariants"] = of_a_rule ? Document::array({invariant}) : known;
    document["expect"] = std::move(expect);
    return document;
}

}  // namespace

std::optional<SameFailure::Seen> SameFailure::adopt(Document& document, std::string signature, std::string& why_not) {
    if (signature.empty()) {
        const auto open = parse_document(document, "scenario");
        if (!open) {
            why_not = to_string(open.error().front());
            return {};
        }
        const RunResult result = run(*open);
        signature = signature_of(result);
        if (signature.empty()) {
            why_not = result.interrupted ? "interrupted before it was known to fail"
                                         : "it does not fail: nothing was violated under this seed";
            return {};
        }
    }
    signature_ = std::move(signature);
    document = expecting_only(std::move(document), signature_);
    auto scenario = parse_document(document, "scenario");
    if (!scenario) {
        why_not = to_string(scenario.error().front());
        return {};
    }
    RunResult result = run(*scenario);
    if (const std::string actual = signature_of(result); actual != signature_) {
        why_not = result.interrupted
                      ? "interrupted before it was known to fail"
                      : fmt::format("it does not fail as recorded: expected \"{}\", got \"{}\"", signature_, actual);
        return {};
    }
    find_cure(*scenario);
    const auto missed = std::ranges::find(result.expectations, false, &ExpectationOutcome::held);
    const bool too_few = missed != result.expectations.end() && missed->too_few;
    if (!demands_cure_ && signature_.starts_with(kExpectation) && too_few) {
        why_not = fmt::format(
            "{}: without its faults, and with the settings at their defaults, that is so as well; with less of "
            "anything "
            "it would stay so",
            missed_text(*missed));
        return {};
    }
    return Seen{std::move(*scenario), std::move(result)};
}

std::optional<SameFailure::Seen> SameFailure::judge(const Document& candidate) {
    auto scenario = parse_document(candidate, "candidate");
    if (!scenario) return {};
    RunResult result = run(*scenario);
    if (signature_of(result) != signature_) return {};
    if (demands_cure_) {
        const Cure cure = cure_of(*scenario);
        if (cure == Cure::none || (demands_proof_ && cure == Cure::vacuous)) return {};
        demands_proof_ = cure == Cure::proven;
    }
    return Seen{std::move(*scenario), std::move(result)};
}

RunResult SameFailure::run(const Scenario& scenario) {
    RunOptions options;
    options.stop = stop_;
    options.explain = false;
    ++runs_;
    return runner_(scenario, scenario.seed, options);
}

void SameFailure::find_cure(const Scenario& failing) {
    std::vector<Remedy> remedies;
    if (!failing.without.empty())
        remedies = {Remedy::missing_mechanisms};
    else if (signature_.starts_with(kExpectation))
        remedies = {Remedy::faults, Remedy::faults_and_settings};
    for (const Remedy remedy : remedies) {
        remedy_ = remedy;
        const Cure cure = cure_of(failing);
        demands_cure_ = cure != Cure::none;
        demands_proof_ = cure == Cure::proven;
        if (demands_cure_) return;
    }
}

SameFailure::Cure SameFailure::cure_of(const Scenario& failing) {
    Scenario cured = failing;
    cured.without.clear();
    if (remedy_ != Remedy::missing_mechanisms) {
        cured.faults.clear();
        cured.chaos.reset();
    }
    if (remedy_ == Remedy::faults_and_settings) {
        cured.cluster.config = {};
        cured.cluster.pinned = {};
    }
    const RunResult result = run(cured);
    if (!result.passed) return Cure::none;
    // What is left is not the file as it will be.
    if (remedy_ != Remedy::missing_mechanisms) return Cure::vacuous;
    return unproved_of_file(cured, std::array{&result}).empty() ? Cure::proven : Cure::vacuous;
}

}  // namespace lockstep::sim
