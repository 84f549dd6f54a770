#include "engine/scheduler/intake.h"

#include <fmt/core.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "engine/runtime/invariant.h"
#include "engine/wire/heartbeat_bounds.h"
#include "engine/wire/packet.h"
#include "engine/wire/subjects.h"

namespace lockstep::engine {

namespace {

constexpr Duration kBindTimeout = std::chrono::seconds{10};

std::string durable_of(std::string_view subject) { return wire::durable_name(wire::kQueueScheduler, subject); }

/// Null where there is none.
template <class Routes>
auto find_route(const Routes& routes, cap::BusPacket::PayloadCase kind) {
    const auto found = std::ranges::find_if(routes, [kind](const auto& route) { return route.kind == kind; });
    return found == routes.end() ? nullptr : &*found;
}

/// Two entries for one kind would give it two subjects.
template <class... Routes>
constexpr bool each_kind_once(const Routes&... routes) {
    std::array<cap::BusPacket::PayloadCase, (std::tuple_size_v<Routes> + ...)> kinds{};
    std::size_t count = 0;
    const auto add = [&](const auto& table) {
        for (const auto& route : table) kinds[count++] = route.kind;
    };
    (add(routes), ...);
    std::ranges::sort(kinds);
    return std::ranges::adjacent_find(kinds) == kinds.end();
}

}  // namespace

constexpr std::array<Intake::StreamRoute, 2> Intake::kStreamRoutes{{
    {.kind = cap::BusPacket::kJobRequest,
     .subject = wire::kSubjectSubmit,
     .handle = &Intake::on_request,
     .stored = true,
     .paused = true},
    {.kind = cap::BusPacket::kJobResult,
     .subject = wire::kSubjectResult,
     .handle = &Intake::on_result,
     .stored = false,
     .paused = false},
}};

constexpr std::array<Intake::CoreRoute, 3> Intake::kCoreRoutes{{
    {.kind = cap::BusPacket::kHeartbeat,
     .subject = wire::kSubjectHeartbeat,
     .handle = &Intake::on_heartbeat,
     .to_all = true},
    {.kind = cap::BusPacket::kHandshake,
     .subject = wire::kSubjectHandshake,
     .handle = &Intake::on_handshake,
     .to_all = true},
    {.kind = cap::BusPacket::kJobCancel,
     .subject = wire::kSubjectCancel,
     .handle = &Intake::on_cancel,
     .to_all = false},
}};

Intake::Intake(Replica& replica, DeadLetters& dead_letters, RequestHandler& requests, ResultHandler& results,
               ParkedJobs& parked)
    : replica_(replica), requests_(requests), results_(results), window_(replica), cancels_(replica) {
    static_assert(each_kind_once(kStreamRoutes, kCoreRoutes));
    for (const StreamRoute& route : kStreamRoutes)
        streams_.emplace_back(route, replica, dead_letters, *this, route.stored ? &parked : nullptr, window_);
}

Intake::Stream::Stream(const StreamRoute& r, Replica& replica, DeadLetters& dead_letters, PacketHandler& handler,
                       ParkedJobs* parked, ByteWindow& window)
    : route(r),
      pump(replica, replica.scripts, replica.letters, dead_letters, handler, durable_of(r.subject), parked, &window) {}

bool Intake::counts_on(cap::BusPacket::PayloadCase kind, std::string_view subject) {
    const auto is_of = [&](const auto& route) { return route.kind == kind && route.subject == subject; };
    return std::ranges::any_of(kStreamRoutes, is_of) || std::ranges::any_of(kCoreRoutes, is_of);
}

void Intake::listen() {
    const std::string group(wire::kQueueScheduler);
    for (const CoreRoute& route : kCoreRoutes)
        listeners_.push_back(
            replica_.ports.bus.subscribe(std::string(route.subject), route.to_all ? std::string{} : group, *this));
}

Task<tl::expected<void, std::string>> Intake::bind(Stream& stream, std::string deployment) {
    PRECONDITION(!listeners_.empty(), "messages on {} are asked for before workers are heard", stream.route.subject);
    const std::string subject(stream.route.subject);
    ConsumerSpec spec;
    spec.stream = wire::kStreamSys;
    spec.subject = subject;
    spec.queue = wire::kQueueScheduler;
    spec.durable = durable_of(subject);
    spec.ack_wait = replica_.tunables.bus_ack_wait;
    spec.max_deliver = static_cast<int>(replica_.tunables.bus_max_deliver);
    spec.max_ack_pending = static_cast<int>(replica_.tunables.bus_max_ack_pending);
    spec.rate_limit_bps = replica_.tunables.bus_rate_limit;
    spec.deployment = std::move(deployment);
    auto bound =
        co_await replica_.ports.bus.consume(std::move(spec), stream.pump, replica_.ports.clock.in(kBindTimeout));
    if (!bound.applied())
        co_return tl::make_unexpected(fmt::format("consumer of {}: {}", subject, bound.failure().detail));
    if (stream.route.paused)
        window_.regulate(std::move(bound.value()));
    else
        stream.binding = std::move(bound.value());
    co_return tl::expected<void, std::string>{};
}

void Intake::take(StoredMessage message) {
    const auto stream =
        std::ranges::find_if(streams_, [&message](const Stream& one) { return one.route.subject == message.subject; });
    PRECONDITION(stream != streams_.end(), "messages on {} are taken by nobody", message.subject);
    stream->pump.on_delivery(std::make_unique<StoredDelivery>(std::string(wire::kStreamSys), std::move(message)));
}

void Intake::take_no_more() {
    window_.close();
    for (Stream& stream : streams_) stream.binding.reset();
}

std::size_t Intake::in_flight() const {
    std::size_t count = 0;
    for (const Stream& stream : streams_) count += stream.pump.in_flight();
    return count;
}

Task<Disposition> Intake::handle(cap::BusPacket packet, Origin origin) {
    if (!counts(packet, origin.subject)) co_return Disposition::done();
    const StreamRoute* route = find_route(kStreamRoutes, packet.payload_case());
    if (route == nullptr) co_return Disposition::done();
    co_return co_await (this->*route->handle)(std::move(packet), std::move(origin));
}

void Intake::on_message(std::string_view subject, std::string_view payload) {
    const auto packet = wire::decode(payload);
    if (!packet) {
        replica_.ports.log.event(LogLevel::error, "message not decodable", {{"subject", subject}});
        return;
    }
    if (!counts(*packet, subject)) return;
    const CoreRoute* route = find_route(kCoreRoutes, packet->payload_case());
    if (route != nullptr) (this->*route->handle)(*packet);
}

Task<Disposition> Intake::on_request(cap::BusPacket packet, Origin origin) {
    return requests_.handle_delivered(std::move(*packet.mutable_job_request()), packet.trace_id(), origin.marks);
}

Task<Disposition> Intake::on_result(cap::BusPacket packet, Origin origin) {
    return results_.handle(std::move(*packet.mutable_job_result()), origin.sequence, origin.marks);
}

void Intake::on_heartbeat(const cap::BusPacket& packet) {
    const cap::Heartbeat& heartbeat = packet.heartbeat();
    note_refusal(replica_.registry.on_heartbeat(heartbeat, replica_.ports.clock.monotonic()), heartbeat.worker_id());
}

void Intake::on_handshake(const cap::BusPacket& packet) {
    const cap::Handshake& handshake = packet.handshake();
    note_refusal(replica_.registry.on_handshake(handshake, replica_.ports.clock.monotonic()), handshake.component_id());
}

void Intake::on_cancel(const cap::BusPacket& packet) {
    if (!replica_.stopping) cancels_.take(JobId(packet.job_cancel().job_id()));
}

void Intake::note_refusal(std::string_view reason, const std::string& worker) {
    if (reason.empty()) return;
    replica_.ports.metrics.add(Metric::heartbeats_refused, {reason});
    replica_.ports.log.reached("heartbeat_refused");
    const auto held_back = refusals_.admit(reason, replica_.ports.clock.monotonic());
    if (!held_back) return;
    replica_.ports.log.event(LogLevel::warn, "heartbeat ignored: it is outside sense",
                             {{"worker_id", std::string_view(worker).substr(0, wire::kWorkerIdMax)},
                              {"reason", reason},
                              {"more_since_the_last", *held_back}});
}

bool Intake::counts(const cap::BusPacket& packet, std::string_view subject) {
    if (counts_on(packet.payload_case(), subject)) return true;
    // Without a payload, or with one of a later protocol version, it is nobody's mistake.
    if (packet.payload_case() == cap::BusPacket::PAYLOAD_NOT_SET) return false;
    replica_.ports.metrics.add(Metric::validation_rejections);
    replica_.ports.log.event(LogLevel::warn, "packet ignored: its kind does not belong on its subject",
                             {{"subject", subject}, {"sender_id", packet.sender_id()}});
    return false;
}

}  // namespace lockstep::engine
