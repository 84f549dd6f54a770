#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <ostream>

#include "reports/atomic_file.h"
#include "sim/cli/build_name.h"
#include "sim/cli/commands.h"
#include "sim/cli/json_output.h"
#include "sim/cli/selection.h"
#include "sim/cli/terminal_line.h"
#include "sim/cli/verdict.h"
#include "sim/search/enumerate.h"

namespace lockstep::sim::cli {

namespace {

/// One cell: runs, with an exclamation mark where the fault never took effect; "-" where there is no such end.
std::string cell(const CallSite& site, CallFate fate, const CallCoverage& coverage) {
    if (!possible(site, fate)) return "-";
    const std::string failures = coverage.failures > 0 ? fmt::format(" {} FAILED", coverage.failures) : "";
    return fmt::format("{}{}{}", coverage.effective,
                       coverage.effective < coverage.runs ? fmt::format("/{}", coverage.runs) : "", failures);
}

void print_table(const EnumerateOutcome& outcome, std::ostream& out) {
    std::size_t width = 4;
    for (const CallSite& site : outcome.sites) width = std::max(width, name_of(site).size());
    out << fmt::format("  {:<{}}  {:>5}", "call", width, "calls");
    for (const CallFate fate : kCallFates) out << fmt::format("  {:>12}", to_string(fate));
    out << '\n';
    for (const CallSite& site : outcome.sites) {
        out << fmt::format("  {:<{}}  {:>5}", name_of(site), width, site.count);
        const auto& row = outcome.table.at(name_of(site));
        for (const CallFate fate : kCallFates)
            out << fmt::format("  {:>12}", cell(site, fate, row[static_cast<std::size_t>(fate)]));
        out << '\n';
    }
    if (outcome.pairs.runs > 0)
        out << fmt::format("  pairs of faults: {} runs, in {} both took effect, {} failed\n", outcome.pairs.runs,
                           outcome.pairs.effective, outcome.pairs.failures);
}

/// Ends that could have come about and did in no run.
std::vector<std::string> uncovered(const EnumerateOutcome& outcome) {
    std::vector<std::string> out;
    for (const CallSite& site : outcome.sites) {
        for (const CallFate fate : kCallFates) {
            const bool covered = outcome.table.at(name_of(site))[static_cast<std::size_t>(fate)].effective > 0;
            if (possible(site, fate) && !covered) out.push_back(fmt::format("{}: {}", name_of(site), to_string(fate)));
        }
    }
    return out;
}

class Enumeration {
public:
    Enumeration(const EnumerateArgs& args, const Environment& environment)
        : args_(args),
          environment_(environment),
          out_(talk_of(args.json, environment)),
          crash_("enumerate", spoken_reports(args.json, environment), environment) {}

    Exit run() {
        const auto files = find_scenarios(args_.paths.empty() ? std::vector<std::string>{"scenarios"} : args_.paths);
        if (!files) {
            for (const LoadError& error : files.error()) environment_.err << to_string(error) << '\n';
            return Exit::usage;
        }
        if (!crash_.begin()) return Exit::usage;
        Exit exit = Exit::passed;
        for (const auto& file : *files) {
            exit = one(file);
            if (exit != Exit::passed) break;
        }
        if (exit == Exit::passed && failed_ > 0) exit = Exit::violated;
        if (exit == Exit::passed && runs_ == 0) exit = Exit::nothing_proved;
        if (args_.json && exit != Exit::usage) print_document(document(exit), environment_);
        Verdict verdict{
            .command = "enumerate", .exit = exit, .sentence = sentence(), .again = {}, .problems = problems_};
        if (!replays_.empty()) verdict.again = replays_.front();
        return conclude(verdict, out_, environment_);
    }

private:
    Exit one(const std::filesystem::path& file) {
        const auto loaded = load_replayable(file);
        if (!loaded) {
            environment_.err << loaded.error() << '\n';
            return Exit::usage;
        }
        EnumerateOptions options;
        options.occurrences = args_.occurrences;
        options.pairs = args_.pairs;
        options.threads = args_.threads == 0 ? environment_.processors : args_.threads;
        options.stop = environment_.stop;
        TerminalLine line(environment_.err, environment_.watcher);
        options.on_run = [&line](std::uint64_t done, std::uint64_t planned, const Failure*) {
            if (line.due()) line.draw(fmt::format("{} of {}", done, planned));
        };
        const std::string again = "lockstep enumerate " + shell_quoted(file.string());
        const Runner runner = [&](const Scenario& scenario, std::uint64_t seed, const RunOptions& run) {
            crash_.started(loaded->scenario.name, seed, again);
            return environment_.runner(scenario, seed, run);
        };
        const EnumerateOutcome outcome = enumerate(loaded->failure.scenario, runner, options);
        line.clear();
        out_ << loaded->scenario.name << '\n';
        scenarios_.push_back(summary_of(file.string(), loaded->scenario.name, outcome));
        if (!outcome.error.empty()) {
            out_ << "  " << outcome.error << '\n';
            return outcome.interrupted ? Exit::interrupted : Exit::passed;
        }
        print_table(outcome, out_);
        for (const std::string& end : uncovered(outcome)) out_ << "  not covered: " << end << '\n';
        uncovered_ += uncovered(outcome).size();
        add_up(outcome);
        const Exit kept = keep(loaded->scenario.name, outcome);
        return outcome.interrupted ? Exit::interrupted : kept;
    }

    void add_up(const EnumerateOutcome& outcome) {
        const auto add = [this](const CallCoverage& coverage) {
            runs_ += coverage.runs;
            failed_ += coverage.failures;
        };
        for (const auto& [name, row] : outcome.table) std::ranges::for_each(row, add);
        add(outcome.pairs);
    }

    [[nodiscard]] std::string sentence() const {
        return fmt::format("{} runs, {} failed, {} ends of calls without coverage", runs_, failed_, uncovered_);
    }

    [[nodiscard]] nlohmann::json document(Exit exit) const {
        nlohmann::json out = document_head("enumerate", exit, environment_);
        out["runs"] = runs_;
        out["failed"] = failed_;
        out["uncovered"] = uncovered_;
        out["scenarios"] = scenarios_;
        return out;
    }

    /// What the table says, without what was kept of it.
    static nlohmann::json summary_of(const std::string& file, const std::string& name,
                                     const EnumerateOutcome& outcome) {
        using nlohmann::json;
        json calls = json::array();
        for (const CallSite& site : outcome.sites) {
            json ends = json::object();
            const auto row = outcome.table.find(name_of(site));
            for (const CallFate fate : kCallFates) {
                if (!possible(site, fate) || row == outcome.table.end()) continue;
                ends[std::string(to_string(fate))] = coverage_json(row->second[static_cast<std::size_t>(fate)]);
            }
            calls.push_back({{"call", name_of(site)}, {"count", site.count}, {"ends", std::move(ends)}});
        }
        return {{"file", file},
                {"name", name},
                {"error", outcome.error},
                {"calls", std::move(calls)},
                {"pairs", coverage_json(outcome.pairs)},
                {"not_covered", outcome.error.empty() ? uncovered(outcome) : std::vector<std::string>{}},
                {"failures", json::array()}};
    }

    static nlohmann::json coverage_json(const CallCoverage& coverage) {
        return {{"runs", coverage.runs}, {"effective", coverage.effective}, {"failed", coverage.failures}};
    }

    Exit keep(const std::string& name, const EnumerateOutcome& outcome) {
        int number = 0;
        for (const auto& [signature, failure] : outcome.failures) {
            const auto path = std::filesystem::path(args_.out) / fmt::format("{}-enumerated{}.json", name, ++number);
            const std::string replay = "lockstep replay " + shell_quoted(path.string());
            out_ << fmt::format("  FAILED {}\n    {}\n    {}\n", signature, failure.origin, replay);
            replays_.push_back(replay);
            problems_.push_back({.file = path.string(),
                                 .title = fmt::format("{}: {}", name, signature.substr(0, signature.find(':'))),
                                 .detail = fmt::format("{}\n{}\nreplay: {}", signature, failure.origin, replay)});
            scenarios_.back()["failures"].push_back(failure_json(failure, path.string(), replay));
            Failure file = failure;
            file.build = build_name(environment_);
            if (const auto written = reports::write_atomically(path, failure_text(file)); !written) {
                environment_.err << "lockstep: " << written.error() << '\n';
                return Exit::usage;
            }
            if (signature.starts_with("harness:")) return Exit::harness;
        }
        return Exit::passed;
    }

    const EnumerateArgs& args_;
    const Environment& environment_;
    std::ostream& out_;
    CrashGuard crash_;
    nlohmann::json scenarios_ = nlohmann::json::array();
    std::vector<reports::Annotation> problems_;
    std::vector<std::string> replays_;
    std::uint64_t runs_ = 0;
    std::uint64_t failed_ = 0;
    std::size_t uncovered_ = 0;
};

}  // namespace

Exit enumerate_command(const EnumerateArgs& args, const Environment& environment) {
    return Enumeration(args, environment).run();
}

}  // namespace lockstep::sim::cli
