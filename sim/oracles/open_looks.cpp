#include "sim/oracles/open_looks.h"

#include <algorithm>

namespace lockstep::sim {

void OpenLooks::delivered(fakes::NodeId replica, std::string_view job) {
    ++in_hand_[{replica, std::string(job)}].deliveries;
}

void OpenLooks::looked(fakes::NodeId replica, std::string_view job, Look look) {
    const auto entry = in_hand_.find({replica, std::string(job)});
    if (entry != in_hand_.end()) entry->second.looks.push_back(look);
}

OpenLooks::Looks* OpenLooks::find(fakes::NodeId replica, std::string_view job) {
    const auto entry = in_hand_.find({replica, std::string(job)});
    return entry == in_hand_.end() || entry->second.looks.empty() ? nullptr : &entry->second.looks;
}

void OpenLooks::end_one(Looks& looks, engine::Duration delay) {
    const auto allowing = [delay](const Look& look) { return look.allows(delay); };
    const auto ended = std::ranges::find_if(looks, allowing);
    if (ended == looks.end()) return;
    Look any_of_them = *ended;
    looks.erase(ended);
    const bool certain = std::ranges::none_of(looks, allowing);
    if (certain) return;
    any_of_them.outcome = Look::Outcome::open;
    for (const Look& look : looks) {
        if (!allowing(look)) continue;
        any_of_them.least = std::min(any_of_them.least, look.least);
        any_of_them.most = std::max(any_of_them.most, look.most);
    }
    for (Look& look : looks)
        if (allowing(look)) look = any_of_them;
}

void OpenLooks::settled(fakes::NodeId replica, std::string_view job) {
    const auto entry = in_hand_.find({replica, std::string(job)});
    if (entry != in_hand_.end() && --entry->second.deliveries == 0) in_hand_.erase(entry);
}

void OpenLooks::crashed(fakes::NodeId replica) {
    std::erase_if(in_hand_, [replica](const auto& entry) { return entry.first.first == replica; });
}

}  // namespace lockstep::sim
