#include "fakes/nats/subscription_table.h"

#include <algorithm>

#include "fakes/nats/subject.h"

namespace lockstep::fakes {

namespace {

template <class Map>
typename Map::mapped_type& entry(Map& map, std::string_view key) {
    const auto found = map.find(key);
    return found != map.end() ? found->second : map[std::string(key)];
}

}  // namespace

void SubscriptionTable::add(SubscriberId subscriber, std::string_view pattern, std::string_view queue) {
    entry(entry(has_wildcard(pattern) ? wild_ : exact_, pattern), queue).push_back(subscriber);
}

void SubscriptionTable::remove(SubscriberId subscriber, std::string_view pattern, std::string_view queue) {
    Patterns& patterns = has_wildcard(pattern) ? wild_ : exact_;
    const auto groups = patterns.find(pattern);
    if (groups == patterns.end()) return;
    const auto members = groups->second.find(queue);
    if (members == groups->second.end()) return;
    std::erase(members->second, subscriber);
    if (members->second.empty()) groups->second.erase(members);
    if (groups->second.empty()) patterns.erase(groups);
}

void SubscriptionTable::match(std::string_view subject, std::string_view job, KeyedRng& draws,
                              std::vector<Match>& matches) const {
    matches.clear();
    std::map<std::string_view, std::vector<const Members*>> queues;
    const auto gather = [&](const Groups& groups) {
        for (const auto& [queue, members] : groups) {
            if (!queue.empty()) {
                queues[queue].push_back(&members);
                continue;
            }
            for (const SubscriberId subscriber : members) matches.push_back({subscriber, {}});
        }
    };
    if (const auto found = exact_.find(subject); found != exact_.end()) gather(found->second);
    for (const auto& [pattern, groups] : wild_) {
        if (subject_matches(pattern, subject)) gather(groups);
    }
    for (const auto& [queue, parts] : queues) {
        std::size_t count = 0;
        for (const Members* members : parts) count += members->size();
        std::size_t pick = count > 1 ? draws.next(DrawKey().with(queue).with(subject).with(job)).below(count) : 0;
        for (const Members* members : parts) {
            if (pick < members->size()) {
                matches.push_back({(*members)[pick], queue});
                break;
            }
            pick -= members->size();
        }
    }
}

}  // namespace lockstep::fakes
