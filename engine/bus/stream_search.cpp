#include "engine/bus/stream_search.h"

#include <algorithm>
#include <cstdint>

namespace lockstep::engine {

Task<std::optional<StreamSequence>> first_since(StreamState stream, WallTime time, ReadFrom read) {
    std::uint64_t low = stream.first_sequence.value();  // what stands below is older
    std::uint64_t high = stream.last_sequence.next().value();
    while (low < high) {
        const std::uint64_t middle = low + (high - low) / 2;
        const auto message = co_await read(StreamSequence(middle));
        if (!message.applied()) co_return std::nullopt;
        // Numbers of which the stream holds nothing belong to the next message that it holds.
        const bool older = message.value() && message.value()->stored_at < time;
        if (older)
            low = std::min(message.value()->sequence.next().value(), high);
        else
            high = middle;
    }
    co_return StreamSequence(low);
}

}  // namespace lockstep::engine
