#include <google/protobuf/util/json_util.h>

#include "engine/fuzz/targets.h"
#include "engine/output/output_verdict.h"
#include "engine/store/dead_letter.h"
#include "engine/testing/fuzz_target.h"
#include "engine/wire/json.h"
#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "engine/wire/plain_json.h"
#include "engine/wire/validation.h"

namespace lockstep::fuzz {

namespace {

namespace wire = engine::wire;

/// What is read without protobuf is what protobuf reads.
template <class Message>
void read_plainly(std::string_view input) {
    Message ours;
    if (!wire::read_plain_json(input, ours)) return;
    Message theirs;
    FUZZ_MUST(google::protobuf::util::JsonStringToMessage({input.data(), input.size()}, &theirs).ok());
    FUZZ_MUST(wire::serialise(ours) == wire::serialise(theirs));
}

/// What was read is written so that it reads as the same.
template <class Message>
void read_and_write(std::string_view input) {
    read_plainly<Message>(input);
    const auto message = wire::from_json<Message>(input);
    if (!message) {
        FUZZ_MUST(!message.error().detail.empty());
        return;
    }
    for (const auto form : {wire::Unpopulated::omit, wire::Unpopulated::emit}) {
        const auto again = wire::from_json<Message>(wire::to_json(*message, form));
        FUZZ_MUST(again.has_value());
        FUZZ_MUST(wire::serialise(*again) == wire::serialise(*message));
    }
}

}  // namespace

void json(std::string_view input) {
    read_and_write<cap::JobRequest>(input);
    if (const auto request = wire::from_json<cap::JobRequest>(input)) {
        if (const auto reason = wire::rejection(*request)) FUZZ_MUST(!reason->empty());
        FUZZ_MUST(wire::deadline_of(*request) >= engine::Duration{0});
    }
    read_and_write<cap::BusPacket>(input);
    read_and_write<cap::PolicyConstraints>(input);
    if (const auto letter = engine::parse_dead_letter(input)) FUZZ_MUST(!letter->id.empty());
}

}  // namespace lockstep::fuzz
