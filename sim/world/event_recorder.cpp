#include "sim/world/event_recorder.h"

#include <xxhash.h>

#include "sim/world/trace_file.h"

namespace lockstep::sim {

void EventRecorder::on_digested(std::uint64_t number, std::string_view bytes, const fakes::Event& event, Time now) {
    if (wanted_.hashes) recorded_.hashes.push_back(XXH3_64bits(bytes.data(), bytes.size()));
    if (number != wanted_.event) return;
    RecordedEvent& kept = recorded_.event.emplace();
    kept.ns = now.time_since_epoch().count();
    if (event.node.valid()) kept.node = topology_.name(event.node);
    append_event_json(event, now, topology_, kept.text);
    kept.bytes = bytes;
}

}  // namespace lockstep::sim
