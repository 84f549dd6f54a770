#include "engine/testing/fuzz_target.h"
#include "prod/fuzz/targets.h"
#include "prod/nats/jetstream_api.h"

namespace lockstep::fuzz {

void jetstream(std::string_view input) {
    using namespace prod::jetstream;
    (void)parse_publish_ack(input);
    (void)parse_status(input);
    (void)parse_stream_state(input);
    (void)parse_consumer_state(input);
    (void)parse_stored_message(input);
    const engine::ConsumerSpec wanted{.stream = "S", .subject = "s", .queue = "q", .durable = "d"};
    (void)parse_consumer(input, wanted);
    if (const auto delivery = parse_ack_subject(input)) FUZZ_MUST(input.starts_with("$JS.ACK."));
}

}  // namespace lockstep::fuzz
