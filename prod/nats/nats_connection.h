// One connection to NATS on the loop: publishing, requests with answers, core subscriptions. What JetStream makes of it
// is nats_bus.h's business.
//
// 1. Only the loop's thread uses it. Subscriptions are synchronous ones that are emptied right after the library has read
//    its socket, so no message changes threads.
// 2. Nothing is buffered for later: without a connection a publish is refused, and what an ending connection had not sent
//    yet is dropped with it. So after a connection is gone, nothing that was given to it can still arrive.
// 3. Connections are numbered from 1. An answer that cannot come any more, because its connection is gone, is *unknown*.
#pragma once

#include <nats/nats.h>

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "engine/ports/bus.h"
#include "prod/loop/uv_loop.h"
#include "prod/nats/nats_options.h"
#include "prod/nats/nats_socket.h"

namespace lockstep::prod {

struct NatsReply {
    std::string payload;
    std::uint64_t connection = 0;  // that carried the request
};

struct NatsMessageFree {
    void operator()(natsMsg* message) const { natsMsg_Destroy(message); }
};
using NatsMessage = std::unique_ptr<natsMsg, NatsMessageFree>;
using NatsHandler = std::function<void(NatsMessage)>;

class NatsConnection : public std::enable_shared_from_this<NatsConnection> {
public:
    /// Connects, blocking: for start-up only. The error names the server and what to check.
    static tl::expected<std::shared_ptr<NatsConnection>, std::string> connect(UvLoop& loop, const NatsOptions& options);
    ~NatsConnection();
    NatsConnection(const NatsConnection&) = delete;
    NatsConnection& operator=(const NatsConnection&) = delete;

    /// Sends what is buffered, answers open requests as unknown, and ends.
    void close();

    [[nodiscard]] engine::BusConnection state() const {
        return {socket_->usable(), socket_->connection(), server_process_, max_payload_};
    }
    /// Called when a connection is lost or made anew.
    void on_event(std::function<void(bool connected, const std::string& what)> listener) {
        listener_ = std::move(listener);
    }
    /// Called with what the library reports besides (slow consumers, permissions).
    void on_problem(std::function<void(const std::string& what)> listener) { problem_ = std::move(listener); }
    /// Called when the library gives the connection up for good: it does so when credentials are refused again and again.
    void on_given_up(std::function<void(const std::string& why)> listener) { given_up_ = std::move(listener); }
    void on_established(std::function<void()> listener) { established_ = std::move(listener); }

    /// Applied: handed to the connection of the returned number.
    [[nodiscard]] engine::Outcome<std::uint64_t> publish(const std::string& subject, std::string_view payload,
                                                         const std::string& reply = {},
                                                         const std::string& message_id = {});
    /// Publishes with an inbox of our own and waits for the first message there. Deadline: unknown.
    [[nodiscard]] engine::Task<engine::Outcome<NatsReply>> request(std::string subject, std::string payload,
                                                                   std::string message_id, engine::MonoTime deadline);
    /// An empty `queue` means a copy for every subscriber. `handler` runs outside of any step; it may end subscriptions.
    [[nodiscard]] std::unique_ptr<engine::Subscription> subscribe(const std::string& subject, const std::string& queue,
                                                                  NatsHandler handler);

private:
    class Pending;
    class Handle;
    struct Sub {
        natsSubscription* handle = nullptr;  // null once ended
        NatsHandler handler;
    };

    explicit NatsConnection(UvLoop& loop);

    [[nodiscard]] std::shared_ptr<Sub> add(const std::string& subject, const std::string& queue, NatsHandler handler,
                                           natsStatus& status);
    void end(const std::shared_ptr<Sub>& sub);
    void empty_subscriptions();
    void on_inbox(NatsMessage message);
    void on_lost(std::uint64_t connection);

    UvLoop& loop_;
    std::shared_ptr<NatsSocket> socket_;
    natsConnection* connection_ = nullptr;
    std::function<void(bool, const std::string&)> listener_;
    std::function<void(const std::string&)> problem_;
    std::function<void(const std::string&)> given_up_;
    std::function<void()> established_;
    std::vector<std::shared_ptr<Sub>> subs_;
    std::vector<std::shared_ptr<Sub>> round_;  // the copy that a round of emptying walks over
    std::string inbox_;                        // `_INBOX.<unique>.`, a number follows
    std::uint64_t last_request_ = 0;
    std::map<std::uint64_t, std::unique_ptr<Pending>> pending_;
    /// Takes down who is at the other end. REQUIRES: connected.
    void note_server();

    std::string server_;
    std::string server_process_;
    std::uint64_t max_payload_ = 0;
};

}  // namespace lockstep::prod
