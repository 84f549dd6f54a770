// The quick look at an output, before its success is recorded (wire.md 9.1). It runs under the job's lock and writes nothing
// about the job: its caller commits what comes of it, together with the state.
//
// It fails open: when nobody answers, the output passes unseen, and the scan that follows decides. A verdict to redact is
// different, since policy has spoken: an output whose replacement cannot be made is withheld.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "engine/output/output_verdict.h"
#include "engine/runtime/task.h"
#include "engine/wire/fwd.h"

namespace lockstep::engine {

class OutputPolicyClient;
struct Context;
struct JobFacts;

/// What the gate has found out about one success.
struct OutputPassage {
    std::optional<OutputVerdict> verdict;            // to be recorded; nothing when nobody gave one
    std::shared_ptr<const cap::JobRequest> to_scan;  // the request whose output is to be scanned; null = no scan
    bool no_room = false;  // policy wants to see the content, and there is none for it: to be judged later
};

class OutputGate {
public:
    /// Both outlive the gate.
    OutputGate(const Context& context, OutputPolicyClient& policy) : context_(context), policy_(policy) {}

    /// Judges a successful result. `facts` are those that taking the lock has read, with the circuit's keys along.
    [[nodiscard]] Task<OutputPassage> judge(const cap::JobResult& result, const JobFacts& facts);

private:
    /// Has a verdict to redact followed by the replacement, or turned into one to withhold. Nothing: there is no room for its content.
    [[nodiscard]] Task<std::optional<OutputVerdict>> redact(OutputVerdict quick, const cap::JobResult& result,
                                                            const cap::JobRequest& request);
    void skip(const std::string& topic);

    const Context& context_;
    OutputPolicyClient& policy_;
};

/// Counts what a verdict does to the output.
void count_verdict(const Context& context, const OutputVerdict& verdict, const std::string& topic);

}  // namespace lockstep::engine
