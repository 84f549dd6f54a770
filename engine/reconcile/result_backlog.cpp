#include "engine/reconcile/result_backlog.h"

#include <algorithm>
#include <limits>

#include "engine/runtime/invariant.h"
#include "engine/runtime/scope.h"
#include "engine/wire/subjects.h"

namespace lockstep::engine {

namespace {

/// Requests in flight while messages are read.
constexpr std::uint64_t kReaders = 8;
/// Behind every message.
constexpr StreamSequence kNone{std::numeric_limits<std::uint64_t>::max()};

bool at_work(const OverdueJob& job) { return job.state == JobState::dispatched || job.state == JobState::running; }

}  // namespace

ResultBacklog::ResultBacklog(const Context& context, Duration interval, StoredMessages& messages)
    : context_(context), interval_(interval), messages_(messages) {}

bool ResultBacklog::connected() {
    const BusConnection now = context_.ports.bus.connection();
    const std::uint64_t connection = now.connected ? now.id : 0;
    if (connection != connection_) {
        connection_ = connection;
        answered_since_ = context_.ports.clock.monotonic();
    }
    return connection != 0;
}

Task<void> ResultBacklog::look(std::vector<OverdueJob> page) {
    if (!context_.mechanisms.on(Mechanism::unheard_results) || std::ranges::none_of(page, at_work)) co_return;
    const bool learnt = co_await ask();
    if (!learnt) {
        context_.ports.log.reached("unheard_results_unknown");
        unheard_.nothing_learnt();
    }
    for (const OverdueJob& job : page) {
        const auto result = unheard_.first_of(job.stale.job);
        if (result && at_work(job) && job.overdue_by >= context_.tunables.bus_ack_wait) co_await hand_in(*result);
    }
}

Task<void> ResultBacklog::hand_in(StreamSequence sequence) {
    auto message = co_await context_.ports.bus.read_message(std::string(wire::kStreamSys), sequence,
                                                            context_.ports.clock.in(context_.tunables.publish_timeout));
    if (!message.applied() || !message.value()) co_return;
    // Servers of a cluster may hold different messages under one number.
    if (message.value()->subject != wire::kSubjectResult) co_return;
    context_.ports.log.reached("result_taken_from_the_stream");
    messages_.take(std::move(*message.value()));
}

Task<bool> ResultBacklog::ask() {
    const std::string stream(wire::kStreamSys);
    const auto deadline = [this] { return context_.ports.clock.in(context_.tunables.publish_timeout); };
    const auto state = co_await context_.ports.bus.stream_state(stream, deadline());
    if (!state.applied()) co_return unanswered();
    if (stream_created_ && *stream_created_ != state.value().created) {
        // Its numbers have nothing to do with the former one's, and those who repeat their results have only just begun.
        context_.ports.log.reached("results_stream_made_anew");
        stream_created_ = state.value().created;
        co_return unanswered();
    }
    stream_created_ = state.value().created;
    const auto consumer = co_await context_.ports.bus.consumer_state(
        stream, wire::durable_name(wire::kQueueScheduler, wire::kSubjectResult), deadline());
    if (!consumer.applied()) co_return unanswered();
    if (!consumer.value()) co_return false;  // the replica that binds next makes it anew
    ConsumerState durable = *consumer.value();
    if (!durable.leader.empty() && !hidden_is_known_) co_return false;
    if (hidden_behind_) {
        durable.ack_floor = std::min(durable.ack_floor, *hidden_behind_);
        durable.in_hand = std::max<std::uint64_t>(durable.in_hand, 1);
    }
    const auto stretch = unheard_.look(state.value().last_sequence, durable);
    if (!stretch) co_return true;
    co_return co_await read(*stretch);
}

bool ResultBacklog::unanswered() {
    // No replica can receive results while the stream does not answer: their time begins when it answers again.
    answered_since_ = context_.ports.clock.monotonic();
    return false;
}

Task<bool> ResultBacklog::read(UnheardResults::Stretch stretch) {
    PRECONDITION(stretch.first <= stretch.last, "a stretch from {} to {}", stretch.first, stretch.last);
    const bool resumes = stretch.first < resume_at_ && resume_at_ <= stretch.last;
    if (resumes) unheard_.nothing_learnt();
    if (!resumes) resume_at_ = stretch.first;
    Reading reading;
    // In slices that one tick may read whole, so that each tick comes further than the one before.
    while (true) {
        const std::uint64_t behind = stretch.last.value() - resume_at_.value();
        reading.last =
            StreamSequence(resume_at_.value() + std::min<std::uint64_t>(behind, UnheardResults::kReadMax - 1));
        reading.next = reading.last.next();
        co_await read_slice(resume_at_, reading);
        // Behind the highest number that there is comes none.
        if (reading.over() || reading.last == stretch.last || reading.next > stretch.last) break;
        resume_at_ = reading.next;
    }
    if (!reading.full) resume_at_ = {};
    co_return !reading.failed || unanswered();
}

Task<void> ResultBacklog::read_slice(StreamSequence from, Reading& reading) {
    const std::uint64_t length = reading.last.value() - from.value();
    const std::uint64_t part = length / kReaders + 1;
    Scope readers(context_.ports.executor);
    for (std::uint64_t first = 0; first <= length; first += part)
        readers.spawn(read_part(
            {StreamSequence(from.value() + first), StreamSequence(from.value() + std::min(first + part - 1, length))},
            reading));
    co_await readers.join();
}

Task<void> ResultBacklog::read_part(UnheardResults::Stretch part, Reading& reading) {
    while (!reading.over() && part.first <= part.last) {
        const auto found = co_await context_.ports.bus.read_stream(
            std::string(wire::kStreamSys), std::string(wire::kSubjectResult), part.first,
            context_.ports.clock.in(context_.tunables.publish_timeout));
        if (!found.applied()) {
            reading.failed = true;
            co_return;
        }
        if (!found.value() || found.value()->sequence > part.last) {
            if (part.last == reading.last) reading.next = found.value() ? found.value()->sequence : kNone;
            co_return;
        }
        const StreamSequence sequence = found.value()->sequence;
        if (!unheard_.found(sequence, found.value()->payload)) reading.full = true;
        if (sequence == part.last) co_return;
        part.first = sequence.next();
    }
}

Overdue ResultBacklog::judge(const OverdueJob& job, Duration answered_for) const {
    const Duration connected_for = connection_ == 0 ? Duration{0} : context_.ports.clock.monotonic() - answered_since_;
    return decide(at_work(job) && unheard_.may_name(job.stale.job), job.overdue_by,
                  {patience(), std::min(connected_for, answered_for)});
}

}  // namespace lockstep::engine
