// A real nats-server as the comparison sees it: one stream, one durable push consumer, up to two members of its deliver
// group.
// Acknowledgements are published to a delivery's reply subject, which is what every client library does underneath, so
// that a delivery long given up can still be answered. Calls throw std::runtime_error when the server cannot be reached.
#pragma once

#include <nats/nats.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fakes/nats/jetstream_model.h"

namespace lockstep::fakes {

struct RealDelivery {
    DeliveryReceipt receipt;
    std::string payload;
    std::string reply;
};

class RealJetStream {
public:
    RealJetStream(int port, const StreamConfig& stream, const ConsumerConfig& consumer);
    RealJetStream(const RealJetStream&) = delete;
    RealJetStream& operator=(const RealJetStream&) = delete;
    ~RealJetStream();

    struct Ack {
        std::uint64_t sequence = 0;
        bool duplicate = false;
        std::string error;
    };
    Ack publish(const std::string& subject, const std::string& payload, const std::string& message_id);
    struct Found {
        std::uint64_t sequence = 0;
        std::string message_id;
        std::string payload;
        friend bool operator==(const Found&, const Found&) = default;
    };
    /// The first message on `subject` from a sequence on.
    std::optional<Found> find(const std::string& subject, std::uint64_t from);
    std::uint64_t last_sequence();
    ConsumerModel::Counters counters();

    /// Returns once the server has taken the answer up, also one that comes too late to count.
    void answer(const RealDelivery& delivery, const DeliveryAnswer& answer);

    /// One more member of the deliver group. REQUIRES: fewer than two.
    void join();
    /// The member that joined last goes. REQUIRES: one.
    void leave();
    /// Everything delivered to members since the beginning, after waiting until there are `count` or time is up.
    const std::vector<RealDelivery>& delivered(std::size_t count, std::chrono::milliseconds patience);

    /// Waits until the client has found the server again.
    void reconnected();

private:
    void flush();
    bool take_from(natsSubscription* member, std::int64_t patience_ms);

    const std::string stream_;
    const std::string consumer_;
    const std::string deliver_subject_;
    const std::string deliver_group_;
    natsConnection* connection_ = nullptr;
    jsCtx* jetstream_ = nullptr;
    std::vector<natsSubscription*> members_;
    std::vector<RealDelivery> delivered_;
};

}  // namespace lockstep::fakes
