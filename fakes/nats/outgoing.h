// Outgoing: what a server has for one client and the client has not read. The server hangs up on a client of which it keeps
// more than `max_pending`, or to which a flush takes longer than `write_deadline` (nats-server: "slow consumer").
//
// 1. What waits in the sockets' buffers counts towards neither. They are taken for a sixteenth of `max_pending`: 4 MiB.
// 2. A flush takes with it everything that waits when it begins; the next one begins when it has ended.
// 3. Bytes are counted, never copied. Who reads nothing, such as a paused node, costs one timer.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string_view>

#include "fakes/nats/message.h"
#include "fakes/world.h"

namespace lockstep::fakes {

struct OutgoingLimits {
    std::uint64_t max_pending = std::uint64_t{64} << 20;         // bytes; the server's default
    engine::Duration write_deadline = std::chrono::seconds(10);  // likewise
    std::uint64_t bandwidth = 0;                                 // of the link, bytes per second; 0: no limit
};

/// Bytes of a message on its way to a client: what the client's subject, the reply and the headers take, and the payload.
[[nodiscard]] std::uint64_t core_bytes(const BusMessage& message);
[[nodiscard]] std::uint64_t delivery_bytes(const BusMessage& message);
/// Bytes of the headers that the message was published with.
[[nodiscard]] std::uint64_t header_bytes(const BusMessage& message);

class Outgoing : public std::enable_shared_from_this<Outgoing> {
public:
    /// Called at most once, with the limit that was passed: the client is to be let go.
    using HangUp = std::function<void(std::string_view limit, std::uint64_t bytes)>;
    Outgoing(World& world, NodeId server, const OutgoingLimits& limits, HangUp hang_up)
        : world_(world), server_(server), limits_(limits), hang_up_(std::move(hang_up)) {}

    /// The server writes `bytes`. False when they go nowhere.
    bool write(std::uint64_t bytes);
    /// Whether the link takes whatever is written at once; else `when_there_is_room` says when it goes off, in order.
    [[nodiscard]] bool is_wide() const { return limits_.bandwidth == 0; }
    void when_there_is_room(std::uint64_t bytes, Action send);
    /// The client has read as many.
    void read(std::uint64_t bytes);
    /// The connection is gone.
    void end();
    /// The server has hung up on the client: nothing that it has not read reaches it any more.
    [[nodiscard]] bool given_up() const { return given_up_; }
    [[nodiscard]] std::uint64_t pending() const { return written_ - read_; }

private:
    [[nodiscard]] std::uint64_t socket_buffers() const { return limits_.max_pending / 16; }
    [[nodiscard]] bool blocked() const { return pending() > socket_buffers(); }
    void give_up(std::string_view limit);
    void begin_flush();
    void watch_flush(engine::Duration delay);
    void leave_line();

    World& world_;
    const NodeId server_;
    const OutgoingLimits limits_;
    HangUp hang_up_;
    std::uint64_t written_ = 0;  // in all
    std::uint64_t read_ = 0;
    bool ended_ = false;
    bool given_up_ = false;

    std::uint64_t flush_end_ = 0;  // the flush that is under way ends with this byte
    engine::MonoTime flush_until_{};
    World::TimerId flush_timer_ = 0;
    bool flushing_ = false;

    struct Waiting {
        engine::MonoTime until;
        Action send;
    };
    std::deque<Waiting> line_;  // what the link has no room for yet
    engine::MonoTime line_free_at_{};
    World::TimerId line_timer_ = 0;
};

}  // namespace lockstep::fakes
