#include "engine/policy/circuit_breaker.h"

#include "engine/runtime/invariant.h"
#include "engine/runtime/millis.h"

#include <fmt/core.h>

#include <algorithm>

namespace lockstep::engine {

namespace {

/// How long failures are remembered that never added up to a trip, and a trip that nobody came to probe. Long, because "in
/// a row" knows no time; not for ever, because no key should be.
constexpr Duration kMemory = std::chrono::hours{1};

/// How often the outcome of a probe is told until it is heard; the other replicas wait for it, and a second telling changes
/// nothing. A failure while closed is told once: counted double, two failures could trip the circuit.
constexpr int kProbeReports = 3;

std::string text(std::int64_t number) { return fmt::format("{}", number); }

}  // namespace

CircuitBreaker::CircuitBreaker(Service service, Redis& redis, Clock& clock, Log& log, const Tunables& tunables,
                               const StoreScripts& scripts, const Mechanisms& mechanisms)
    : service_(service),
      redis_(redis),
      clock_(clock),
      log_(log),
      tunables_(tunables),
      scripts_(scripts),
      mechanisms_(mechanisms),
      watched_keys_(
          service == Service::input
              ? std::vector<std::string>{"cordum:cb:safety:failures", "lockstep:cb:safety:trip"}
              : std::vector<std::string>{"cordum:cb:safety:output:failures", "lockstep:cb:safety:output:trip"}),
      probes_key_(service == Service::input ? "lockstep:cb:safety:probes" : "lockstep:cb:safety:output:probes"),
      local_(tunables) {}

Task<std::optional<CircuitGlimpse>> CircuitBreaker::look() {
    RedisCommand read{"MGET", watched_keys_[0], watched_keys_[1]};
    const auto values = co_await redis_.command(std::move(read), deadline());
    if (!values.applied()) co_return std::nullopt;
    co_return CircuitGlimpse{values.value().at(0).integer_or(0), std::string(values.value().at(1).text())};
}

bool CircuitBreaker::is_open(const CircuitGlimpse& glimpse) const {
    return shared() && mechanisms_.on(Mechanism::circuit_breaker) && glimpse.failures >= tunables_.circuit_fail_budget;
}

Task<std::optional<CircuitBreaker::Leave>> CircuitBreaker::ask_leave(std::string asker,
                                                                     std::optional<CircuitGlimpse> glimpse) {
    PRECONDITION(!asker.empty(), "nobody asks {}", watched_keys_.front());
    Leave leave;
    leave.asker = std::move(asker);
    leave.local = local_.ticket();
    const Shared shared = co_await ask_shared(leave, std::move(glimpse));
    std::optional<Leave> answer;
    switch (shared) {
        case Shared::closed:
            if (knows_more_) {
                answer = ask_local(leave);
                if (!answer) log_.reached("circuit_open_by_own_count");
            } else {
                answer = leave;
            }
            break;
        case Shared::probe: answer = leave; break;
        case Shared::open: break;
        case Shared::unknown: answer = ask_local(leave); break;
    }
    if (!mechanisms_.on(Mechanism::circuit_breaker) && !answer) answer = std::move(leave);
    if (!answer) log_.reached("circuit_open");
    co_return answer;
}

std::optional<CircuitBreaker::Leave> CircuitBreaker::ask_local(Leave leave) {
    const auto ticket = local_.admit(clock_.monotonic());
    if (!ticket) return std::nullopt;
    leave.local = *ticket;
    return leave;
}

Task<CircuitBreaker::Shared> CircuitBreaker::ask_shared(Leave& leave, std::optional<CircuitGlimpse> glimpse) {
    if (!shared()) co_return Shared::unknown;
    if (glimpse) {
        if (glimpse->failures >= tunables_.circuit_fail_budget) co_return Shared::open;
        if (glimpse->trip.empty()) {
            leave.failures_to_forget = glimpse->failures > 0;
            co_return Shared::closed;
        }
    }
    const Duration answered_by = longest_call() + tunables_.store_op_timeout;
    const auto reply =
        co_await redis_.script(scripts_.circuit_admit, keys(),
                               {text(tunables_.circuit_fail_budget), text(tunables_.circuit_half_open_max),
                                text(std::max(tunables_.circuit_half_open_max, tunables_.circuit_close_after)),
                                leave.asker, millis(answered_by * 2), millis(kMemory)},
                               deadline());
    if (!reply.applied()) {
        log_.reached("circuit_asked_locally");
        if (glimpse) local_.join_half_open(clock_.monotonic());  // a moment ago it was
        co_return Shared::unknown;
    }
    const std::string_view answer = reply.value().at(0).text();
    if (answer == "open") co_return Shared::open;
    leave.trip = reply.value().at(2).text();
    leave.failures_to_forget = answer == "probe" || reply.value().at(1).integer_or(0) > 0;
    if (answer == "probe") log_.reached("circuit_probe");
    co_return answer == "probe" ? Shared::probe : Shared::closed;
}

Task<void> CircuitBreaker::failed(Leave leave) {
    local_.failed(leave.local, clock_.monotonic());
    if (!shared()) co_return;
    const bool probe = !leave.trip.empty();
    std::vector<std::string> arguments{std::move(leave.trip), text(tunables_.circuit_fail_budget),
                                       millis(tunables_.circuit_open_for), millis(kMemory)};
    const auto reply = co_await report(scripts_.circuit_failure, std::move(arguments), probe);
    if (!reply.applied()) {
        // This process has counted it.
        log_.reached("circuit_failure_not_shared");
        knows_more_ = true;
        co_return;
    }
    const std::string_view effect = reply.value().at(0).text();
    if (effect == "open") knows_more_ = false;
    if (effect == "late") log_.reached("circuit_failure_from_before_the_trip");
    if (effect == "open") log_.event(LogLevel::warn, "circuit open", {{"key", watched_keys_.front()}});
}

Task<void> CircuitBreaker::succeeded(Leave leave) {
    local_.succeeded(leave.local);
    if (local_.is_closed()) knows_more_ = false;
    if (!leave.failures_to_forget || !shared()) co_return;
    const bool probe = !leave.trip.empty();
    std::vector<std::string> arguments{std::move(leave.trip), text(tunables_.circuit_fail_budget),
                                       std::move(leave.asker), text(tunables_.circuit_close_after), millis(kMemory)};
    const auto reply = co_await report(scripts_.circuit_success, std::move(arguments), probe);
    if (!reply.applied()) {
        log_.reached("circuit_success_not_shared");
        co_return;
    }
    const bool closed_by_probes = probe && reply.value().text() == "closed";
    if (closed_by_probes) {
        log_.reached("circuit_closed_by_probes");
        log_.event(LogLevel::info, "circuit closed", {{"key", watched_keys_.front()}});
    }
}

Task<Outcome<RedisValue>> CircuitBreaker::report(const RedisScript& script, std::vector<std::string> arguments,
                                                 bool probe) {
    auto reply = co_await redis_.script(script, keys(), arguments, deadline());
    for (int again = 1; probe && !reply.applied() && again < kProbeReports; ++again)
        reply = co_await redis_.script(script, keys(), arguments, deadline());
    co_return reply;
}

Duration CircuitBreaker::longest_call() const {
    return service_ == Service::input ? tunables_.safety_timeout : tunables_.output_content_timeout;
}

std::vector<std::string> CircuitBreaker::keys() const { return {watched_keys_[0], watched_keys_[1], probes_key_}; }

}  // namespace lockstep::engine
