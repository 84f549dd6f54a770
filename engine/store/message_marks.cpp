#include "engine/store/message_marks.h"

#include "engine/runtime/invariant.h"
#include "engine/runtime/millis.h"

namespace lockstep::engine {

void MessageMarks::require_whole() const {
    PRECONDITION(!processed.empty() && !in_flight.empty() && !content.empty(), "marks '{}' and '{}' hold '{}'",
                 processed, in_flight, content);
    PRECONDITION(processed_life > Duration{0} && in_flight_life > Duration{0}, "mark {} lives {} ns, {} {} ns",
                 processed, processed_life.count(), in_flight, in_flight_life.count());
}

std::string MessageMarks::lives() const { return millis(in_flight_life) + ' ' + millis(processed_life); }

void MessageMarks::ask(ScriptArguments& arguments) {
    require_whole();
    standing = Standing::in_hand;
    arguments.text("processed_mark", processed)
        .text("in_flight_mark", in_flight)
        .text("mark_content", content)
        .text("mark_ttls_ms", lives());
}

void MessageMarks::settle(ScriptArguments& arguments) const {
    require_whole();
    arguments.text("processed_mark", processed)
        .text("in_flight_mark", in_flight)
        .text("mark_content", content)
        .duration_or_zero("processed_ttl_ms", processed_life);
}

}  // namespace lockstep::engine
