#include "sim/model/job_lock.h"

#include <algorithm>
#include <utility>

namespace lockstep::sim {

namespace {

/// Tokens that are remembered of one job's lock. The holder of an older one learns at its next renewal that it has lost the lock.
constexpr std::size_t kFormerTokensMax = 8;

}  // namespace

void JobLock::take(fakes::NodeId node, std::string_view by_token, Since since) {
    if (!token.empty() && token != by_token) leave(since.event);
    std::erase(former, by_token);
    holder = node;
    token = by_token;
    is_known = true;
    changed = taken = since.event;
    unreleased_by = node;
    renew(node, since).taken = since;
}

JobLock::Grant& JobLock::renew(fakes::NodeId node, Since since) {
    auto known = std::ranges::find(grants, node, &Grant::node);
    if (known == grants.end()) known = grants.insert(known, {.node = node});
    known->since = since;
    return *known;
}

void JobLock::leave(EventNumber event) {
    if (!token.empty()) former.push_back(std::exchange(token, {}));
    if (former.size() > kFormerTokensMax) former.erase(former.begin());
    holder = {};
    changed = event;
}

Since JobLock::granted_to(fakes::NodeId node) const {
    const auto known = std::ranges::find(grants, node, &Grant::node);
    return known == grants.end() ? Since{} : known->since;
}

Since JobLock::taken_by(fakes::NodeId node) const {
    const auto known = std::ranges::find(grants, node, &Grant::node);
    return known == grants.end() ? Since{} : known->taken;
}

LockUse JobLock::use_by(std::span<const std::string_view> command) const {
    if (command.empty()) return LockUse::unseen;
    const auto names = [command](std::string_view word) { return std::ranges::find(command, word) != command.end(); };
    if (!token.empty() && names(token)) return LockUse::present_token;
    return std::ranges::any_of(former, names) ? LockUse::former_token : LockUse::no_token;
}

}  // namespace lockstep::sim
