#include "sim/model/output_word.h"

#include <nlohmann/json.hpp>

#include "engine/wire/json_text.h"

namespace lockstep::sim {

OutputRecord read_output_record(const std::string& text) {
    const auto json = engine::wire::read_json(text);
    if (!json.is_object()) return {};
    return {json.value("decision", ""), json.value("redacted_ptr", "")};
}

bool OutputWord::answered(fakes::NodeId to, std::string_view decision, EventNumber event) {
    if (!latest || latest->asker != to) return false;
    latest->answer = decision;
    latest->event = event;
    if (decision == "QUARANTINE" && latest->after_success) unrecorded = {to, event};
    return true;
}

/// Recorded; or it has succeeded once more, and its output is another one.
void OutputWord::entered(State state) {
    has_succeeded |= state == State::succeeded;
    unrecorded.reset();
}

void OutputWord::lock_taken() {
    if (latest && !has_succeeded) latest->answer.clear();
}

void OutputWord::taken_back() {
    if (latest) latest->answer.clear();
    unrecorded.reset();
}

void OutputWord::node_down(fakes::NodeId node) {
    if (latest && latest->asker == node) latest->answer.clear();
    if (unrecorded && unrecorded->by == node) unrecorded.reset();
}

}  // namespace lockstep::sim
