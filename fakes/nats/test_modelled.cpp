#include "fakes/nats/test_modelled.h"

#include <map>
#include <utility>

namespace lockstep::fakes {

using engine::MonoTime;

Modelled::Modelled(const StreamConfig& stream, const ConsumerConfig& consumer)
    : stream_(model_.add_stream(stream)),
      config_(consumer),
      consumer_(model_.ensure_consumer(stream.name, consumer).consumer) {}

StreamModel::Ack Modelled::publish(std::string subject, std::string payload, std::string id, MonoTime now) {
    return stream_.publish(make_message(std::move(subject), std::move(payload), std::move(id)), now);
}

bool Modelled::apply(const DeliveryReceipt& receipt, const DeliveryAnswer& answer, MonoTime now) {
    return consumer_->apply(receipt, answer, now);
}

std::optional<ConsumerModel::Next> Modelled::next(MonoTime now) { return consumer_->next(now); }

const StreamModel::Stored* Modelled::look_up(const std::string& subject, std::uint64_t from, MonoTime now) {
    return stream_.next(stream_.filter(subject), from, now);
}

void Modelled::restart(bool killed, MonoTime now, MonoTime first_check) {
    if (killed) model_.crash(now);
    model_.restart(now, first_check);
}

void Modelled::replace_consumer() {
    config_.name += "+";
    consumer_ = model_.ensure_consumer(stream_.config().name, config_).consumer;
}

namespace {

template <class Lie>
std::unique_ptr<Modelled> make(StreamConfig stream, ConsumerConfig consumer) {
    return std::make_unique<Lie>(stream, consumer);
}

struct NoDuplicates final : Modelled {
    using Modelled::Modelled;
    StreamModel::Ack publish(std::string subject, std::string payload, std::string, MonoTime now) override {
        return Modelled::publish(std::move(subject), std::move(payload), {}, now);
    }
};

struct LateAckIsNothing final : Modelled {
    using Modelled::Modelled;
    std::map<std::uint64_t, int> last_count;
    std::optional<ConsumerModel::Next> next(MonoTime now) override {
        auto handed = Modelled::next(now);
        if (handed) last_count[handed->receipt.sequence] = handed->receipt.count;
        return handed;
    }
    bool apply(const DeliveryReceipt& receipt, const DeliveryAnswer& answer, MonoTime now) override {
        const bool late = receipt.count < last_count[receipt.sequence];
        return !(late && answer.kind == EventKind::ack) && Modelled::apply(receipt, answer, now);
    }
};

struct AlwaysTheFirstDelivery final : Modelled {
    using Modelled::Modelled;
    std::optional<ConsumerModel::Next> next(MonoTime now) override {
        auto handed = Modelled::next(now);
        if (handed) handed->receipt.count = 1;
        return handed;
    }
};

/// Takes one kind of answer for another.
template <EventKind kFrom, EventKind kTo, bool kDelayed = false>
struct Mistakes final : Modelled {
    using Modelled::Modelled;
    bool apply(const DeliveryReceipt& receipt, const DeliveryAnswer& answer, MonoTime now) override {
        const bool meant = answer.kind == kFrom && (answer.delay > engine::Duration::zero()) == kDelayed;
        return Modelled::apply(receipt, meant ? DeliveryAnswer{kTo, {}} : answer, now);
    }
};

template <EventKind kKind>
struct Ignores final : Modelled {
    using Modelled::Modelled;
    bool apply(const DeliveryReceipt& receipt, const DeliveryAnswer& answer, MonoTime now) override {
        return answer.kind != kKind && Modelled::apply(receipt, answer, now);
    }
};

struct LooksUpFromTheStart final : Modelled {
    using Modelled::Modelled;
    const StreamModel::Stored* look_up(const std::string& subject, std::uint64_t, MonoTime now) override {
        return Modelled::look_up(subject, 1, now);
    }
};

struct RestartForgetsTheConsumer final : Modelled {
    using Modelled::Modelled;
    void restart(bool killed, MonoTime now, MonoTime first_check) override {
        Modelled::restart(killed, now, first_check);
        replace_consumer();
    }
};

constexpr ModelLie kLies[] = {
    {"message ids are not looked at", make<NoDuplicates>},
    {"a late ack counts for nothing", make<LateAckIsNothing>},
    {"every delivery is the first", make<AlwaysTheFirstDelivery>},
    {"a nak's delay is not waited for", make<Mistakes<EventKind::nak, EventKind::nak, true>>},
    {"a nak waits for the ack wait", make<Ignores<EventKind::nak>>},
    {"a terminated message comes again", make<Mistakes<EventKind::term, EventKind::nak>>},
    {"an acknowledged message comes again", make<Ignores<EventKind::ack>>},
    {"in progress settles", make<Mistakes<EventKind::in_progress, EventKind::ack>>},
    {"in progress gains no time", make<Ignores<EventKind::in_progress>>},
    {"a look-up begins at the first message", make<LooksUpFromTheStart>},
    {"a restart forgets what was delivered", make<RestartForgetsTheConsumer>},
    {"max_ack_pending is not minded",
     [](StreamConfig stream, ConsumerConfig consumer) {
         consumer.max_ack_pending = 0;
         return make<Modelled>(std::move(stream), std::move(consumer));
     }},
    {"max_deliver is not minded",
     [](StreamConfig stream, ConsumerConfig consumer) {
         consumer.max_deliver = 0;
         return make<Modelled>(std::move(stream), std::move(consumer));
     }},
    {"a full stream takes more",
     [](StreamConfig stream, ConsumerConfig consumer) {
         stream.max_messages = 0;
         return make<Modelled>(std::move(stream), std::move(consumer));
     }},
    {"the consumer gets every subject",
     [](StreamConfig stream, ConsumerConfig consumer) {
         consumer.filter_subject.clear();
         return make<Modelled>(std::move(stream), std::move(consumer));
     }},
    {"the ack wait is twice as long",
     [](StreamConfig stream, ConsumerConfig consumer) {
         consumer.ack_wait *= 2;
         return make<Modelled>(std::move(stream), std::move(consumer));
     }},
};

}  // namespace

std::span<const ModelLie> model_lies() { return kLies; }

}  // namespace lockstep::fakes
