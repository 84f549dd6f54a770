#include "engine/store/lease.h"

#include <algorithm>
#include <utility>

#include "engine/runtime/invariant.h"

namespace lockstep::engine {

namespace {

/// Pauses between two tries to release: short at first, because most disturbances are.
constexpr Duration kReleasePauseMin = std::chrono::milliseconds{20};
constexpr Duration kReleasePauseMax = std::chrono::seconds{1};
/// Locks that are being released in the background. While Redis hangs, every delivery adds one; those beyond are left to expire,
/// so that what comes first when it is back is work.
constexpr std::size_t kReleasesMax = 2'048;

enum class Release : std::uint8_t {
    done,       // the server has said what became of it
    under_way,  // it, or what is ahead of it, a call that takes the lock among that, may still come to the server
    unknown,
};

Task<Release> ask_to_release(LeasePorts ports, HeldLock lock, Duration answer_within) {
    std::vector<std::string> names{std::move(lock.key)};
    std::vector<std::string> arguments{std::move(lock.token).text()};
    if (!lock.mark.key.empty()) {
        names.push_back(std::move(lock.mark.key));
        arguments.push_back(std::move(lock.mark.field));
        if (lock.noted != StreamSequence{}) arguments.push_back(std::to_string(lock.noted.value()));
    }
    const auto released = co_await ports.redis.script(ports.scripts.release_lock, std::move(names),
                                                      std::move(arguments), ports.clock.in(answer_within));
    if (released.applied()) co_return Release::done;
    // One that has left comes to the server after what is ahead of it, and still to nothing where that has no such script by then.
    co_return released.failure().cause == FailureCause::timeout ? Release::under_way : Release::unknown;
}

/// When to give up, which is not before the second try.
struct Patience {
    MonoTime until;
    Duration anew{};  // from each try that is still under way: the lock may be taken as late as that
};

Task<void> keep_releasing(LeasePorts ports, HeldLock lock, Duration answer_within, Patience patience) {
    Duration pause = kReleasePauseMin;
    for (int tries = 1;; ++tries) {
        const Release release = co_await ask_to_release(ports, lock, answer_within);
        if (release == Release::done) break;
        if (release == Release::under_way) patience.until = std::max(patience.until, ports.clock.in(patience.anew));
        if (tries >= 2 && ports.clock.monotonic() >= patience.until) break;
        co_await ports.clock.sleep(pause);
        pause = std::min(2 * pause, kReleasePauseMax);
    }
    ports.book.strike(lock.token);
}

Task<void> release_later(LeasePorts ports, HeldLock lock, LeaseTerms terms, MonoTime until) {
    co_await ports.clock.sleep(kReleasePauseMin);
    co_await keep_releasing(ports, std::move(lock), terms.answer_within, {until, terms.life});
    ports.log.reached("lock_released_late");
}

}  // namespace

Task<void> release_lock(LeasePorts ports, HeldLock lock, Duration answer_within, MonoTime until) {
    co_await keep_releasing(ports, std::move(lock), answer_within, {until});
}

void LeaseBook::enter(const HeldLock& lock) {
    PRECONDITION(!lock.token.empty() && !lock.key.empty(), "token '{}' is booked for key '{}'", lock.token, lock.key);
    held_.insert_or_assign(lock.token, lock);
}

Lease::Lease(const LeasePorts& ports, std::string key, Token token, LeaseTerms terms, HandlingMark mark)
    : ports_(ports), lock_{std::move(key), std::move(token), std::move(mark)}, terms_(terms), renewal_(ports.executor) {
    PRECONDITION(!lock_.key.empty(), "token '{}' is to hold nothing", lock_.token);
    PRECONDITION(terms.life > Duration{0} && terms.answer_within > Duration{0},
                 "lock {} lives {} ns, and is answered within {} ns", lock_.key, terms.life.count(),
                 terms.answer_within.count());
}

void Lease::asking() {
    PRECONDITION(!lock_.token.empty(), "lock {} is asked for without a token", lock_.key);
    if (phase_ != Phase::held) phase_ = Phase::asking;
    if (terms_.booked) ports_.book.enter(lock_);
}

void Lease::refused() {
    phase_ = Phase::none;
    ports_.book.strike(lock_.token);
}

void Lease::begin(MonoTime asked) {
    PRECONDITION(!lock_.token.empty(), "lock {} is granted without a token", lock_.key);
    PRECONDITION(asked <= ports_.clock.monotonic(), "lock {} was asked for {} ns from now", lock_.key,
                 (asked - ports_.clock.monotonic()).count());
    valid_until_ = asked + terms_.life;
    if (std::exchange(phase_, Phase::held) != Phase::held && terms_.renewed) renewal_.spawn(keep_renewing());
}

Duration Lease::remaining() const {
    return phase_ == Phase::held ? valid_until_ - ports_.clock.monotonic() : Duration{0};
}

bool Lease::lost() const { return phase_ == Phase::lost || (phase_ == Phase::held && !usable()); }

void Lease::mark_lost() {
    if (std::exchange(phase_, Phase::lost) == Phase::held) on_lost();
}

void Lease::end() {
    phase_ = Phase::none;
    renewal_.cancel();
    ports_.book.strike(lock_.token);
}

void Lease::note_on_release(StreamSequence noted) { lock_.noted = noted; }

Task<bool> Lease::goes_on_alone() {
    PRECONDITION(!lock_.mark.key.empty(), "what is done under lock {} is not marked", lock_.key);
    const MonoTime asked = ports_.clock.monotonic();
    const auto marked = co_await ports_.redis.script(
        ports_.scripts.renew_lock, {lock_.key, lock_.mark.key},
        {lock_.token.text(), std::to_string(to_millis(terms_.life)), lock_.mark.field}, asked + terms_.answer_within);
    if (!marked.applied()) co_return false;
    if (marked.value().integer_or(0) != 1) {
        mark_lost();
        co_return false;
    }
    if (held()) valid_until_ = asked + terms_.life;
    co_return held();
}

Task<void> Lease::release() {
    if (phase_ == Phase::none) co_return;
    phase_ = Phase::none;
    renewal_.cancel();
    // Its last renewal is over: no lock of this token lives longer, but one that a call still on its way takes.
    const MonoTime until = ports_.clock.in(terms_.life);
    const Release release = co_await ask_to_release(ports_, lock_, terms_.answer_within);
    if (release == Release::done) {
        ports_.book.strike(lock_.token);
    } else if (ports_.mechanisms.on(Mechanism::release_retry)) {
        if (ports_.releases.size() < kReleasesMax)
            ports_.releases.spawn(release_later(ports_, lock_, terms_, until));
        else
            ports_.book.strike(lock_.token);
    } else {  // switched off: one more try at the same instant
        co_await ask_to_release(ports_, lock_, terms_.answer_within);
        ports_.book.strike(lock_.token);
    }
}

Task<void> Lease::keep_renewing() {
    const Duration life = terms_.life;
    std::int64_t failures = 0;
    while (failures < ports_.tunables.max_renewal_failures) {
        co_await ports_.clock.sleep(life / 3);
        const MonoTime asked = ports_.clock.monotonic();
        auto renewed = co_await ports_.redis.script(ports_.scripts.renew_lock, {lock_.key},
                                                    {lock_.token.text(), std::to_string(to_millis(life))},
                                                    asked + terms_.answer_within);
        if (!ports_.mechanisms.on(Mechanism::renewal_abandon)) {  // switched off: as if every renewal had worked
            valid_until_ = asked + life;
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
        valid_until_ = asked + life;
    }
    phase_ = Phase::lost;
    on_abandoned(failures);
}

}  // namespace lockstep::engine
