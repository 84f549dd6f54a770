#include "sim/cli/unfinished_reports.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "reports/annotation.h"
#include "reports/atomic_file.h"
#include "reports/junit.h"
#include "reports/result_json.h"
#include "reports/step_summary.h"

namespace lockstep::sim::cli {

namespace {

namespace fs = std::filesystem;
using reports::RunRecord;

/// Stands for the name of what ends the process, which only the handler knows. No form that a note is written in escapes it.
constexpr std::string_view kKiller = "$KILLER$";

constexpr const char* kNotEnded = "the runs have not ended: they go on, or the process was killed and could not say so";
constexpr const char* kCrashed = "the process crashed before every run was made";

/// Of one thread: what a document says of the run that it makes. Fixed in size and allocated with the thread, because a handler can
/// trust nothing else. Why 16 KiB: a path of the greatest length, as text of XML.
struct RunNote {
    std::array<char, 16 * 1024> text{};
    std::size_t size = 0;

    [[nodiscard]] bool put(std::string_view what) {
        if (what.size() > text.size()) return false;
        std::ranges::copy(what, text.begin());
        size = what.size();
        return true;
    }
    [[nodiscard]] std::string_view view() const { return {text.data(), size}; }
};
thread_local std::array<RunNote, 4> run_notes;

/// Safe in a handler. What cannot be written is lost: nobody is left to be told.
void put_bytes(int file, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(file, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return;
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
}

void put_number(int file, std::uint64_t number) {
    std::array<char, 20> digits{};
    std::size_t at = digits.size();
    do {
        digits[--at] = static_cast<char>('0' + number % 10);
        number /= 10;
    } while (number > 0);
    put_bytes(file, {digits.data() + at, digits.size() - at});
}

void put_note(int file, std::string_view note, std::string_view killer) {
    for (std::size_t at = note.find(kKiller); at != std::string_view::npos; at = note.find(kKiller)) {
        put_bytes(file, note.substr(0, at));
        put_bytes(file, killer);
        note.remove_prefix(at + kKiller.size());
    }
    put_bytes(file, note);
}

/// From the beginning of one file to the end of the other.
void copy_file(int from, int to) {
    if (::lseek(from, 0, SEEK_SET) != 0) return;
    std::array<char, 4096> buffer{};
    for (ssize_t got = ::read(from, buffer.data(), buffer.size()); got > 0;
         got = ::read(from, buffer.data(), buffer.size()))
        put_bytes(to, {buffer.data(), static_cast<std::size_t>(got)});
}

/// A file without a name.
int nameless_file() {
    std::error_code error;
    std::string name = (fs::temp_directory_path(error) / "lockstep-XXXXXX").string();
    const int file = ::mkostemp(name.data(), O_CLOEXEC);
    if (file >= 0) ::unlink(name.c_str());
    return file;
}

RunRecord crashed_run(const RunRecord& run) {
    RunRecord out = run;
    out.passed = false;
    out.crashed = true;
    out.error = fmt::format("the process was killed by {} in this run", kKiller);
    return out;
}

}  // namespace

UnfinishedReports::UnfinishedReports(ReportTargets targets, std::string command, std::string build)
    : targets_(std::move(targets)), command_(std::move(command)), build_(std::move(build)) {
    static_assert(std::tuple_size_v<decltype(run_notes)> == kKinds);
}

UnfinishedReports::~UnfinishedReports() {
    for (const Spool& spool : spools_) {
        if (spool.kind != Kind::annotation) ::close(spool.file);
        if (!spool.partial.empty()) ::unlink(spool.partial.c_str());
    }
}

tl::expected<void, std::string> UnfinishedReports::begin() {
    if (const auto added = add_report(Kind::junit, targets_.junit); !added) return added;
    if (targets_.json == "-") {
        add_spool({.kind = Kind::json, .file = nameless_file(), .partial = {}, .target = "-"});
    } else if (const auto added = add_report(Kind::json, targets_.json); !added) {
        return added;
    }
    if (!targets_.step_summary.empty()) {
        const int file = ::open(targets_.step_summary.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
        add_spool({.kind = Kind::summary, .file = file, .partial = {}, .target = {}});
        add_spool({.kind = Kind::annotation,
                   .file = targets_.json == "-" ? STDERR_FILENO : STDOUT_FILENO,
                   .partial = {},
                   .target = {}});
    }
    return {};
}

tl::expected<void, std::string> UnfinishedReports::add_report(Kind kind, const std::string& path) {
    if (path.empty()) return {};
    std::error_code error;
    // What is no file, such as /dev/stdout, gets one document, at the end.
    if (fs::exists(path, error) && !fs::is_regular_file(path, error)) return {};
    const reports::RunReport nothing_yet{
        .results = {}, .vacuous = {}, .unreached = {}, .build = build_, .incomplete = kNotEnded};
    const auto written = reports::write_atomically(
        path, kind == Kind::junit ? reports::junit_xml(nothing_yet) : reports::result_json(nothing_yet));
    if (!written) return written;
    const std::string target = fs::canonical(path, error).string();
    const std::string partial = target + ".partial";
    const int file = ::open(partial.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0)
        return tl::make_unexpected(fmt::format("cannot write {}: {}", partial, std::generic_category().message(errno)));
    add_spool({.kind = kind, .file = file, .partial = partial, .target = target});
    return {};
}

void UnfinishedReports::add_spool(Spool spool) {
    if (spool.file < 0) return;
    put_bytes(spool.file, opening(spool.kind));
    spools_.push_back(std::move(spool));
}

std::string UnfinishedReports::opening(Kind kind) const {
    if (kind == Kind::junit) return reports::junit_opening();
    return kind == Kind::json ? reports::result_json_opening(build_, kCrashed) : "";
}

void UnfinishedReports::started(const RunRecord& run) const {
    RunRecord shorter;  // for names that no file has
    shorter.name = run.name.substr(0, 200);
    shorter.seed = run.seed;
    for (const Spool& spool : spools_) {
        RunNote& note = run_notes[static_cast<std::size_t>(spool.kind)];
        if (!note.put(crash_note(spool.kind, run))) (void)note.put(crash_note(spool.kind, shorter));
    }
}

std::string UnfinishedReports::crash_note(Kind kind, const RunRecord& run) const {
    const RunRecord crashed = crashed_run(run);
    if (kind == Kind::junit) return reports::junit_suite(crashed);
    if (kind == Kind::json) return reports::record_json(crashed);
    const std::vector<reports::Annotation> problems{
        {.file = run.file,
         .title = fmt::format("{} seed {}: crash", run.name, run.seed),
         .detail = fmt::format("{}\nreplay: {}", crashed.error, run.replay)}};
    if (kind == Kind::annotation) return reports::error_annotations(problems);
    return reports::step_summary_markdown({.title = fmt::format("lockstep {}: CRASHED", command_),
                                           .sentence = kCrashed,
                                           .problems = problems,
                                           .again = run.replay,
                                           .build = build_});
}

void UnfinishedReports::add(const RunRecord& run) {
    (run.passed ? passed_ : failed_).fetch_add(1);
    for (const Spool& spool : spools_) {
        // In one piece: a handler on another thread may write at any time.
        if (spool.kind == Kind::junit) put_bytes(spool.file, reports::junit_suite(run));
        if (spool.kind == Kind::json) put_bytes(spool.file, reports::record_json(run) + ",\n");
    }
}

void UnfinishedReports::crashed(const char* by) const {
    const std::string_view killer(by, std::strlen(by));
    for (const Spool& spool : spools_) {
        put_note(spool.file, run_notes[static_cast<std::size_t>(spool.kind)].view(), killer);
        if (spool.kind == Kind::junit) put_bytes(spool.file, reports::kJunitClosing);
        if (spool.kind == Kind::json) close_json(spool.file);
        if (!spool.partial.empty()) ::rename(spool.partial.c_str(), spool.target.c_str());
        if (spool.target == "-") copy_file(spool.file, STDOUT_FILENO);
    }
}

void UnfinishedReports::close_json(int file) const {
    put_bytes(file, "\n],\n\"passed\": ");
    put_number(file, passed_.load());
    put_bytes(file, ",\n\"failed\": ");
    put_number(file, failed_.load() + 1);
    put_bytes(file, "\n}\n");
}

}  // namespace lockstep::sim::cli
