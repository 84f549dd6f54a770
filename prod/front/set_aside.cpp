#include "prod/front/set_aside.h"

#include <fmt/core.h>

#include "engine/expression/utf8.h"
#include "engine/store/dead_letter.h"
#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "engine/wire/subjects.h"
#include "engine/wire/validation.h"
#include "prod/front/passage.h"

namespace lockstep::prod {

namespace {

constexpr engine::Duration kLetterTimeout = std::chrono::seconds(5);

}  // namespace

engine::Task<bool> publish_letter(engine::Bus& front, const engine::Clock& clock, const engine::Delivery& delivery,
                                  std::string towards, std::string why) {
    const auto packet = engine::wire::decode(delivery.payload());
    const bool is_submission = packet && packet->payload_case() == cap::BusPacket::kJobRequest;
    const bool is_result = packet && packet->payload_case() == cap::BusPacket::kJobResult;
    engine::DeadLetter letter{.id = fmt::format("poison:{}:{}", delivery.stream(), delivery.sequence()),
                              .topic = {},
                              .status = cap::JOB_STATUS_FAILED,
                              .reason = {},
                              .reason_code = std::string(kNotRoutable)};
    // An id that no job can have may be what makes the message too large.
    const std::string_view job = is_submission ? packet->job_request().job_id()
                                 : is_result   ? packet->job_result().job_id()
                                               : std::string_view();
    if (!job.empty()) letter.id = engine::beginning_of(job, engine::wire::kIdentifierMax);
    letter.reason = fmt::format("{} {}: {}",
                                is_submission ? "the job was not submitted to"
                                : is_result   ? "a result of the job was not passed on to"
                                              : "a message was not passed on to",
                                towards, why);
    const auto told = engine::dead_letter_packet(letter, clock.now());
    std::string id = passage_id("aside:" + towards, delivery.sequence(), delivery.payload());
    const auto sent = co_await front.publish(std::string(engine::wire::kSubjectDlq), engine::wire::serialise(told),
                                             std::move(id), clock.in(kLetterTimeout));
    co_return sent.applied();
}

}  // namespace lockstep::prod
