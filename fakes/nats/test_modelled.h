// The model as the comparison calls it, and models that lie: each does one thing that JetStream would not do. The
// comparison with the real server must catch every one of them.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "fakes/nats/jetstream_model.h"

namespace lockstep::fakes {

/// One stream with one consumer. What a lie changes is virtual.
class Modelled {
public:
    Modelled(const StreamConfig& stream, const ConsumerConfig& consumer);
    Modelled(const Modelled&) = delete;
    Modelled& operator=(const Modelled&) = delete;
    virtual ~Modelled() = default;

    virtual StreamModel::Ack publish(std::string subject, std::string payload, std::string id, engine::MonoTime now);
    virtual bool apply(const DeliveryReceipt& receipt, const DeliveryAnswer& answer, engine::MonoTime now);
    virtual std::optional<ConsumerModel::Next> next(engine::MonoTime now);
    virtual const StreamModel::Stored* look_up(const std::string& subject, std::uint64_t from, engine::MonoTime now);
    /// After a clean stop, or after the process was killed at `now`.
    virtual void restart(bool killed, engine::MonoTime now, engine::MonoTime first_check);

    [[nodiscard]] ConsumerModel& consumer() { return *consumer_; }
    [[nodiscard]] bool binds(const std::string& subject) { return model_.stream_of(subject) != nullptr; }
    [[nodiscard]] std::uint64_t last_sequence() const { return stream_.last_sequence(); }

protected:
    /// A new durable in the place of the old one.
    void replace_consumer();

private:
    JetStreamModel model_;
    StreamModel& stream_;
    ConsumerConfig config_;
    ConsumerModel* consumer_;
};

struct ModelLie {
    const char* name;
    std::unique_ptr<Modelled> (*make)(StreamConfig stream, ConsumerConfig consumer);
};

[[nodiscard]] std::span<const ModelLie> model_lies();

}  // namespace lockstep::fakes
