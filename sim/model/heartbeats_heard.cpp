#include "sim/model/heartbeats_heard.h"

#include <algorithm>
#include <chrono>
#include <functional>

namespace lockstep::sim {

void HeartbeatsHeard::taken(std::string_view payload, Since now) {
    beats_.push_back({now, std::hash<std::string_view>{}(payload), {}});
}

void HeartbeatsHeard::heard(fakes::NodeId node, std::string_view payload, Time now) {
    listens_since_.try_emplace(node, now);
    const std::size_t words = std::hash<std::string_view>{}(payload);
    for (Beat& beat : beats_)
        if (beat.words == words && std::ranges::count(beat.heard, node) == 0) beat.heard.push_back(node);
}

std::vector<std::pair<fakes::NodeId, Since>> HeartbeatsHeard::missed(Time now) {
    // Much longer than a message is on its way where nothing is slow.
    constexpr engine::Duration kHeardWithin = std::chrono::seconds{5};
    std::vector<std::pair<fakes::NodeId, Since>> by;
    while (!beats_.empty() && beats_.front().taken.at + kHeardWithin <= now) {
        const Beat& beat = beats_.front();
        for (const auto& [node, since] : listens_since_)
            if (since < beat.taken.at && std::ranges::count(beat.heard, node) == 0) by.emplace_back(node, beat.taken);
        beats_.pop_front();
    }
    return by;
}

}  // namespace lockstep::sim
