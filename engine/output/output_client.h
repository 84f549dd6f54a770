// Asks the output policy service about a result (wire.md 7.2). It has a circuit of its own: trouble with input policy says
// nothing about it, nor the other way round (FAIL-10).
//
// What cannot be read from the store is no failure of the service and does not count against its circuit, nor does an output that is
// slow to judge: else a few outputs of one worker would leave every other unchecked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "engine/config/tunables.h"
#include "engine/output/output_question.h"
#include "engine/output/output_verdict.h"
#include "engine/policy/circuit_breaker.h"
#include "engine/policy/large_content.h"
#include "engine/policy/recent_calls.h"
#include "engine/ports/kernel.h"
#include "engine/ports/metrics.h"
#include "engine/runtime/identifiers.h"
#include "engine/runtime/task.h"

namespace lockstep::engine {

/// Why there is no verdict.
struct OutputFailure {
    enum class Cause : std::uint8_t {
        circuit_open,  // nobody was asked
        no_room,       // neither: too much large content of the tenant is being judged
        timeout,
        failed,
    };
    Cause cause = Cause::failed;
    std::string detail;
};

class OutputPolicyClient {
public:
    using Answer = tl::expected<OutputVerdict, OutputFailure>;

    /// All arguments outlive the client.
    OutputPolicyClient(Kernel& kernel, Redis& redis, Clock& clock, Metrics& metrics, Log& log, LargeContent& room,
                       const Tunables& tunables, const StoreScripts& scripts, const Mechanisms& mechanisms);

    /// The quick check: neither pointer nor content, `output_meta_timeout`. A verdict to redact has no replacement yet.
    /// `glimpse`: what the circuit's keys said a moment ago, if somebody has read them.
    [[nodiscard]] Task<Answer> check_metadata(const cap::JobResult& result, const cap::JobRequest& request,
                                              std::optional<CircuitGlimpse> glimpse);
    /// The check of the content that the result points to, or of its first two megabytes (see OutputVerdict::partial). Policy has
    /// `limit` to answer; reading the content takes its own time. A verdict to redact comes with its replacement stored; where that
    /// is impossible it has become a quarantine. A large output needs a place: `place`, or else one that is free now, or it fails with
    /// `no_room`.
    [[nodiscard]] Task<Answer> check_content(const cap::JobResult& result, const cap::JobRequest& request,
                                             OutputPhase phase, Duration limit, Crowd::Place place);
    /// A place for a large output of this tenant, which waits `since` then; none when `deadline` comes first or too many wait for longer.
    [[nodiscard]] Task<Crowd::Place> room(const cap::JobRequest& request, MonoTime deadline, WallTime since);
    /// Those that wait for a place, of inputs as well, get none.
    void send_away() noexcept { room_.send_away(); }

    [[nodiscard]] const std::vector<std::string>& circuit_keys() const { return circuit_.watched_keys(); }

private:
    using Loaded = tl::expected<OutputContent, OutputFailure>;

    [[nodiscard]] Task<Answer> ask(cap_output::OutputCheckRequest question, std::string asker, Duration limit,
                                   std::optional<CircuitGlimpse> glimpse);
    [[nodiscard]] Answer circuit_open();
    /// Notes that policy has seen the beginning of the output only.
    void note_cut_off(OutputVerdict& verdict, const OutputContent& content, const JobId& job, const std::string& topic);
    /// The first bytes of what the pointer leads to, `most` at most; nothing when there is no pointer, or when nothing has appeared there for
    /// half a second.
    [[nodiscard]] Task<Loaded> load(std::string pointer, std::size_t most);
    [[nodiscard]] Task<void> replace(OutputVerdict& verdict, const cap::JobResult& result,
                                     const OutputContent& content);
    [[nodiscard]] Task<bool> store(std::string key, std::string content);

    Kernel& kernel_;
    Redis& redis_;
    Clock& clock_;
    Metrics& metrics_;
    Log& log_;
    LargeContent& room_;
    const Tunables& tunables_;
    CircuitBreaker circuit_;
    RecentCalls recent_;
};

}  // namespace lockstep::engine
