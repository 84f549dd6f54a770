// Writes lines to a descriptor on a thread of its own, so that a reader who stalls (a full pipe, a terminal on hold, a slow disk)
// costs lines, and never the caller's time.
//
// 1. Lines wait in a queue that is bounded in bytes. One that finds no room is dropped and counted; so is what the descriptor
//    refuses.
// 2. At the end, and where it is asked to, it waits for what is queued, but no longer than kLastWords. A write that is stuck then is
//    left to the end of the process.
// 3. May be used from any thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace lockstep::prod {

class LogWriter {
public:
    /// A thousand lines of the usual length: more than a process says while its reader is merely slow, and little memory.
    static constexpr std::size_t kQueueBytesMax = 256 * 1024;
    static constexpr std::chrono::seconds kLastWords{1};

    /// The descriptor stays its owner's, and is open for as long as the process where a write may be stuck.
    explicit LogWriter(int descriptor);
    ~LogWriter();
    LogWriter(const LogWriter&) = delete;
    LogWriter& operator=(const LogWriter&) = delete;

    /// `line` without its line break. Never waits for the descriptor.
    void put(std::string line);
    /// Waits until what was put has been written; up to kLastWords.
    void flush();

    /// Whether all that was put has been written or dropped: the descriptor takes lines.
    [[nodiscard]] bool idle() const;
    /// Lines that were dropped, ever.
    [[nodiscard]] std::uint64_t lost() const;

private:
    struct State;
    /// Shared with the thread, which a stuck write may keep for longer than this lives.
    std::shared_ptr<State> state_;
};

}  // namespace lockstep::prod
