#include "sim/run/result_reader.h"

#include <fmt/core.h>

#include <utility>

#include "engine/wire/messages.h"
#include "engine/wire/subjects.h"
#include "sim/model/job_keys.h"

namespace lockstep::sim {

namespace {

namespace wire = engine::wire;

constexpr engine::Duration kBindTimeout = std::chrono::seconds{10};

std::string durable() { return wire::durable_name(kQueueResultReader, wire::kSubjectResult); }

}  // namespace

ResultReader::ResultReader(const engine::Ports& ports, engine::Tunables tunables, const engine::Mechanisms& mechanisms)
    : context_(ports, std::move(tunables), mechanisms),
      letters_(ports.redis, ports.clock, context_.tunables, scripts_),
      dead_letters_(context_, letters_),
      pump_(context_, scripts_, letters_, dead_letters_, *this, durable()),
      background_(ports.executor) {}

engine::Task<tl::expected<void, std::string>> ResultReader::start() {
    engine::ConsumerSpec spec;
    spec.stream = wire::kStreamSys;
    spec.subject = wire::kSubjectResult;
    spec.queue = kQueueResultReader;
    spec.durable = durable();
    spec.ack_wait = context_.tunables.bus_ack_wait;
    spec.max_deliver = static_cast<int>(context_.tunables.bus_max_deliver);
    spec.max_ack_pending = static_cast<int>(context_.tunables.bus_max_ack_pending);
    auto bound = co_await context_.ports.bus.consume(std::move(spec), pump_, context_.ports.clock.in(kBindTimeout));
    if (!bound.applied()) co_return tl::make_unexpected(bound.failure().detail);
    consumer_ = std::move(bound.value());
    background_.spawn(pump_.keep_alive());
    co_return tl::expected<void, std::string>{};
}

engine::Task<engine::Disposition> ResultReader::handle(cap::BusPacket packet, engine::Origin) {
    if (!packet.has_job_result()) co_return engine::Disposition::done();
    const cap::JobResult& result = packet.job_result();
    engine::RedisCommand keep{"RPUSH", read_results_key(result.job_id()),
                              fmt::format("{} {}", cap::JobStatus_Name(result.status()), result.worker_id())};
    const auto kept = co_await context_.ports.redis.command(
        std::move(keep), context_.ports.clock.in(context_.tunables.store_op_timeout));
    if (!kept.applied() || kept.value().error() != nullptr)
        co_return engine::Disposition::hand_back(context_.tunables.retry_delay_store);
    co_return engine::Disposition::done();
}

engine::Task<void> ResultReader::drain() {
    context_.stopping = true;
    consumer_.reset();
    co_await pump_.drain(context_.ports.clock.in(context_.tunables.shutdown_grace));
    background_.cancel();
}

}  // namespace lockstep::sim
