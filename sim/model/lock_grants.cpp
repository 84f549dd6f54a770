#include "sim/model/lock_grants.h"

#include <algorithm>
#include <string>
#include <utility>

namespace lockstep::sim {

namespace {

using fakes::EventKind;
using fakes::When;

/// The last word of a command in RESP, which is taken off.
std::string_view take_last_word(std::string_view& command) {
    constexpr std::string_view kEnd = "\r\n";
    if (!command.ends_with(kEnd)) return {};
    command.remove_suffix(kEnd.size());
    const std::size_t begin = command.rfind(kEnd);
    if (begin == std::string_view::npos) return {};
    const std::string_view word = command.substr(begin + kEnd.size());
    command = command.substr(0, begin);
    const std::size_t length = command.rfind(kEnd);  // of the line with its length
    command = length == std::string_view::npos ? std::string_view{} : command.substr(0, length + kEnd.size());
    return word;
}

/// A call for a lock that ends with its token asks for nothing but its release. Behind that may stand a field that is removed with it, and
/// the number of a message that has been noted there; or a time, by which the lock is asked for once more.
bool asks_for_release(std::string_view command, const LockGrant& lock) {
    if (lock.token.empty()) return false;
    const std::string_view last = take_last_word(command);
    if (last == lock.token) return true;
    const std::string_view before = take_last_word(command);
    if (before == lock.token) return last != std::to_string(lock.life_ms);
    return before.starts_with("ls_") && take_last_word(command) == lock.token;
}

}  // namespace

LockGrant& LockGrants::of(std::string_view key) {
    const NameNumbers::Number number = keys_.number_of(key);
    if (number > locks_.size()) locks_.emplace_back().key = keys_.name_of(number);
    return locks_[number - 1];
}

const LockGrant* LockGrants::find(std::string_view key) const {
    const NameNumbers::Number number = keys_.find(key);
    return number == 0 || locks_[number - 1].changed == 0 ? nullptr : &locks_[number - 1];
}

LockGrants::Change LockGrants::changed(const fakes::Event& event, Since now) {
    LockGrant& lock = of(event.key);
    if (event.kind == EventKind::lock_released || event.kind == EventKind::lock_expired) {
        lock.token.clear();
        return {lock.key, std::exchange(lock.holder, {}), lock.taken, std::exchange(lock.release, {})};
    }
    if (event.kind == EventKind::lock_acquired) {
        lock.taken = now;
        lock.is_confirmed = false;
        lock.release = {};
    }
    lock.changed = now.event;
    lock.token = event.name;
    lock.holder = event.node;
    return {.key = lock.key};
}

void LockGrants::called(const fakes::Event& event, Since now) {
    if (!is_released(event.key)) return;
    LockGrant& lock = of(event.key);
    if (event.when == When::answered) return answered(lock, event, now);
    if (event.when != When::before) return;
    auto calls = std::ranges::find(lock.calls, event.node, &LockGrant::Calls::replica);
    if (calls == lock.calls.end()) calls = lock.calls.insert(calls, {.replica = event.node});
    calls->several = calls->several || calls->open > 0;
    ++calls->open;
    calls->words = event.payload;
    if (!lock.release.by.valid() && asks_for_release(event.payload, lock))
        lock.release = {.by = event.node, .since = now};
}

void LockGrants::answered(LockGrant& lock, const fakes::Event& answer, Since now) {
    const auto calls = std::ranges::find(lock.calls, answer.node, &LockGrant::Calls::replica);
    if (calls == lock.calls.end()) return;
    // Which of several calls is answered is not known.
    const bool is_of_holder =
        !calls->several && !lock.token.empty() && calls->words.find(lock.token) != std::string::npos;
    if (--calls->open == 0) lock.calls.erase(calls);
    if (!is_of_holder) return;
    // A script that fails half way leaves what it has done.
    if (answer.outcome == fakes::EventOutcome::applied && !answer.payload.starts_with('-')) {
        lock.is_confirmed = true;
        lock.release = {};  // it was asked for once more
    } else if (!lock.is_confirmed && !lock.release.by.valid()) {
        lock.release = {.by = answer.node, .since = now, .is_unconfirmed = true};
    }
}

void LockGrants::node_down(fakes::NodeId node) {
    for (LockGrant& lock : locks_) {
        if (lock.holder == node) lock.holder = {};
        if (lock.release.by == node) lock.release = {};
        std::erase_if(lock.calls, [node](const LockGrant::Calls& calls) { return calls.replica == node; });
    }
}

}  // namespace lockstep::sim
