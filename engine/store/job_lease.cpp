#include "engine/store/job_lease.h"

#include <algorithm>

#include "engine/runtime/invariant.h"
#include "engine/store/keys.h"

namespace lockstep::engine {

namespace {

/// Pauses between two tries to release: short at first, because most disturbances are.
constexpr Duration kReleasePauseMin = std::chrono::milliseconds{20};
constexpr Duration kReleasePauseMax = std::chrono::seconds{1};
/// Locks that are being released in the background. While Redis hangs, every delivery adds one; those beyond are left to expire,
/// so that what comes first when it is back is work.
constexpr std::size_t kReleasesMax = 2'048;

/// With the job lock off every handler has a lock of its own: none waits for another.
std::string lock_key_of(const Mechanisms& mechanisms, const std::string& job, const std::string& token) {
    std::string key = keys::job_lock(job);
    if (!mechanisms.on(Mechanism::job_lock)) key += ":" + token;
    return key;
}

/// True when the server has said what became of it.
Task<bool> ask_to_release(LeasePorts ports, std::string job, std::string token, std::uint64_t settled_result) {
    std::vector<std::string> names{lock_key_of(ports.mechanisms, job, token)};
    std::vector<std::string> arguments{token};
    if (settled_result != 0) {
        names.push_back(keys::job_meta(job));
        arguments.push_back(std::to_string(settled_result));
    }
    const auto released =
        co_await ports.redis.script(ports.scripts.release_lock, std::move(names), std::move(arguments),
                                    ports.clock.in(ports.tunables.store_op_timeout));
    co_return released.applied();
}

Task<void> release_later(LeasePorts ports, std::string job, std::string token, MonoTime until,
                         std::uint64_t settled_result) {
    co_await ports.clock.sleep(kReleasePauseMin);
    co_await release_lock(ports, std::move(job), std::move(token), until, settled_result);
    ports.log.reached("lock_released_late");
}

}  // namespace

JobLease::JobLease(const LeasePorts& ports, std::string job, std::string token)
    : ports_(ports), job_(std::move(job)), token_(std::move(token)), renewal_(ports.executor) {}

std::string JobLease::lock_key() const { return lock_key_of(ports_.mechanisms, job_, token_); }

void JobLease::asking() {
    PRECONDITION(phase_ != Phase::held, "the lock of job {} is asked for by its holder", job_);
    phase_ = Phase::asking;
    ports_.book.enter(token_, job_);
}

void JobLease::refused(bool out_of_turn) {
    phase_ = Phase::none;
    out_of_turn_ = out_of_turn;
    ports_.book.strike(token_);
}

void JobLease::begin(MonoTime asked) {
    PRECONDITION(phase_ != Phase::held, "the lock of job {} is granted to its holder", job_);
    phase_ = Phase::held;
    valid_until_ = asked + ports_.tunables.job_lock_ttl;
    if (ports_.mechanisms.on(Mechanism::lock_renewal)) renewal_.spawn(keep_renewing());
}

bool JobLease::usable() const { return phase_ == Phase::held && ports_.clock.monotonic() < valid_until_; }

bool JobLease::lost() const { return phase_ == Phase::lost || (phase_ == Phase::held && !usable()); }

void JobLease::mark_lost() {
    if (phase_ == Phase::held) ports_.log.reached("job_lock_lost");
    phase_ = Phase::lost;
}

void JobLease::end() {
    phase_ = Phase::none;
    renewal_.cancel();
    ports_.book.strike(token_);
}

Task<void> JobLease::release() {
    if (phase_ == Phase::none) co_return;
    phase_ = Phase::none;
    renewal_.cancel();
    // Its last renewal is over: no lock of this token lives longer.
    const MonoTime until = ports_.clock.in(ports_.tunables.job_lock_ttl);
    const bool released = co_await ask_to_release(ports_, job_, token_, settled_);
    if (released) {
        ports_.book.strike(token_);
    } else if (ports_.mechanisms.on(Mechanism::release_retry)) {
        if (ports_.releases.size() < kReleasesMax)
            ports_.releases.spawn(release_later(ports_, job_, token_, until, settled_));
        else
            ports_.book.strike(token_);
    } else {  // switched off: one more try at the same instant
        co_await ask_to_release(ports_, job_, token_, settled_);
        ports_.book.strike(token_);
    }
}

Task<void> release_lock(LeasePorts ports, std::string job, std::string token, MonoTime until,
                        std::uint64_t settled_result) {
    Duration pause = kReleasePauseMin;
    for (int tries = 1;; ++tries) {
        const bool released = co_await ask_to_release(ports, job, token, settled_result);
        if (released || (tries >= 2 && ports.clock.monotonic() >= until)) break;
        co_await ports.clock.sleep(pause);
        pause = std::min(2 * pause, kReleasePauseMax);
    }
    ports.book.strike(token);
}

Task<void> JobLease::keep_renewing() {
    const Duration ttl = ports_.tunables.job_lock_ttl;
    std::int64_t failures = 0;
    while (failures < ports_.tunables.max_renewal_failures) {
        co_await ports_.clock.sleep(ttl / 3);
        const MonoTime asked = ports_.clock.monotonic();
        auto renewed = co_await ports_.redis.script(ports_.scripts.renew_lock, {lock_key()},
                                                    {token_, std::to_string(to_millis(ttl))},
                                                    asked + ports_.tunables.store_op_timeout);
        if (!ports_.mechanisms.on(Mechanism::renewal_abandon)) {  // switched off: as if every renewal had worked
            valid_until_ = asked + ttl;
            continue;
        }
        if (!renewed.applied()) {
            ++failures;
            continue;
        }
        if (renewed.value().integer_or(0) != 1) {
            mark_lost();
            co_return;
        }
        failures = 0;
        valid_until_ = asked + ttl;
    }
    phase_ = Phase::lost;
    ports_.metrics.add(Metric::job_lock_abandoned);
    ports_.log.event(LogLevel::error, "job lock renewal abandoned", {{"job_id", job_}, {"failures", failures}});
    ports_.log.reached("job_lock_abandoned");
}

}  // namespace lockstep::engine
