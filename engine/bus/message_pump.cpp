#include "engine/bus/message_pump.h"

#include <fmt/core.h>

#include <algorithm>

#include "engine/runtime/invariant.h"
#include "engine/runtime/timeout.h"
#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "engine/wire/text.h"
#include "engine/wire/validation.h"

namespace lockstep::engine {

namespace {

/// What reached us garbled, or could not be compared with what the stream holds.
constexpr Duration kUndecodableDelay = std::chrono::seconds{5};
/// Deliveries until bytes that the stream does not hold are no error on the way: copies of a stream in a cluster may have come apart
/// (nats-server 2.9.10), and the one that is delivered from stays as it is.
constexpr std::uint64_t kGarbledUntil = 10;
constexpr Duration kBurialDelay = std::chrono::seconds{5};
/// Burial begins this many deliveries before the server stops: whoever holds a message that it cannot bury yet may be
/// stopped or killed that often (D-16). At small limits it is less than half of the deliveries.
constexpr std::uint64_t kBurialMargin = 5;
/// The last deliveries of a message before burial, as a share of all: it is not handed back any more but tried again where it
/// is. The server stops delivering at its limit, whatever the reason was; a store that is away for long must not use it up.
constexpr std::uint64_t kHeldShare = 10;
constexpr Duration kHeldPauseMin = std::chrono::seconds{1};
/// A message that has used up this share of its deliveries stops coming back, if its job is in the store: the rest is kept
/// for the times when the store is away.
constexpr std::uint64_t kParkedShare = 5;
/// So does one while this share of the ack-pending window waits for redelivery: messages that wait fill the window, and a
/// full window stops every healthy one.
constexpr std::int64_t kWaitingShare = 4;
constexpr Duration kGuardDelay = std::chrono::seconds{2};
/// Messages about one job that are handled at once. One holds the job's lock; the others wait for it. Few of many slots, and
/// enough for a request, its repetitions and an approval that come together.
constexpr std::int64_t kOfOneJobMax = 8;

std::size_t most_of_one_job(const Tunables& tunables) {
    return static_cast<std::size_t>(std::clamp<std::int64_t>(tunables.max_in_flight / 4, 1, kOfOneJobMax));
}

/// Whose lock it will ask for; empty when nobody's.
JobId job_of(const cap::BusPacket& packet) {
    switch (packet.payload_case()) {
        case cap::BusPacket::kJobRequest: return JobId(wire::trim(packet.job_request().job_id()));
        case cap::BusPacket::kJobResult: return JobId(wire::trim(packet.job_result().job_id()));
        default: return {};
    }
}

}  // namespace

MessagePump::MessagePump(Context& context, const StoreScripts& scripts, DeadLetterStore& letters,
                         DeadLetters& dead_letters, PacketHandler& handler, std::string durable, ParkedJobs* parked,
                         ByteWindow* window)
    : context_(context),
      letters_(letters),
      dead_letters_(dead_letters),
      handler_(handler),
      guard_(context, scripts, std::move(durable)),
      parked_(parked),
      window_(window),
      slots_(static_cast<std::size_t>(context.tunables.max_in_flight)),
      crowd_({.of_one = most_of_one_job(context.tunables)}),
      handlers_(context.ports.executor) {
    PRECONDITION(context.tunables.max_in_flight > 0 && context.tunables.bus_max_deliver > 0,
                 "{} messages at once, each delivered {} times", context.tunables.max_in_flight,
                 context.tunables.bus_max_deliver);
    INVARIANT(0 < hold_start() && hold_start() <= burial_start() && burial_start() <= delivery_limit(),
              "of {} deliveries burial begins with {} and holding with {}", delivery_limit(), burial_start(),
              hold_start());
}

void MessagePump::on_delivery(std::unique_ptr<Delivery> delivery) {
    if (context_.stopping && !is_last_chance(*delivery)) {
        delivery->nak(Duration{0});
        return;
    }
    handlers_.spawn(process(std::move(delivery)));
}

Task<void> MessagePump::process(std::unique_ptr<Delivery> given) {
    const auto delivery = std::make_unique<CarriedDelivery>(std::move(given), context_.ports.bus);
    /// Membership in `in_hand_`, left however this coroutine ends.
    struct InHand {
        MessagePump& pump;
        std::uint64_t number;
        std::size_t bytes;
        InHand(MessagePump& p, Delivery& d) : pump(p), number(++p.last_number_), bytes(d.payload().size()) {
            pump.in_hand_.emplace(number, &d);
            count(+1);
            if (pump.window_ != nullptr) pump.window_->take(bytes);
        }
        ~InHand() {
            pump.in_hand_.erase(number);
            count(-1);
            if (pump.window_ != nullptr) pump.window_->give_back(bytes);
        }
        InHand(const InHand&) = delete;
        InHand& operator=(const InHand&) = delete;
        void count(int change) const {
            Context& context = pump.context_;
            context.active_handlers += change;
            context.ports.metrics.set(Metric::active_handlers, static_cast<double>(context.active_handlers));
        }
    } const in_hand(*this, *delivery);

    const bool held = delivery->delivery_count() >= hold_start();
    while (true) {
        const auto disposition = co_await attempt(*delivery);
        if (!disposition) co_return;
        if (!held || (context_.stopping && !is_last_chance(*delivery))) {
            note_waiting(disposition->delay);
            delivery->nak(disposition->delay);
            co_return;
        }
        context_.ports.log.reached("held_near_delivery_limit");
        const Duration pause = context_.stopping ? kHeldPauseMin : std::max(disposition->delay, kHeldPauseMin);
        co_await waits_.wait_until(context_.ports.clock.in(pause));
    }
}

Task<std::optional<Disposition>> MessagePump::attempt(CarriedDelivery& delivery) {
    auto slot = co_await slots_.acquire();
    if (context_.stopping && !is_last_chance(delivery)) co_return Disposition::hand_back(Duration{0});
    auto packet = wire::decode(delivery.payload());
    if (!packet) {
        const AsStored compared = co_await read_back(delivery);
        if (compared == AsStored::taken) packet = wire::decode(delivery.payload());
        if (!packet) co_return co_await settle_undecodable(delivery, compared, std::move(packet.error().detail));
    }
    if (delivery.delivery_count() >= burial_start()) co_return co_await bury_spent(delivery);
    const JobId whose = job_of(*packet);
    Crowd::Place place;
    if (!whose.empty()) place = crowd_.enter(whose.text());
    if (!whose.empty() && !place) {
        packet->Clear();  // decoded again when its turn has come: who stands costs no more than what was delivered
        place = co_await join_crowd(whose, delivery, slot);
        if (!place)
            co_return Disposition::hand_back(context_.stopping ? Duration{0} : context_.tunables.retry_delay_busy);
        packet = wire::decode(delivery.payload());
    }
    std::optional<MessageMarks> marks = guard_.marks_of(delivery);
    if (marks && !handler_.asks_by_itself()) {
        const auto found = co_await guard_.enter(*marks);
        if (found == ProcessedGuard::Finding::hand_back) co_return Disposition::hand_back(kGuardDelay);
        if (found == ProcessedGuard::Finding::processed) co_return co_await take_off(delivery);
    }
    JobId job(wire::trim(packet->job_request().job_id()));
    std::string tenant(wire::tenant_of(packet->job_request()));
    MessageMarks* const carried = marks ? &*marks : nullptr;
    const Disposition disposition = co_await handler_.handle(
        std::move(*packet),
        Origin{delivery.sequence(), std::string(delivery.subject()), carried, delivery.delivery_count()});
    if (marks && marks->standing == MessageMarks::Standing::handled_before) co_return co_await take_off(delivery);
    co_return co_await settle(delivery, carried, disposition, std::move(job), std::move(tenant));
}

Task<std::optional<Disposition>> MessagePump::take_off(CarriedDelivery& delivery) {
    context_.ports.log.reached("processed_before");
    co_await acknowledge(delivery);
    co_return std::nullopt;
}

Task<void> MessagePump::acknowledge(CarriedDelivery& delivery) {
    const bool its_own = co_await is_its_own(delivery);
    if (its_own) delivery.ack();
}

Task<void> MessagePump::terminate(CarriedDelivery& delivery) {
    const bool its_own = co_await is_its_own(delivery);
    if (its_own) delivery.term();
}

Task<bool> MessagePump::is_its_own(CarriedDelivery& delivery) {
    if (delivery.same_server()) co_return true;
    context_.ports.log.reached("delivered_by_another_server");
    const auto stored = co_await stored_under_its_number(delivery);
    co_return compare(stored, delivery) == AsStored::same;
}

Task<Crowd::Place> MessagePump::join_crowd(JobId job, const Delivery& delivery, Semaphore::Permit& slot) {
    slot.release();
    context_.ports.log.reached("job_crowded");
    Crowd::Place place = co_await crowd_.wait(job.text(), context_.ports.clock.in(context_.tunables.lock_wait));
    if (!place) {
        context_.ports.metrics.add(Metric::crowded_job_handed_back, {delivery.subject()});
        co_return place;
    }
    slot = co_await slots_.acquire();
    // What is handed back to stop comes again elsewhere.
    if (context_.stopping && !is_last_chance(delivery)) co_return Crowd::Place{};
    co_return place;
}

Task<std::optional<Disposition>> MessagePump::settle(CarriedDelivery& delivery, MessageMarks* marks,
                                                     Disposition disposition, JobId job, std::string tenant) {
    const bool park = disposition.kind == Disposition::Kind::postponed && !job.empty() && should_park(delivery);
    if (disposition.kind != Disposition::Kind::done && !park) {
        if (marks != nullptr) co_await guard_.leave(*marks);
        co_return disposition;
    }
    // Marked first: a crash before the acknowledgement is absorbed at the redelivery.
    const bool marked = marks == nullptr || co_await guard_.mark_processed(*marks);
    if (!marked) co_return Disposition::hand_back(kGuardDelay);
    co_await acknowledge(delivery);
    if (park) {
        context_.ports.log.reached("message_parked");
        parked_->park(std::move(job), std::move(tenant), disposition.delay);
    }
    co_return std::nullopt;
}

void MessagePump::note_waiting(Duration delay) {
    const MonoTime now = context_.ports.clock.monotonic();
    waiting_until_.erase(waiting_until_.begin(), waiting_until_.upper_bound(now));
    if (delay > Duration{0}) waiting_until_.insert(now + delay);
}

bool MessagePump::should_park(const Delivery& delivery) {
    if (parked_ == nullptr || context_.stopping) return false;
    if (delivery.delivery_count() >= std::max<std::uint64_t>(delivery_limit() / kParkedShare, 1)) return true;
    note_waiting(Duration{0});
    return static_cast<std::int64_t>(waiting_until_.size()) >= context_.tunables.bus_max_ack_pending / kWaitingShare;
}

Task<MessagePump::AsStored> MessagePump::read_back(CarriedDelivery& delivery) {
    if (!context_.mechanisms.on(Mechanism::undecodable_read_back)) co_return AsStored::same;
    auto stored = co_await stored_under_its_number(delivery);
    const AsStored compared = compare(stored, delivery);
    if (compared != AsStored::different) co_return compared;
    context_.ports.log.reached("delivery_garbled");
    context_.ports.metrics.add(Metric::garbled_deliveries, {delivery.subject()});
    context_.ports.log.event(LogLevel::error, "delivery differs from what the stream holds",
                             {{"subject", delivery.subject()}, {"sequence", delivery.sequence()}});
    if (delivery.delivery_count() < kGarbledUntil || delivery.delivery_count() >= burial_start()) co_return compared;
    // What the stream holds there is another durable's, and what has come stands in no stream.
    if (stored.value()->subject != delivery.subject()) co_return AsStored::same;
    context_.ports.log.reached("stored_message_taken_instead");
    delivery.read_as_stored(std::move(stored.value()->payload));
    co_return AsStored::taken;
}

Task<std::optional<Disposition>> MessagePump::settle_undecodable(CarriedDelivery& delivery, AsStored compared,
                                                                 std::string why) {
    if (compared == AsStored::same || compared == AsStored::taken) {
        context_.ports.log.event(LogLevel::error, "message not decodable",
                                 {{"subject", delivery.subject()}, {"sequence", delivery.sequence()}, {"error", why}});
        co_return co_await bury(delivery, Poison::undecodable, fmt::format("not decodable: {}", why));
    }
    const bool spent = delivery.delivery_count() >= burial_start();
    if (is_last_chance(delivery) || (spent && compared == AsStored::different)) co_return co_await bury_spent(delivery);
    if (compared == AsStored::unknown) co_return Disposition::hand_back(kUndecodableDelay);
    // Kept here it would stay as it is: only another delivery helps.
    delivery.nak(kUndecodableDelay);
    co_return std::nullopt;
}

Task<Outcome<std::optional<StoredMessage>>> MessagePump::stored_under_its_number(const Delivery& delivery) {
    co_return co_await context_.ports.bus.read_message(std::string(delivery.stream()), delivery.sequence(),
                                                       context_.ports.clock.in(context_.tunables.publish_timeout));
}

MessagePump::AsStored MessagePump::compare(const Outcome<std::optional<StoredMessage>>& stored,
                                           const Delivery& delivery) {
    if (!stored.applied()) return AsStored::unknown;
    if (!stored.value()) return AsStored::gone;  // it will not be delivered again either
    return stored.value()->payload == delivery.payload() ? AsStored::same : AsStored::different;
}

Task<std::optional<Disposition>> MessagePump::bury_spent(CarriedDelivery& delivery) {
    std::string reason = fmt::format("delivered {} times without success", delivery.delivery_count());
    co_return co_await bury(delivery, Poison::spent, std::move(reason));
}

Task<std::optional<Disposition>> MessagePump::bury(CarriedDelivery& delivery, Poison poison, std::string reason) {
    const DeadLetter letter{fmt::format("poison:{}:{}", delivery.stream(), delivery.sequence()),
                            std::string(delivery.subject()), cap::JOB_STATUS_FAILED, std::move(reason),
                            std::string(kPoisonMessage)};
    const bool letter_first = context_.mechanisms.on(Mechanism::dead_letter_before_term);
    if (!letter_first) co_await terminate(delivery);
    const bool written = co_await write(delivery, poison, letter);
    if (!written) {
        // The letter comes first: a message terminated without one would be gone without a trace. So would one that is
        // handed back at its last delivery.
        context_.ports.log.reached("burial_postponed");
        if (!letter_first) co_return std::nullopt;
        if (!is_last_chance(delivery)) co_return Disposition::hand_back(kBurialDelay);
        const bool told = co_await dead_letters_.tell(letter);
        if (!told) co_return Disposition::hand_back(kBurialDelay);
        context_.ports.log.reached("buried_on_the_bus");
    }
    co_await terminate(delivery);
    if (poison == Poison::undecodable) context_.ports.metrics.add(Metric::undecodable_messages, {delivery.subject()});
    if (poison == Poison::spent && written) co_await dead_letters_.announce(letter);
    co_return std::nullopt;
}

Task<bool> MessagePump::write(const Delivery& delivery, Poison poison, DeadLetter letter) {
    if (poison == Poison::spent) {
        const auto written = co_await letters_.put(std::move(letter));
        co_return written.applied();
    }
    const auto written =
        co_await letters_.bury_undecodable(std::move(letter), std::string(delivery.stream()), delivery.sequence());
    co_return written.applied();
}

bool MessagePump::is_last_chance(const Delivery& delivery) const {
    return context_.stopping && delivery.delivery_count() >= delivery_limit();
}

std::uint64_t MessagePump::delivery_limit() const {
    return static_cast<std::uint64_t>(context_.tunables.bus_max_deliver);
}

std::uint64_t MessagePump::burial_start() const {
    const std::uint64_t limit = delivery_limit();
    if (!context_.mechanisms.on(Mechanism::burial_margin)) return limit;
    return limit - std::min(kBurialMargin, (limit - 1) / 2);
}

std::uint64_t MessagePump::hold_start() const { return burial_start() - delivery_limit() / kHeldShare; }

Task<void> MessagePump::keep_alive() {
    while (true) {
        co_await context_.ports.clock.sleep(context_.tunables.bus_ack_wait / 3);
        for (const auto& [number, delivery] : in_hand_) delivery->in_progress();
    }
}

Task<void> MessagePump::drain(MonoTime deadline) {
    const auto finished = co_await with_deadline(context_.ports.executor, deadline, [](Scope& scope) -> Task<bool> {
        co_await scope.join();
        co_return true;
    }(handlers_));
    if (!finished) {
        context_.ports.log.reached("stopped_at_end_of_grace");
        context_.ports.log.event(LogLevel::warn, "handlers stopped at the end of the grace period",
                                 {{"handlers", handlers_.size()}});
        // Else they would come again only after the ack wait. A disposition that was given before counts; this one is ignored.
        for (const auto& [number, delivery] : in_hand_) delivery->nak(Duration{0});
        handlers_.cancel();
    }
}

}  // namespace lockstep::engine
