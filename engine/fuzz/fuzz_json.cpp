#include "engine/fuzz/targets.h"
#include "engine/output/output_verdict.h"
#include "engine/store/dead_letter.h"
#include "engine/testing/fuzz_target.h"
#include "engine/wire/json.h"
#include "engine/wire/messages.h"
#include "engine/wire/packet.h"

namespace lockstep::fuzz {

namespace {

namespace wire = engine::wire;

/// What was read is written so that it reads as the same.
template <class Message>
void read_and_write(std::string_view input) {
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
    read_and_write<cap::BusPacket>(input);
    read_and_write<cap::PolicyConstraints>(input);
    if (const auto letter = engine::parse_dead_letter(input)) FUZZ_MUST(!letter->id.empty());
}

}  // namespace lockstep::fuzz
