#include "engine/store/message_marks.h"

namespace lockstep::engine {

void MessageMarks::ask(ScriptArguments& arguments) {
    standing = Standing::in_hand;
    arguments.text("processed_mark", processed)
        .text("in_flight_mark", in_flight)
        .text("mark_content", content)
        .duration_or_zero("in_flight_ttl_ms", in_flight_life);
}

void MessageMarks::settle(ScriptArguments& arguments) const {
    arguments.text("processed_mark", processed)
        .text("in_flight_mark", in_flight)
        .text("mark_content", content)
        .duration_or_zero("processed_ttl_ms", processed_life);
}

}  // namespace lockstep::engine
