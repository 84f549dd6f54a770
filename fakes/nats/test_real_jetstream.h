// A real nats-server as the comparison sees it: one stream, one durable push consumer, one member of its deliver group.
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
    Ack publish(const std::string& subject, const std::string& message_id);
    /// The first message on `subject` from a sequence on.
    std::optional<std::uint64_t> find(const std::string& subject, std::uint64_t from);
    std::uint64_t last_sequence();

    /// `word` as the protocol has it: "+ACK", "-NAK", "+TERM", "+WPI".
    void answer(const RealDelivery& delivery, const std::string& word);
    void nak_later(const RealDelivery& delivery, std::chrono::milliseconds delay);

    void join();
    void leave();
    /// Everything delivered to the member since the beginning, after waiting until there are `count` or time is up.
    const std::vector<RealDelivery>& delivered(std::size_t count, std::chrono::milliseconds patience);

    /// Waits until the client has found the server again.
    void reconnected();

private:
    void flush();

    const std::string stream_;
    const std::string deliver_subject_;
    const std::string deliver_group_;
    natsConnection* connection_ = nullptr;
    jsCtx* jetstream_ = nullptr;
    natsSubscription* member_ = nullptr;
    std::vector<RealDelivery> delivered_;
};

}  // namespace lockstep::fakes
