#include "engine/reconcile/undelivered.h"

#include <algorithm>
#include <utility>

#include "engine/bus/stream_search.h"
#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "engine/wire/subjects.h"
#include "engine/wire/text.h"

namespace lockstep::engine {

namespace {

/// Messages that one tick reads.
constexpr int kReadMax = 100;
/// The same where a leader may have passed many by.
constexpr int kPassedByMax = 1'000;
/// How often one is handed in at least before it is left: some are refused, and the store never knows them.
constexpr int kTries = 3;

/// The job that a message of the subject is about; empty where it is about none.
JobId job_of(const StoredMessage& message, std::string_view subject) {
    const auto packet = wire::decode(message.payload);
    if (message.subject != subject || !packet) return {};
    if (packet->has_job_request()) return JobId(wire::trim(packet->job_request().job_id()));
    if (packet->has_job_result()) return JobId(wire::trim(packet->job_result().job_id()));
    return {};
}

}  // namespace

Undelivered::Undelivered(Of what, const Context& context, SweepStore& sweeps, StoredMessages& messages,
                         Duration interval)
    : what_(what),
      context_(context),
      sweeps_(sweeps),
      messages_(messages),
      marks_(context.ports.redis, context.ports.clock, context.tunables),
      subject_(what == Of::submissions ? wire::kSubjectSubmit : wire::kSubjectResult),
      durable_(wire::durable_name(wire::kQueueScheduler, subject_)),
      interval_(interval),
      patience_(context.tunables.bus_ack_wait + interval),
      watch_(context.ports.bus, std::string(wire::kStreamSys), durable_) {}

Task<void> Undelivered::look(Ticker& ticker) {
    const StreamSequence looked_at = std::exchange(looked_at_, {});
    knows_what_is_hidden_ = false;
    const auto state = co_await durable();
    if (!state) co_return;
    // Not before: a floor counts only if no other server came to lead before it was told.
    const LeaderWatch::Heard heard = watch_.heard();
    if (!state->leader.empty()) {
        const auto kept = co_await marks_.of(durable_);
        if (!kept.applied()) co_return;
        watch_.listen();
        auto mark = co_await mark_now(*state, kept.value(), may_have_changed(heard, kept.value()));
        if (!mark) co_return;
        knows_what_is_hidden_ = true;
        hidden_behind_.reset();
        if (mark->hides_something()) {
            hidden_behind_ = mark->accounted;
            co_await look_through(ticker, *mark);
        }
        // Also where the tick is lost meanwhile: what has been looked through counts for the next one.
        const bool stands = co_await note(*mark, kept.value());
        if (stands) noted_ = {heard, mark->passed_by};
        if (mark->hides_something()) co_return;
    }
    if (what_ == Of::submissions && state->in_hand > 0)
        co_await look_above(ticker, std::max(state->ack_floor, looked_at));
}

Task<std::optional<ConsumerState>> Undelivered::durable() {
    auto state = co_await context_.ports.bus.consumer_state(std::string(wire::kStreamSys), durable_,
                                                            context_.ports.clock.in(context_.tunables.publish_timeout));
    if (!state.applied()) co_return std::nullopt;
    of_a_cluster_ = state.value() && !state.value()->leader.empty();
    co_return std::move(state.value());
}

bool Undelivered::may_have_changed(const LeaderWatch::Heard& heard, const std::optional<DeliveryMark>& kept) const {
    return !heard.listening || heard != noted_.heard || (kept && kept->passed_by < noted_.passed_by);
}

Task<std::optional<DeliveryMark>> Undelivered::first_mark(const ConsumerState& durable) {
    const DeliveryMark believed{durable.leader, durable.ack_floor, {}};
    if (what_ == Of::submissions) co_return believed;
    const auto at_work = co_await sweeps_.at_work_since();
    if (!at_work.applied()) co_return std::nullopt;
    if (!at_work.value()) co_return believed;
    const std::string stream(wire::kStreamSys);
    const auto deadline = [this] { return context_.ports.clock.in(context_.tunables.publish_timeout); };
    const auto state = co_await context_.ports.bus.stream_state(stream, deadline());
    if (!state.applied()) co_return std::nullopt;
    const WallTime since = *at_work.value() - context_.tunables.stream_clock_margin;
    const auto first = co_await first_since(state.value(), since, [&](StreamSequence from) {
        return context_.ports.bus.read_stream(stream, {}, from, deadline());
    });
    if (!first) co_return std::nullopt;
    if (*first > durable.ack_floor) co_return believed;
    const StreamSequence before(std::max<std::uint64_t>(first->value(), 1) - 1);
    co_return DeliveryMark{durable.leader, before, state.value().last_sequence};
}

Task<std::optional<DeliveryMark>> Undelivered::mark_now(const ConsumerState& durable,
                                                        const std::optional<DeliveryMark>& kept,
                                                        bool may_have_changed) {
    if (!kept) co_return co_await first_mark(durable);
    DeliveryMark mark = *kept;
    if (may_have_changed || mark.leader != durable.leader) {
        const auto stream = co_await context_.ports.bus.stream_state(
            std::string(wire::kStreamSys), context_.ports.clock.in(context_.tunables.publish_timeout));
        if (!stream.applied()) co_return std::nullopt;
        mark.leader = durable.leader;
        mark.passed_by = stream.value().last_sequence;
    } else if (!mark.hides_something()) {
        mark.accounted = durable.ack_floor;
    }
    co_return mark;
}

Task<bool> Undelivered::note(const DeliveryMark& mark, const std::optional<DeliveryMark>& kept) {
    if (mark == kept) co_return true;
    const auto done = co_await marks_.keep(durable_, mark);
    co_return done.applied();
}

Task<void> Undelivered::look_through(Ticker& ticker, DeliveryMark& mark) {
    bool all_accounted = true;
    StreamSequence next = mark.accounted.next();
    // Others of the tick have their turn however many there are, and however slow the servers.
    const MonoTime until = context_.ports.clock.in(interval_);
    for (int read = 0; read < kPassedByMax && (read == 0 || context_.ports.clock.monotonic() < until); ++read) {
        const bool still_mine = co_await ticker.keep();
        if (!still_mine) co_return;
        const Seen seen = co_await look_at_next(next);
        const bool at_the_end = seen.what == Seen::What::nothing || (seen.go_on() && seen.sequence > mark.passed_by);
        if (at_the_end && all_accounted) mark.accounted = mark.passed_by;
        if (at_the_end || !seen.go_on()) break;
        // Whether it was of use is seen at the next tick.
        if (seen.what == Seen::What::handed_in && !is_tried_out(seen.sequence)) all_accounted = false;
        if (all_accounted) mark.accounted = seen.sequence;
        next = seen.sequence.next();
    }
    tried_.erase(tried_.begin(), tried_.upper_bound(mark.accounted));
}

bool Undelivered::is_tried_out(StreamSequence sequence) {
    const MonoTime now = context_.ports.clock.monotonic();
    Tried& tried = tried_.try_emplace(sequence, Tried{0, now}).first->second;
    // A replica that has died may have left the job's lock behind, and one that waits for a publish holds it.
    const Duration until_free = std::max(context_.tunables.job_lock_ttl, context_.tunables.publish_resend_limit);
    return ++tried.times > kTries && now - tried.since > until_free;
}

Task<void> Undelivered::look_above(Ticker& ticker, StreamSequence last) {
    for (int read = 0; read < kReadMax; ++read) {
        const bool still_mine = co_await ticker.keep();
        if (!still_mine) break;
        const Seen seen = co_await look_at_next(last.next());
        if (seen.what == Seen::What::unknown) break;
        if (!seen.go_on()) co_return;
        last = seen.sequence;
    }
    looked_at_ = last;
}

Task<Undelivered::Seen> Undelivered::look_at_next(StreamSequence from) {
    using What = Seen::What;
    auto found = co_await context_.ports.bus.read_stream(std::string(wire::kStreamSys), subject_, from,
                                                         context_.ports.clock.in(context_.tunables.publish_timeout));
    if (!found.applied()) co_return Seen{};
    if (!found.value()) co_return Seen{What::nothing};
    const StreamSequence sequence = found.value()->sequence;
    const Duration age = context_.ports.clock.now() - found.value()->stored_at;
    if (age < patience_) co_return Seen{What::young, sequence};  // whatever is behind it is younger
    // Whoever is older may have been forgotten by the store, and not by the durable.
    if (age > context_.tunables.job_meta_ttl / 2) co_return Seen{What::passed, sequence};
    const auto wanted = co_await is_wanted(*found.value());
    if (!wanted) co_return Seen{};
    if (!*wanted) co_return Seen{What::passed, sequence};
    context_.ports.log.reached(what_ == Of::submissions ? "submission_taken_from_the_stream"
                                                        : "result_taken_from_the_stream");
    messages_.take(std::move(*found.value()));
    co_return Seen{What::handed_in, sequence};
}

Task<std::optional<bool>> Undelivered::is_wanted(const StoredMessage& message) {
    const JobId job = job_of(message, subject_);
    if (job.empty()) co_return false;
    if (what_ == Of::results) {
        const auto at_work = co_await sweeps_.is_at_work(job);
        if (!at_work.applied()) co_return std::nullopt;
        co_return at_work.value();
    }
    const auto known = co_await sweeps_.is_known(job);
    if (!known.applied()) co_return std::nullopt;
    co_return !known.value();
}

}  // namespace lockstep::engine
