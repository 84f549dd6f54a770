#include "engine/store/job_lease.h"

#include "engine/store/keys.h"

namespace lockstep::engine {

JobLease::JobLease(const LeasePorts& ports, std::string job, std::string token)
    : ports_(ports), job_(std::move(job)), token_(std::move(token)), renewal_(ports.executor) {}

void JobLease::begin(MonoTime asked) {
    held_ = true;
    valid_until_ = asked + ports_.tunables.job_lock_ttl;
    renewal_.spawn(keep_renewing());
}

bool JobLease::usable() const { return held_ && ports_.clock.monotonic() < valid_until_; }

void JobLease::mark_lost() {
    if (held_) ports_.log.reached("job_lock_lost");
    held_ = false;
}

void JobLease::end() {
    held_ = false;
    renewal_.cancel();
}

Task<void> JobLease::release() {
    if (!held_) co_return;
    end();
    for (int tries = 0; tries < 2; ++tries) {
        const auto released = co_await ports_.redis.script(ports_.scripts.release_lock, {keys::job_lock(job_)}, {token_},
                                                           ports_.clock.in(ports_.tunables.store_op_timeout));
        if (released.applied()) co_return;  // "not ours" included: then it is none of our business
    }
}

Task<void> JobLease::keep_renewing() {
    const Duration ttl = ports_.tunables.job_lock_ttl;
    std::int64_t failures = 0;
    while (failures < ports_.tunables.max_renewal_failures) {
        co_await ports_.clock.sleep(ttl / 3);
        const MonoTime asked = ports_.clock.monotonic();
        auto renewed = co_await ports_.redis.script(ports_.scripts.renew_lock, {keys::job_lock(job_)},
                                                    {token_, std::to_string(to_millis(ttl))},
                                                    asked + ports_.tunables.store_op_timeout);
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
    held_ = false;
    ports_.metrics.add(Metric::job_lock_abandoned);
    ports_.log.event(LogLevel::error, "job lock renewal abandoned", {{"job_id", job_}, {"failures", failures}});
    ports_.log.reached("job_lock_abandoned");
}

}  // namespace lockstep::engine
