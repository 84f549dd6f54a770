// JetStreamModel: the streams of one server and their durable consumers, as pure bookkeeping. Time is an argument.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "fakes/nats/consumer_model.h"
#include "fakes/nats/stream_model.h"

namespace lockstep::fakes {

class JetStreamModel {
public:
    explicit JetStreamModel(StoragePolicy storage = {}) : storage_(storage) {}

    /// Stays where it is as long as the model, unless it is made anew.
    StreamModel& add_stream(StreamConfig config, engine::MonoTime created = {});
    /// Deletes the stream with its messages and its consumers, and makes an empty one of the same configuration.
    /// REQUIRES: there is one of that name.
    void make_anew(std::string_view stream, engine::MonoTime now);
    /// Null when there is none.
    [[nodiscard]] StreamModel* stream(std::string_view name);
    [[nodiscard]] StreamModel* stream_of(std::string_view subject);

    struct Ensured {
        ConsumerModel* consumer = nullptr;  // stays where it is as long as the model
        std::string error;                  // why there is none: no such stream, or the setting that differs
    };
    /// Makes the consumer unless it exists with the same settings.
    Ensured ensure_consumer(std::string_view stream, const ConsumerConfig& config);
    [[nodiscard]] ConsumerModel* consumer(std::string_view stream, std::string_view name);

    /// For looking, in the order in which they were made.
    [[nodiscard]] std::vector<const StreamModel*> streams() const;
    [[nodiscard]] std::vector<const ConsumerModel*> consumers_of(std::string_view stream) const;

    /// The server was killed, or lost its power. `restart` follows.
    void crash(engine::MonoTime now);
    void power_cut(engine::MonoTime now);
    /// The server is one of a cluster from now on, and leads every consumer.
    void join_cluster() { leader_ = 1; }
    /// The server that leads the consumers; empty for one on its own.
    [[nodiscard]] std::string leader() const;
    /// Another server leads every consumer, see ConsumerModel. Returns how many messages are delivered no more.
    std::size_t change_leaders(ConsumerModel::InHand in_hand);
    /// The server has started again; consumers redeliver nothing before `first_check`.
    void restart(engine::MonoTime now, engine::MonoTime first_check);

private:
    struct Entry {
        std::unique_ptr<StreamModel> stream;
        std::vector<std::unique_ptr<ConsumerModel>> consumers;
    };
    [[nodiscard]] Entry* entry(std::string_view stream);

    const StoragePolicy storage_;
    std::vector<Entry> entries_;
    std::uint64_t leader_ = 0;  // which of its two servers that lead in turn; 0: it is on its own
};

}  // namespace lockstep::fakes
