// ConsumerModel: one durable push consumer with explicit acknowledgement, deliver policy "all" and instant replay, as
// pure bookkeeping. Who the members of its deliver group are is the server's business: `next` is called only while there
// is one.
//
// 1. A message handed out is *pending* until it is acknowledged or terminated, while it waits out a nak's delay too, and
//    pending messages count against max_ack_pending.
// 2. A pending message whose time is up joins the redelivery queue, which is served before any new message and whatever
//    the limit of pending messages is.
// 3. At its last allowed delivery a message is not given up yet: it stays pending until it would be delivered again.
// 4. An answer names the message, not the delivery: a late one, from a holder long given up, counts like any other.
// 5. All of this is in memory; what a restart brings back is in ConsumerFile.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fakes/nats/consumer_file.h"
#include "fakes/nats/stream_model.h"

namespace lockstep::fakes {

struct ConsumerConfig {
    std::string name;  // of the durable
    std::string filter_subject;
    std::string deliver_group;
    engine::Duration ack_wait = std::chrono::minutes(10);
    int max_deliver = 0;      // 0: no limit
    int max_ack_pending = 0;  // 0: no limit
    friend bool operator==(const ConsumerConfig&, const ConsumerConfig&) = default;
};

/// How far what is on disk lags behind, both on a grid from the start of the clock; zero: never.
struct StoragePolicy {
    /// The consumer's state is written this often; a killed server loses what came after.
    engine::Duration consumer_flush = std::chrono::milliseconds(100);
    /// Files are synced this often; a power cut loses what came after. The server's default is 2 min, CAP's configs say 1 s.
    engine::Duration sync_interval = std::chrono::seconds(1);

    [[nodiscard]] static engine::MonoTime last_tick(engine::Duration interval, engine::MonoTime now);
};

/// A client's word on a delivery.
struct DeliveryAnswer {
    EventKind kind = EventKind::ack;  // one of kVerdicts
    engine::Duration delay{};         // nak
};
inline constexpr std::array kVerdicts{EventKind::ack, EventKind::nak, EventKind::term, EventKind::in_progress};

/// Which delivery an answer is about; what the real server has in a delivery's reply subject.
struct DeliveryReceipt {
    std::uint64_t sequence = 0;           // in the stream
    std::uint64_t delivery_sequence = 0;  // among the deliveries of the consumer
    int count = 0;                        // 1 for the first delivery of the message
};

class ConsumerModel {
public:
    ConsumerModel(ConsumerConfig config, StreamModel& stream, StoragePolicy storage);
    ConsumerModel(const ConsumerModel&) = delete;
    ConsumerModel& operator=(const ConsumerModel&) = delete;

    [[nodiscard]] const ConsumerConfig& config() const { return config_; }
    [[nodiscard]] const StreamModel& stream() const { return stream_; }
    [[nodiscard]] bool wants(std::string_view subject) const { return filter_.matches(subject); }

    struct Next {
        DeliveryReceipt receipt;
        MessagePtr message;
    };
    /// Takes the next message to deliver; nothing when there is none or too many are pending.
    std::optional<Next> next(engine::MonoTime now);

    /// In bits per second, 0 for none. One that there is stays.
    void limit_rate(std::int64_t bps) {
        if (rate_limit_bps_ == 0) rate_limit_bps_ = bps;
    }
    [[nodiscard]] std::int64_t rate_limit_bps() const { return rate_limit_bps_; }

    /// Writes the deployment into the description, unless that names one. False: it names another one.
    bool belong_to(const std::string& deployment) {
        if (deployment_.empty()) deployment_ = deployment;
        return deployment.empty() || deployment_ == deployment;
    }
    /// Empty while the description names none.
    [[nodiscard]] const std::string& deployment() const { return deployment_; }

    /// A message that is delivered no more, though nobody has settled it.
    struct GivenUp {
        std::uint64_t sequence = 0;
        int deliveries = 0;
    };
    /// Those that `next` has found since the last time. The server tells of each once.
    [[nodiscard]] std::vector<GivenUp> take_given_up() { return std::exchange(given_up_, {}); }

    /// Takes the answer, by its kind; the others below are what it comes to. False when the consumer does not wait for one on this message.
    bool apply(const DeliveryReceipt& receipt, const DeliveryAnswer& answer, engine::MonoTime now);
    bool ack(const DeliveryReceipt& receipt, engine::MonoTime now) { return settle(receipt, now); }
    bool term(const DeliveryReceipt& receipt, engine::MonoTime now) { return settle(receipt, now); }
    bool nak(const DeliveryReceipt& receipt, engine::Duration delay, engine::MonoTime now);
    bool in_progress(const DeliveryReceipt& receipt, engine::MonoTime now);

    /// When `expire` has something to do; nothing while no message is out.
    [[nodiscard]] std::optional<engine::MonoTime> next_deadline() const;
    /// Queues the messages whose ack wait or nak delay is over for redelivery.
    void expire(engine::MonoTime now);

    /// What a server that takes the consumer over knows of the messages that are in hand.
    enum class InHand : std::uint8_t {
        stuck,      // that they are: it delivers none of them again, whatever is answered
        forgotten,  // nothing, and takes them for done: its floor lies behind them
    };
    /// Another server leads the consumer, until it restarts and reads what the first one had written. Returns how many messages
    /// it delivers no more.
    std::size_t change_leader(InHand in_hand);

    /// The server was killed, or lost its power: what had not been written, or synced, by `now` is forgotten.
    void crash(engine::MonoTime now);
    void power_cut(engine::MonoTime now);
    /// The server has started again, after one of these or cleanly. Nothing is redelivered before `first_check`, or before
    /// one ack wait where that is shorter.
    void restart(engine::MonoTime now, engine::MonoTime first_check);

    [[nodiscard]] std::size_t pending() const { return pending_.size(); }
    /// Messages that have never been delivered.
    [[nodiscard]] std::uint64_t waiting(engine::MonoTime now);
    /// No message of the stream up to here is pending. It moves with acks and terms only, so it may lag behind. Where nothing
    /// is pending, the server's may lie further on, behind messages of other subjects: that depends on when it looked last.
    [[nodiscard]] std::uint64_t ack_floor() const { return floor_stream_; }

    struct PendingMessage {
        std::uint64_t sequence = 0;
        int deliveries = 1;
        bool queued = false;     // for redelivery
        engine::MonoTime due{};  // when it will be, unless it is
    };
    /// For looking: every message that waits for an answer, by sequence.
    [[nodiscard]] std::vector<PendingMessage> pending_messages() const;

    /// What the server tells of a consumer that it is asked about.
    struct Counters {
        std::uint64_t ack_pending = 0;
        std::uint64_t redelivered = 0;     // messages that have been, and are not settled
        std::uint64_t delivered = 0;       // deliveries so far
        std::uint64_t floor_delivery = 0;  // every delivery up to here is settled
        std::uint64_t floor_stream = 0;    // ack_floor()
        std::uint64_t waiting = 0;         // waiting()
        friend bool operator==(const Counters&, const Counters&) = default;
    };
    [[nodiscard]] Counters counters(engine::MonoTime now) {
        return {pending_.size(), redelivered_.size(), next_delivery_sequence_ - 1,
                floor_delivery_, floor_stream_,       waiting(now)};
    }

private:
    struct Pending {
        std::uint64_t delivery_sequence = 0;  // of its first delivery
        engine::MonoTime since;  // of the last one; moved so that the ack wait ends when a nak's delay does
        engine::MonoTime due{};  // when it joins the redelivery queue, unless it is in it
    };
    using PendingMap = std::map<std::uint64_t, Pending>;

    Next hand_out(const StreamModel::Stored& stored, int count, engine::MonoTime now);
    std::optional<Next> next_redelivery(engine::MonoTime now);
    bool settle(const DeliveryReceipt& receipt, engine::MonoTime now);
    void forget_pending();
    void move_floor(std::uint64_t sequence, std::uint64_t delivery_sequence);
    void nak_later(PendingMap::iterator pending, const DeliveryReceipt& receipt, engine::Duration delay,
                   engine::MonoTime now);
    void enqueue(std::uint64_t sequence);
    void drop(PendingMap::iterator pending);
    void schedule(PendingMap::iterator pending, engine::MonoTime due);
    void check_overdue(engine::MonoTime now);

    const ConsumerConfig config_;
    const StoragePolicy storage_;
    StreamModel& stream_;
    const StreamModel::Filter filter_;
    ConsumerFile file_;

    std::uint64_t next_sequence_ = 1;  // the first that has never been delivered
    std::uint64_t next_delivery_sequence_ = 1;
    std::uint64_t floor_delivery_ = 0;  // naks of deliveries up to here are ignored
    std::uint64_t floor_stream_ = 0;
    PendingMap pending_;
    std::map<std::uint64_t, int> redelivered_;  // how often more than once, until settled
    std::set<std::pair<engine::MonoTime, std::uint64_t>> due_;
    engine::MonoTime first_check_{};  // after a restart
    std::set<std::uint64_t> stuck_;   // in hand, and delivered no more

    std::deque<std::pair<std::uint64_t, std::uint64_t>> redelivery_;  // sequence and ticket; stale entries are skipped
    std::map<std::uint64_t, std::uint64_t> ticket_;                   // of each sequence that is queued
    std::uint64_t last_ticket_ = 0;
    std::vector<GivenUp> given_up_;
    std::int64_t rate_limit_bps_ = 0;
    std::string deployment_;
};

}  // namespace lockstep::fakes
