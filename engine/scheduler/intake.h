// What arrives on the bus for a scheduler, and who handles it. Two tables say so: one of the messages of streams, which come
// again until they have been dealt with, and one of those that core NATS carries, which are heard once or never. A new kind of
// message is an entry there and a handler.
//
// 1. Each kind of packet counts on one subject only. Permissions on a bus are given by subject: a worker that may publish
//    heartbeats could otherwise cancel jobs with a packet that says so, wherever it arrives. Stricter than wire.md 2.1,
//    where the packet alone decides; nobody who speaks the protocol sends one kind on the subject of another.
// 2. Workers are listened to before the first job is taken, so that it finds some.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "engine/bus/byte_window.h"
#include "engine/bus/message_pump.h"
#include "engine/bus/stored_delivery.h"
#include "engine/scheduler/cancel.h"
#include "engine/scheduler/log_limit.h"
#include "engine/scheduler/replica.h"
#include "engine/scheduler/request_handler.h"
#include "engine/scheduler/result_handler.h"
#include "engine/wire/messages.h"

namespace lockstep::engine {

class Intake final : public PacketHandler, public MessageSink, public StoredMessages {
public:
    /// All arguments outlive the intake. `parked` takes the jobs whose requests need not come again.
    Intake(Replica& replica, DeadLetters& dead_letters, RequestHandler& requests, ResultHandler& results,
           ParkedJobs& parked);
    /// Nobody asks for more because what was in hand goes.
    ~Intake() override { take_no_more(); }

    /// Whether a scheduler acts on a packet of this kind when it comes on this subject.
    [[nodiscard]] static bool counts_on(cap::BusPacket::PayloadCase kind, std::string_view subject);

    /// Hears what core NATS carries.
    void listen();
    void stop_listening() { listeners_.clear(); }
    /// Drops the cancellations that wait or are at work.
    void drop_cancels() { cancels_.stop(); }

    struct StreamRoute {
        cap::BusPacket::PayloadCase kind;
        std::string_view subject;
        Task<Disposition> (Intake::*handle)(cap::BusPacket packet, Origin origin);
        bool stored;  // its job is in the store: the message may be acknowledged before the job is placed
        bool paused;  // no more is asked for while too much is in hand (see ByteWindow)
    };
    struct CoreRoute {
        cap::BusPacket::PayloadCase kind;
        std::string_view subject;
        void (Intake::*handle)(const cap::BusPacket& packet);
        bool to_all;  // every replica hears it; else one of them
    };
    /// One kind of message of a stream, as this replica takes it.
    struct Stream {
        Stream(const StreamRoute& r, Replica& replica, DeadLetters& dead_letters, PacketHandler& handler,
               ParkedJobs* parked, ByteWindow& window);

        const StreamRoute& route;
        MessagePump pump;
        std::unique_ptr<Consumption> binding;  // unless the window holds it
    };
    /// The same ones for as long as the intake lives.
    [[nodiscard]] std::deque<Stream>& streams() { return streams_; }
    /// Binds to the stream's durable for the deployment, making it if need be; the error says why that was not possible. Again is
    /// allowed. REQUIRES: `listen` has been called.
    [[nodiscard]] Task<tl::expected<void, std::string>> bind(Stream& stream, std::string deployment);
    /// Lets go of all durables. What is in hand stays.
    void take_no_more();

    /// Of a subject that this replica takes messages of.
    void take(StoredMessage message) override;

    /// Deliveries without an answer.
    [[nodiscard]] std::size_t in_flight() const;

private:
    Task<Disposition> handle(cap::BusPacket packet, Origin origin) override;
    [[nodiscard]] bool asks_by_itself() const override { return true; }
    void on_message(std::string_view subject, std::string_view payload) override;
    /// Whether the packet is acted on; one that claims to be what its subject is not for is told of.
    [[nodiscard]] bool counts(const cap::BusPacket& packet, std::string_view subject);

    // The handlers.
    [[nodiscard]] Task<Disposition> on_request(cap::BusPacket packet, Origin origin);
    [[nodiscard]] Task<Disposition> on_result(cap::BusPacket packet, Origin origin);
    void on_heartbeat(const cap::BusPacket& packet);
    void on_handshake(const cap::BusPacket& packet);
    void on_cancel(const cap::BusPacket& packet);

    /// Of what a worker says of itself. No reason: there was none.
    void note_refusal(std::string_view reason, const std::string& worker);

    // In the order in which they are bound, and listened to.
    static const std::array<StreamRoute, 2> kStreamRoutes;
    static const std::array<CoreRoute, 3> kCoreRoutes;

    Replica& replica_;
    RequestHandler& requests_;
    ResultHandler& results_;
    LogLimit refusals_;
    ByteWindow window_;
    CancelIntake cancels_;
    std::deque<Stream> streams_;
    std::vector<std::unique_ptr<Subscription>> listeners_;
};

}  // namespace lockstep::engine
