// The connection to NATS on the loop: publishing, requests with answers, core subscriptions, connecting again. What
// JetStream makes of it is nats_bus.h's business.
//
// 1. Only the loop's thread uses it. Subscriptions are synchronous ones that are emptied right after the library has read
//    its socket, so no message changes threads.
// 2. Every connection is a link of its own, with a parser of its own (nats_link.h). Connecting blocks, so that it happens on
//    a thread of libuv's pool; when to do it, the policy that the simulated client uses, too, decides.
// 3. Nothing is buffered for later: without a connection a publish is refused, and what an ending connection had not sent
//    yet is dropped with it. So after a connection is gone, nothing that was given to it can still arrive.
// 4. Connections are numbered from 1, without gaps. An answer that cannot come any more, because its connection is gone, is
//    *unknown*; each connection has an inbox of its own, so that no answer is ever taken for one of another connection.
// 5. When a connection is made, every subscription is made again, before anybody is told of it.
#pragma once

#include <nats/nats.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "engine/ports/bus.h"
#include "prod/loop/system_entropy.h"
#include "prod/loop/uv_loop.h"
#include "prod/nats/nats_link.h"
#include "prod/nats/nats_message.h"
#include "prod/nats/nats_options.h"

namespace lockstep::prod {

struct NatsReply {
    std::string payload;
    std::uint64_t connection = 0;  // that carried the request
};

using NatsHandler = std::function<void(NatsMessage)>;

class NatsConnection : public std::enable_shared_from_this<NatsConnection> {
public:
    /// Connects, blocking: for start-up only. The error names the server and what to check.
    static tl::expected<std::shared_ptr<NatsConnection>, std::string> connect(UvLoop& loop, const NatsOptions& options);
    /// Connects in the background, as it does after a loss, and is not connected yet when it comes back. The error names the setting
    /// that cannot be used.
    static tl::expected<std::shared_ptr<NatsConnection>, std::string> connect_in_background(UvLoop& loop,
                                                                                            const NatsOptions& options);
    ~NatsConnection();
    NatsConnection(const NatsConnection&) = delete;
    NatsConnection& operator=(const NatsConnection&) = delete;

    /// Sends what is buffered, answers open requests as unknown, and ends.
    void close();

    [[nodiscard]] engine::BusConnection state() const {
        return {link_ && link_->usable(), connections_, server_process_, max_payload_};
    }
    /// Called when a connection is lost or made anew.
    void on_event(std::function<void(bool connected, const std::string& what)> listener) {
        listener_ = std::move(listener);
    }
    /// Called with what is reported besides (slow consumers, permissions, why a server hung up, refused credentials).
    void on_problem(std::function<void(const std::string& what)> listener) { problem_ = std::move(listener); }
    /// Called when no connection will be made any more: the policy gives up where credentials are refused again and again.
    void on_given_up(std::function<void(const std::string& why)> listener) { given_up_ = std::move(listener); }
    void on_established(std::function<void()> listener) { established_ = std::move(listener); }

    /// Applied: handed to the connection of the returned number.
    [[nodiscard]] engine::Outcome<std::uint64_t> publish(const std::string& subject, std::string_view payload,
                                                         const std::string& reply = {},
                                                         const std::string& message_id = {});
    /// Publishes with an inbox of our own and waits for the first message there. Deadline: unknown.
    [[nodiscard]] engine::Task<engine::Outcome<NatsReply>> request(std::string subject, std::string payload,
                                                                   std::string message_id, engine::MonoTime deadline);
    /// An empty `queue` means a copy for every subscriber. `handler` runs outside of any step; it may end, pause and resume
    /// subscriptions. A paused one takes nothing more from the server, and hands out what is on its way.
    [[nodiscard]] std::unique_ptr<engine::Consumption> subscribe(const std::string& subject, const std::string& queue,
                                                                 NatsHandler handler, bool paused = false);

private:
    class Pending;
    class Handle;
    class Attempt;
    struct Sub {
        std::string subject;
        std::string queue;
        NatsHandler handler;
        bool paused = false;
        bool ended = false;
        NatsSubscription current;                // null while there is no connection, and while paused
        std::vector<NatsSubscription> draining;  // given back to the server; what was on its way still comes
    };
    /// Something that is due at a time.
    class Due final : public engine::Work {
    public:
        Due(NatsConnection& owner, void (NatsConnection::*then)()) : owner_(owner), then_(then) {}

    private:
        void run() override { (owner_.*then_)(); }
        NatsConnection& owner_;
        void (NatsConnection::*then_)();
    };

    NatsConnection(UvLoop& loop, const NatsOptions& options);

    // The life of a connection.
    void begin(std::unique_ptr<NatsLink> link);
    void lose();
    void connect_later(engine::ConnectionEnd end, const std::string& why);
    void attempt();
    void on_attempt(tl::expected<std::unique_ptr<NatsLink>, NatsLink::Failure> made);
    void ping();

    // Subscriptions.
    void make(Sub& sub);
    void end(const std::shared_ptr<Sub>& sub);
    void pause(Sub& sub);
    void resume(Sub& sub);
    void release_subscriptions();
    void empty_subscriptions();
    void empty(Sub& sub);
    static void hand_out(Sub& sub, natsSubscription* from);

    void on_inbox(std::uint64_t connection, NatsMessage message);
    void fail_pending(const std::string& why);

    UvLoop& loop_;
    const NatsOptions options_;
    const std::string server_;  // for people
    SystemEntropy entropy_;
    engine::ConnectionPolicy policy_;
    std::function<void(bool, const std::string&)> listener_;
    std::function<void(const std::string&)> problem_;
    std::function<void(const std::string&)> given_up_;
    std::function<void()> established_;

    bool closed_ = false;
    std::unique_ptr<NatsLink> link_;  // null between two connections
    std::uint64_t connections_ = 0;
    std::string server_process_;
    std::uint64_t max_payload_ = 0;
    std::vector<std::string> discovered_;  // servers that the last connection told of
    Due retry_{*this, &NatsConnection::attempt};
    Due ping_{*this, &NatsConnection::ping};

    std::vector<std::shared_ptr<Sub>> subs_;
    std::shared_ptr<Sub> inbox_sub_;
    std::string inbox_;  // `_INBOX.<unique>.`, a number follows
    std::uint64_t last_request_ = 0;
    std::map<std::uint64_t, std::unique_ptr<Pending>> pending_;
};

}  // namespace lockstep::prod
