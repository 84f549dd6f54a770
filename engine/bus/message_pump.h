// From a delivery to its disposition: decodes, bounds how much is handled at once, keeps long handlings alive, buries what
// cannot be decoded (wire.md 4).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "engine/announce/dead_letters.h"
#include "engine/bus/byte_window.h"
#include "engine/bus/carried_delivery.h"
#include "engine/bus/disposition.h"
#include "engine/bus/processed_guard.h"
#include "engine/config/context.h"
#include "engine/ports/bus.h"
#include "engine/runtime/crowd.h"
#include "engine/runtime/scope.h"
#include "engine/runtime/wait.h"
#include "engine/store/dead_letter_store.h"

namespace lockstep::engine {

/// Where a packet stands in its stream, and what it was published on.
struct Origin {
    StreamSequence sequence;  // 0 when the server gave none
    std::string subject;
    MessageMarks* marks = nullptr;  // of a message that is guarded; outlives its handling
    std::uint64_t deliveries = 1;   // this one included
};

/// What to do with a packet.
class PacketHandler {
public:
    virtual ~PacketHandler() = default;
    [[nodiscard]] virtual Task<Disposition> handle(cap::BusPacket packet, Origin origin) = 0;
    /// The handler's own calls of the store ask whether the message has been handled before, and then it says *done*. Otherwise the
    /// pump asks first.
    [[nodiscard]] virtual bool asks_by_itself() const { return false; }
};

/// Where a job goes whose message has been acknowledged before the job could be placed.
class ParkedJobs {
public:
    virtual ~ParkedJobs() = default;
    /// Tries the stored job of `tenant` again after `delay`. If this replica dies first, the pending replayer finds it.
    virtual void park(JobId job, std::string tenant, Duration delay) = 0;
};

class MessagePump final : public DeliverySink {
public:
    /// `durable` names the consumer whose messages these are; without a name they are not guarded. Without `parked` every
    /// message that cannot be dealt with yet is handed back. `window` is told of every byte in hand.
    MessagePump(Context& context, const StoreScripts& scripts, DeadLetterStore& letters, DeadLetters& dead_letters,
                PacketHandler& handler, std::string durable = {}, ParkedJobs* parked = nullptr,
                ByteWindow* window = nullptr);

    void on_delivery(std::unique_ptr<Delivery> delivery) override;

    /// Tells the server, well within the ack wait, that everything here is still being worked on. Runs until cancelled.
    [[nodiscard]] Task<void> keep_alive();
    /// The scheduler stops: what waits here for its next try has it now.
    void wake() {
        waits_.wake_all();
        crowd_.send_away();
    }
    /// Waits for what is being handled until `deadline`; what has not been started is handed back. What then still runs is
    /// destroyed where it stands and handed back too.
    [[nodiscard]] Task<void> drain(MonoTime deadline);

    [[nodiscard]] std::size_t in_flight() const { return in_hand_.size(); }

private:
    [[nodiscard]] Task<void> process(std::unique_ptr<Delivery> given);
    /// One try at a delivery, in a slot. Nothing when the delivery has had its answer.
    [[nodiscard]] Task<std::optional<Disposition>> attempt(CarriedDelivery& delivery);
    /// A place among those that are handled of this job. While there is none, the slot is given back and the message stays as
    /// it came. No place when that lasts for too long, or the scheduler stops.
    [[nodiscard, gnu::noinline]] Task<Crowd::Place> join_crowd(JobId job, const Delivery& delivery,
                                                               Semaphore::Permit& slot);
    /// What becomes of a message that the handler has given `disposition` on; nothing when it has had its answer.
    [[nodiscard]] Task<std::optional<Disposition>> settle(CarriedDelivery& delivery, MessageMarks* marks,
                                                          Disposition disposition, JobId job, std::string tenant);
    /// Whether a message whose job the store will remember should stop coming back (see the constants).
    [[nodiscard]] bool should_park(const Delivery& delivery);
    /// Acknowledges a message that has been handled before.
    [[nodiscard, gnu::noinline]] Task<std::optional<Disposition>> take_off(CarriedDelivery& delivery);
    /// Unless the message that has the number by now is another one, or nobody can tell: then it comes again after its ack wait.
    [[nodiscard]] Task<void> acknowledge(CarriedDelivery& delivery);
    [[nodiscard, gnu::noinline]] Task<void> terminate(CarriedDelivery& delivery);
    [[nodiscard]] Task<bool> is_its_own(CarriedDelivery& delivery);
    void note_waiting(Duration delay);
    /// What the stream holds under its number, compared with what has come; `taken`: it is read in the place of that from here on.
    enum class AsStored : std::uint8_t { same, different, taken, gone, unknown };
    /// Of bytes that are no packet.
    [[nodiscard, gnu::noinline]] Task<AsStored> read_back(CarriedDelivery& delivery);
    /// What becomes of a message whose bytes are no packet; nothing when it has had its answer.
    [[nodiscard, gnu::noinline]] Task<std::optional<Disposition>> settle_undecodable(CarriedDelivery& delivery,
                                                                                     AsStored compared,
                                                                                     std::string why);
    [[nodiscard, gnu::noinline]] Task<Outcome<std::optional<StoredMessage>>> stored_under_its_number(
        const Delivery& delivery);
    [[nodiscard]] static AsStored compare(const Outcome<std::optional<StoredMessage>>& stored,
                                          const Delivery& delivery);
    /// Why a message is given up: its bytes are no packet, or its deliveries are spent.
    enum class Poison : std::uint8_t { undecodable, spent };
    /// Writes the letter and terminates the message. A disposition: that was not possible, try again then.
    [[nodiscard, gnu::noinline]] Task<std::optional<Disposition>> bury(CarriedDelivery& delivery, Poison poison,
                                                                       std::string reason);
    [[nodiscard, gnu::noinline]] Task<std::optional<Disposition>> bury_spent(CarriedDelivery& delivery);
    [[nodiscard, gnu::noinline]] Task<bool> write(const Delivery& delivery, Poison poison, DeadLetter letter);
    /// The server will not deliver it again, and this replica ends.
    [[nodiscard]] bool is_last_chance(const Delivery& delivery) const;
    /// How often the server delivers a message.
    [[nodiscard]] std::uint64_t delivery_limit() const;
    /// From this delivery on a message is not tried any more but buried.
    [[nodiscard]] std::uint64_t burial_start() const;
    /// From this delivery on it is not handed back any more.
    [[nodiscard]] std::uint64_t hold_start() const;

    Context& context_;
    DeadLetterStore& letters_;
    DeadLetters& dead_letters_;
    PacketHandler& handler_;
    ProcessedGuard guard_;
    ParkedJobs* const parked_;
    ByteWindow* const window_;
    Semaphore slots_;
    Crowd crowd_;
    WaitQueue waits_;                             // of what is tried again where it is
    std::multiset<MonoTime> waiting_until_;       // of messages handed back: when each comes again
    std::map<std::uint64_t, Delivery*> in_hand_;  // every delivery without a disposition, by order of arrival
    std::uint64_t last_number_ = 0;
    Scope handlers_;  // last: its tasks use everything above
};

}  // namespace lockstep::engine
