#include "prod/nats/nats_delivery.h"

namespace lockstep::prod {

std::string_view subject_of(const NatsMessage& message) { return natsMsg_GetSubject(message.get()); }

std::string_view payload_of(const NatsMessage& message) {
    return {natsMsg_GetData(message.get()), static_cast<std::size_t>(natsMsg_GetDataLength(message.get()))};
}

StreamDelivery::StreamDelivery(std::weak_ptr<NatsConnection> connection, NatsMessage message,
                               std::shared_ptr<const BusWatch> watch)
    : connection_(std::move(connection)), message_(std::move(message)), watch_(std::move(watch)) {
    const char* reply = natsMsg_GetReply(message_.get());
    if (reply != nullptr) info_ = jetstream::parse_ack_subject(reply).value_or(jetstream::DeliveryInfo{});
}

std::string_view StreamDelivery::subject() const { return subject_of(message_); }
std::string_view StreamDelivery::payload() const { return payload_of(message_); }

void StreamDelivery::ack() {
    const bool first = !settled_;
    settle("+ACK");
    if (first && watch_ && watch_->acknowledged) watch_->acknowledged(subject(), info_.stored_at);
}

void StreamDelivery::settle(const std::string& answer) {
    if (std::exchange(settled_, true)) return;
    const auto connection = connection_.lock();
    const char* reply = natsMsg_GetReply(message_.get());
    // An answer that cannot be sent is one that the server misses: it delivers again, which is what its port promises.
    if (connection && reply != nullptr) (void)connection->publish(reply, answer);
}

void StreamDelivery::in_progress() {
    if (settled_) return;
    const auto connection = connection_.lock();
    const char* reply = natsMsg_GetReply(message_.get());
    if (connection && reply != nullptr) (void)connection->publish(reply, "+WPI");
}

std::string_view CoreDelivery::subject() const { return subject_of(message_); }
std::string_view CoreDelivery::payload() const { return payload_of(message_); }

}  // namespace lockstep::prod
