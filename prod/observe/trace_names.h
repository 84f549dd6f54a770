// Which trace a job belongs to, for log lines: the engine's events name the job, and whoever reads them looks for a trace.
//
// 1. Learnt from the packets that this process is handed, so of a job that only Redis told of nothing is known.
// 2. The last kTracesMax jobs are remembered. May be used from any thread.
#pragma once

#include <cstddef>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

namespace lockstep::prod {

class TraceNames {
public:
    static constexpr std::size_t kTracesMax = 10'000;
    /// Bytes of an id that is remembered: whoever submits chooses them.
    static constexpr std::size_t kIdMax = 200;

    /// Notes what an encoded BusPacket says. One without a trace or a job, or that is no packet, is no news.
    void learn(std::string_view packet);
    /// Empty when it is not known.
    [[nodiscard]] std::string of(std::string_view job) const;

private:
    struct Entry {
        std::string job;
        std::string trace;
    };
    void note(std::string job, std::string trace);

    mutable std::mutex mutex_;
    std::list<Entry> entries_;                                                // the latest first
    std::unordered_map<std::string_view, std::list<Entry>::iterator> known_;  // by the job in the entry
};

}  // namespace lockstep::prod
