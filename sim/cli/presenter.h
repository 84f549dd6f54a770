// What `lockstep run` shows a person: a line for each scenario that did not hold, as it completes; how much was run and checked; what was
// left unproved; and for each failure its story and the line that replays it. With -v also all of what holds.
#pragma once

#include <chrono>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "sim/cli/failed_alike.h"
#include "sim/cli/selection.h"

namespace lockstep::sim::cli {

class Presenter {
public:
    /// All outlive it.
    Presenter(const Selection& selection, const SelectionArgs& args, const Environment& environment);

    void begin(unsigned threads);
    /// After each run, in any order. Answers whether lines have become due: they appear in the order of the selection, so
    /// that a scenario may wait for another. The result must stay where it is until `finish`, which takes them from the
    /// outcome.
    [[nodiscard]] bool completed(const PlannedRun& run, const RunResult& result);
    /// Writes the lines that are due.
    void show();
    /// `unproved`: all sentences of the selection.
    void finish(const SweepOutcome& outcome, const std::vector<std::string>& unproved, std::chrono::milliseconds wall);

private:
    struct File {
        std::size_t planned = 0;
        std::vector<const RunResult*> results;
    };

    [[nodiscard]] bool due() const;
    void file_line(std::size_t index);
    /// Lines that have not been due yet, and the summary.
    void account(const SweepOutcome& outcome, std::chrono::milliseconds wall);
    void in_short(const SweepOutcome& outcome);
    /// Of files that hold.
    void warnings();
    void checked(const SweepOutcome& outcome);
    void disturbed(const SweepOutcome& outcome);
    void failures(const SweepOutcome& outcome);
    void failure(const FailedAlike& failed);
    [[nodiscard]] std::string heading(const FailedAlike& failed) const;
    [[nodiscard]] std::string replay(const FailedAlike& failed, std::string_view subcommand = "run") const;
    [[nodiscard]] std::string painted(const char* colour, const std::string& text) const;

    const Selection& selection_;
    const SelectionArgs& args_;
    const Environment& environment_;
    const std::string build_;
    std::ostream& out_;
    std::vector<File> files_;
    std::size_t shown_ = 0;  // files whose line has been written
    std::size_t name_width_ = 0;
};

/// "2h05m", "12m30s", "1.5s": for people, at most two units.
[[nodiscard]] std::string human_duration(std::int64_t millis);

}  // namespace lockstep::sim::cli
