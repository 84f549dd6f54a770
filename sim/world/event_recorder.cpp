#include "sim/world/event_recorder.h"

#include <xxhash.h>

#include <utility>

#include "sim/world/trace_file.h"

namespace lockstep::sim {

void EventRecorder::on_digested(std::uint64_t number, std::string_view bytes, const fakes::Event& event, Time now) {
    if (wanted_.hashes) recorded_.hashes.push_back(XXH3_64bits(bytes.data(), bytes.size()));
    if (number < wanted_.first || number > wanted_.last) return;
    RecordedEvent kept{.number = number, .ns = now.time_since_epoch().count(), .bytes = std::string(bytes)};
    if (event.node.valid()) kept.node = topology_.name(event.node);
    append_event_json(event, now, topology_, kept.text);
    recorded_.events.push_back(std::move(kept));
}

}  // namespace lockstep::sim
