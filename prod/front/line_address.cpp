#include "prod/front/line_address.h"

#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "engine/wire/validation.h"
#include "prod/front/durables.h"

namespace lockstep::prod {

namespace {

constexpr engine::Duration kReadBackTimeout = std::chrono::seconds(5);

}  // namespace

engine::Task<std::optional<Parcel>> line_address(engine::Bus& front, const engine::Clock& clock, const CellMap& map,
                                                 const engine::Delivery& submission) {
    std::string payload(submission.payload());
    auto packet = engine::wire::decode(payload);
    if (!packet) {
        const auto stored = co_await front.read_message(std::string(submission.stream()), submission.sequence(),
                                                        clock.in(kReadBackTimeout));
        if (!stored.applied()) co_return std::nullopt;
        if (stored.value()) payload = stored.value()->payload;
        packet = engine::wire::decode(payload);
    }
    const bool is_submission = packet && packet->payload_case() == cap::BusPacket::kJobRequest;
    const std::string_view tenant =
        is_submission ? engine::wire::tenant_of(packet->job_request()) : engine::wire::kDefaultTenant;
    std::string id = passage_id("front", submission.sequence(), payload);
    co_return Parcel{&front, line_subject(map.cell_of(tenant)), std::move(payload), std::move(id)};
}

}  // namespace lockstep::prod
