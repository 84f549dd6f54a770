// A message as its stream holds it, handled as if it had been delivered: its durable may never deliver it again. There is nobody to
// hear what becomes of it, so whoever hands it in looks again whether that was needed once more.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "engine/ports/bus.h"

namespace lockstep::engine {

class StoredDelivery final : public Delivery {
public:
    StoredDelivery(std::string stream, StoredMessage message)
        : stream_(std::move(stream)), message_(std::move(message)) {}

    [[nodiscard]] std::string_view subject() const override { return message_.subject; }
    [[nodiscard]] std::string_view payload() const override { return message_.payload; }
    [[nodiscard]] std::string_view stream() const override { return stream_; }
    [[nodiscard]] StreamSequence sequence() const override { return message_.sequence; }
    [[nodiscard]] std::uint64_t delivery_count() const override { return 1; }
    void ack() override {}
    void nak(Duration) override {}
    void term() override {}
    void in_progress() override {}

private:
    const std::string stream_;
    const StoredMessage message_;
};

/// Where messages go that a durable does not deliver.
class StoredMessages {
public:
    virtual ~StoredMessages() = default;
    /// Handles a message of the stream of sys subjects, unless it has been handled before, or is in hand.
    virtual void take(StoredMessage message) = 0;
};

}  // namespace lockstep::engine
