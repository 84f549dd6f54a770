// What `lockstep run` shows a person: a line per scenario as it completes, then a summary of what was checked, what was
// disturbed and what was left unproved, and behind it each failure with its story and the line that replays it.
#pragma once

#include <chrono>
#include <iosfwd>
#include <string>
#include <vector>

#include "sim/cli/selection.h"

namespace lockstep::sim::cli {

class Presenter {
public:
    /// `selection` must outlive it. Writes to `out`; colour only when asked for. `build` is the program's.
    /// `quiet`: only what is wrong.
    Presenter(const Selection& selection, const SelectionArgs& args, std::string build, std::ostream& out, bool colour,
              bool quiet);

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
    void checked(const SweepOutcome& outcome);
    void disturbed(const SweepOutcome& outcome);
    void failures(const SweepOutcome& outcome);
    void failure(const Scenario& scenario, const RunResult& result);
    [[nodiscard]] std::string painted(const char* colour, const std::string& text) const;

    const Selection& selection_;
    const SelectionArgs& args_;
    const std::string build_;
    std::ostream& out_;
    const bool colour_;
    const bool quiet_;
    std::vector<File> files_;
    std::size_t shown_ = 0;  // files whose line has been written
    std::size_t name_width_ = 0;
};

/// "2h05m", "12m30s", "1.5s": for people, at most two units.
[[nodiscard]] std::string human_duration(std::int64_t millis);

}  // namespace lockstep::sim::cli
