// SubscriptionTable: who gets a core message. Every plain subscriber of a matching pattern gets a copy; of each queue
// group one member, drawn at random. A group is known by its name: its members may have subscribed to different patterns.
// The order of the answer depends on nothing but the order of the calls.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "fakes/rng.h"

namespace lockstep::fakes {

/// A subscription: the session that made it and that session's own number for it.
struct SubscriberId {
    std::uint64_t session = 0;
    std::uint64_t sid = 0;
    friend bool operator==(const SubscriberId&, const SubscriberId&) = default;
};

class SubscriptionTable {
public:
    void add(SubscriberId subscriber, std::string_view pattern, std::string_view queue);
    /// REQUIRES: the arguments of a former `add`. Nothing happens when it has been removed already.
    void remove(SubscriberId subscriber, std::string_view pattern, std::string_view queue);

    struct Match {
        SubscriberId subscriber;
        std::string_view queue;  // empty for a plain subscriber; valid until the next change
    };
    /// Who gets a message on `subject` about `job` (empty for none), by the members that are drawn from queues. Replaces the
    /// contents of `matches`.
    void match(std::string_view subject, std::string_view job, KeyedRng& draws, std::vector<Match>& matches) const;

private:
    using Members = std::vector<SubscriberId>;
    using Groups = std::map<std::string, Members, std::less<>>;  // by queue; plain subscribers under the empty name
    using Patterns = std::map<std::string, Groups, std::less<>>;

    Patterns exact_;
    Patterns wild_;
};

}  // namespace lockstep::fakes
