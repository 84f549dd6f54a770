// When a client of NATS connects again, when it takes a connection for dead, and when it gives up for good. Decisions only:
// the client brings the clock, the random numbers and the socket.
//
// 1. Every attempt but the very first waits. So a server that ends every connection at once is not hammered, and the
//    clients of a server that comes back do not come all at the same moment.
// 2. An attempt is one walk through all addresses. Why a refusal ends nothing by itself: while credentials are being
//    changed, one server may know the new ones before another. Two walks in a row do not meet that by chance.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/runtime/invariant.h"
#include "engine/runtime/time.h"

namespace lockstep::engine {

struct ConnectionPolicyOptions {
    Duration reconnect_wait = std::chrono::seconds(2);
    Duration reconnect_jitter = std::chrono::milliseconds(100);  // less than this is added
    int refusals_max = 2;                                        // that many in a row, and the client gives up
    int pings_out_max = 2;                                       // a connection with more unanswered pings is dead
};

/// How a connection, or the attempt to make one, has ended.
enum class ConnectionEnd : std::uint8_t {
    lost,         // it was there
    unreachable,  // nobody took it
    refused,      // somebody did, and did not accept the credentials
};

class ConnectionPolicy {
public:
    /// REQUIRES: no negative pause, and limits of one at least.
    explicit ConnectionPolicy(ConnectionPolicyOptions options);

    /// A connection has been made.
    void established();

    /// How long to wait before the next attempt; nothing: there is to be none. `below(n)` draws uniformly from [0, n); it is
    /// asked at most once, and not at all without jitter.
    template <class Below>
    [[nodiscard]] std::optional<Duration> next_attempt(ConnectionEnd end, Below&& below) {
        if (gives_up(end)) return std::nullopt;
        const auto jitter = static_cast<std::uint64_t>(options_.reconnect_jitter.count());
        const Duration extra(jitter > 0 ? static_cast<Duration::rep>(below(jitter)) : 0);
        INVARIANT(jitter == 0 || static_cast<std::uint64_t>(extra.count()) < jitter, "{} ns were drawn below {}",
                  extra.count(), jitter);
        return options_.reconnect_wait + extra;
    }

    /// It is time for a ping: true to send one, false when the connection is dead.
    [[nodiscard]] bool ping();
    /// The server has given a sign of life.
    void heard() { pings_out_ = 0; }

private:
    [[nodiscard]] bool gives_up(ConnectionEnd end);

    ConnectionPolicyOptions options_;
    int refusals_ = 0;  // in a row
    int pings_out_ = 0;
};

}  // namespace lockstep::engine
