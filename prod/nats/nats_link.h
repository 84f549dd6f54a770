// One connection to a NATS server, from its making to its end. It is never made again: whoever wants another connection
// makes another link. Why: the library's parser keeps its state when a connection ends inside a message, so a connection
// that the library itself made anew would begin by reading commands as the rest of that message.
//
// 1. `make` blocks and may run on any thread. Everything else is for the loop's thread.
// 2. Nothing that was given to a link and not sent yet is sent once it has been dropped.
#pragma once

#include <nats/nats.h>

#include <functional>
#include <memory>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "engine/bus/connection_policy.h"
#include "prod/nats/nats_options.h"
#include "prod/nats/nats_socket.h"

namespace lockstep::prod {

struct NatsSubscriptionEnd {
    void operator()(natsSubscription* subscription) const { natsSubscription_Destroy(subscription); }
};
/// Ends with its destruction. To be destroyed before its link.
using NatsSubscription = std::unique_ptr<natsSubscription, NatsSubscriptionEnd>;

/// Why a call of the library failed: what it last said on this thread, else what the status stands for.
[[nodiscard]] std::string reason(natsStatus status);

class NatsLink {
public:
    struct Events {
        std::function<void()> readable;                        // messages may wait in the subscriptions
        std::function<void()> ended;                           // once; `usable` is false
        std::function<void(const std::string& what)> problem;  // what the library reports besides
    };
    struct Failure {
        engine::ConnectionEnd end = engine::ConnectionEnd::unreachable;
        std::string why;
    };

    /// Walks once through the addresses of `options` and `discovered`, at most `connect_timeout` for each.
    static tl::expected<std::unique_ptr<NatsLink>, Failure> make(UvLoop& loop, const NatsOptions& options,
                                                                 const std::vector<std::string>& discovered);
    NatsLink(const NatsLink&) = delete;
    NatsLink& operator=(const NatsLink&) = delete;
    /// Drops what has not been sent. May also run on the thread that made it, as long as `start` has not been called.
    ~NatsLink();

    /// Begins to send and to read. Subscriptions made before are the first that the server hears of.
    void start(Events events);
    /// Sends what waits to be sent; blocks for half a second at most when the server is slow to take it.
    void flush();

    [[nodiscard]] bool usable() const { return socket_->usable(); }
    [[nodiscard]] natsConnection* library() const { return connection_; }
    /// Emptied by the caller after every `readable`, so what waits in it is bounded by the size of one read.
    natsStatus subscribe(const std::string& subject, const std::string& queue, NatsSubscription& made);

    /// The process at the other end.
    [[nodiscard]] std::string server() const;
    [[nodiscard]] std::uint64_t max_payload() const;
    /// The other servers of the cluster that this one has told of.
    [[nodiscard]] std::vector<std::string> discovered() const;

private:
    struct Reporter;

    NatsLink(LibraryOptions options, std::shared_ptr<NatsSocket> socket)
        : options_(std::move(options)), socket_(std::move(socket)) {}

    const LibraryOptions options_;  // the library signs with the seed in there while it connects
    const std::shared_ptr<NatsSocket> socket_;
    natsConnection* connection_ = nullptr;
    std::shared_ptr<std::function<void(const std::string&)>> problem_;  // weakly known to the library's reports
    bool flushed_ = false;
};

}  // namespace lockstep::prod
