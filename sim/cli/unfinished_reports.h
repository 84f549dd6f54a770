// Reports of runs that are still being made, so that a crash of the code under test leaves files that say so. From the start there is
// a document that calls itself incomplete; beside it grows one with what is known (`FILE.partial`), which a signal's handler
// completes with the run that crashed and puts in its place. After an end without a crash the whole report takes both places.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "reports/run_report.h"

namespace lockstep::sim::cli {

/// Where reports go; empty = nowhere.
struct ReportTargets {
    std::string junit;
    std::string json;          // "-" = standard output
    std::string step_summary;  // appended to; with it goes an annotation, in the output
};

class UnfinishedReports {
public:
    /// `build` is the program's, `command` the subcommand.
    UnfinishedReports(ReportTargets targets, std::string command, std::string build);
    ~UnfinishedReports();
    UnfinishedReports(const UnfinishedReports&) = delete;
    UnfinishedReports& operator=(const UnfinishedReports&) = delete;

    /// Before the first run. The error names a file that cannot be written.
    [[nodiscard]] tl::expected<void, std::string> begin();
    /// On the thread that makes the run, before it does: what is known of it.
    void started(const reports::RunRecord& run) const;
    /// After each run, one at a time.
    void add(const reports::RunRecord& run);
    /// On the thread that crashed; safe in a signal's handler. `by` names what ended it.
    void crashed(const char* by) const;

private:
    enum class Kind : std::uint8_t { junit, json, summary, annotation };
    static constexpr std::size_t kKinds = 4;

    /// One document that a crash completes.
    struct Spool {
        Kind kind{};
        int file = -1;
        std::string partial;  // becomes `target`; empty: what was written stays where it is
        std::string target;
    };

    [[nodiscard]] tl::expected<void, std::string> add_report(Kind kind, const std::string& path);
    void add_spool(Spool spool);
    [[nodiscard]] std::string opening(Kind kind) const;
    [[nodiscard]] std::string crash_note(Kind kind, const reports::RunRecord& run) const;
    void close_json(int file) const;

    const ReportTargets targets_;
    const std::string command_;
    const std::string build_;
    std::vector<Spool> spools_;
    std::atomic<std::uint64_t> passed_ = 0;
    std::atomic<std::uint64_t> failed_ = 0;
};

}  // namespace lockstep::sim::cli
