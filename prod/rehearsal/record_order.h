// What several taps have taken down side by side, in the order in which it happened: rules hold what is said against what stands
// in Redis by then, and a tap that is a few milliseconds late must not turn the two around.
#pragma once

#include <array>
#include <deque>
#include <optional>

#include "engine/runtime/time.h"
#include "prod/rehearsal/recording.h"

namespace lockstep::prod::rehearsal {

/// A tap is believed to be this late at most.
inline constexpr engine::Duration kTapLag = std::chrono::milliseconds(250);

/// When a message came by is known to that lag only, on a busy machine; Redis dates what it executes. So each message is told twice: at once,
/// before what Redis executed within the lag, and in its place, after all that may have brought it about.
class RecordOrder {
public:
    void add(std::deque<Record> records);
    /// The next record that was taken down by `until`; nothing where there is none. Those of one tap keep their order, and nothing comes
    /// between a script and what it does.
    [[nodiscard]] std::optional<Record> next(engine::WallTime until);

private:
    std::array<std::deque<Record>, std::variant_size_v<Record>> taps_;
    std::deque<BusMessage> early_;
};

/// When it was taken down, by this machine's clock.
[[nodiscard]] engine::WallTime taken_at(const Record& record);

}  // namespace lockstep::prod::rehearsal
