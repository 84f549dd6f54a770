#include "sim/page/noise.h"

namespace lockstep::sim {

namespace {

using fakes::EventKind;

bool is_unknown_script(const History& history, const HistoryEvent& event) {
    return event.kind == EventKind::redis && history.text(event.reply).starts_with("-NOSCRIPT");
}

}  // namespace

std::vector<bool> noise_of(const History& history, const Causality& causality) {
    std::vector<bool> noise(history.events.size());
    for (EventIndex i = 0; i < noise.size(); ++i) {
        const HistoryEvent& event = history.events[i];
        if (event.kind == EventKind::in_progress) noise[i] = true;
        if (!is_unknown_script(history, event)) continue;
        // The answer, where it was given, and the call that it is to.
        for (EventIndex part = i; part != kNoEvent; part = causality.parent(part, Cause::message)) {
            if (history.events[part].kind != EventKind::redis) break;
            noise[part] = true;
        }
    }
    return noise;
}

}  // namespace lockstep::sim
