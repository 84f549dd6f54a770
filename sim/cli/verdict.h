// How a command ends: with its verdict on the last lines of what it says, and with what a CI system is told of it.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "reports/annotation.h"
#include "sim/cli/cli.h"
#include "sim/cli/unfinished_reports.h"

namespace lockstep::sim::cli {

struct Verdict {
    std::string command;   // the subcommand
    Exit exit{};           // what it ends with
    std::string sentence;  // what it came to, without a full stop
    std::string again;     // the command that shows the first problem again; empty = none
    std::vector<reports::Annotation> problems{};
};

/// "PASSED", "FAILED", "INTERRUPTED".
[[nodiscard]] std::string_view word_of(Exit exit);

/// Says the verdict on `say`, behind everything else; before it, in CI, the annotations. Adds the summary to that of the CI system;
/// that it cannot be written is said on `err` and changes nothing. Answers the exit code.
Exit conclude(const Verdict& verdict, std::ostream& say, const Environment& environment);

/// The part of `conclude` that is for CI, for commands that have said their verdict themselves.
void tell_ci(const Verdict& verdict, std::ostream& say, const Environment& environment);

/// Where a command talks whose one document goes to standard output.
[[nodiscard]] std::ostream& talk_of(bool json, const Environment& environment);

/// Reports that a crash of the code under test completes while this lives, and the note that names the run that crashed. For
/// commands that write no report to files that is the one document on standard output, if there is to be one, and what a CI
/// system is told.
class CrashGuard {
public:
    CrashGuard(const std::string& command, ReportTargets targets, const Environment& environment);
    ~CrashGuard();
    CrashGuard(const CrashGuard&) = delete;
    CrashGuard& operator=(const CrashGuard&) = delete;

    /// False, and a sentence on `err`, when a report cannot be written.
    [[nodiscard]] bool begin();
    /// On the thread that makes the run, before it does.
    void started(const reports::RunRecord& run) const;
    void started(const std::string& name, std::uint64_t seed, const std::string& replay) const;
    /// After each run, one at a time.
    void add(const reports::RunRecord& run) { reports_.add(run); }

private:
    const Environment& environment_;
    UnfinishedReports reports_;
};

/// For commands that write no report to files.
[[nodiscard]] ReportTargets spoken_reports(bool json, const Environment& environment);

}  // namespace lockstep::sim::cli
