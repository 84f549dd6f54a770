#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <ostream>

#include "reports/atomic_file.h"
#include "sim/cli/commands.h"
#include "sim/cli/terminal_line.h"
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
    Enumeration(const EnumerateArgs& args, const Environment& environment) : args_(args), environment_(environment) {}

    Exit run() {
        const auto files = find_scenarios(args_.paths.empty() ? std::vector<std::string>{"scenarios"} : args_.paths);
        if (!files) {
            for (const LoadError& error : files.error()) environment_.err << to_string(error) << '\n';
            return Exit::usage;
        }
        for (const auto& file : *files) {
            const Exit exit = one(file);
            if (exit == Exit::usage || exit == Exit::interrupted || exit == Exit::harness) return exit;
        }
        environment_.out << fmt::format("{} runs, {} failed, {} ends of calls without coverage\n", runs_, failed_,
                                        uncovered_);
        if (failed_ > 0) return Exit::violated;
        return runs_ == 0 ? Exit::nothing_proved : Exit::passed;
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
        TerminalLine line(environment_.err, environment_.progress);
        options.on_run = [&line](std::uint64_t done, std::uint64_t planned, const Failure*) {
            if (line.due()) line.draw(fmt::format("{} of {}", done, planned));
        };
        const EnumerateOutcome outcome = enumerate(loaded->failure.scenario, environment_.runner, options);
        line.clear();
        environment_.out << loaded->scenario.name << '\n';
        if (!outcome.error.empty()) {
            environment_.out << "  " << outcome.error << '\n';
            return outcome.interrupted ? Exit::interrupted : Exit::passed;
        }
        print_table(outcome, environment_.out);
        for (const std::string& end : uncovered(outcome)) environment_.out << "  not covered: " << end << '\n';
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

    Exit keep(const std::string& name, const EnumerateOutcome& outcome) {
        int number = 0;
        for (const auto& [signature, failure] : outcome.failures) {
            const auto path = std::filesystem::path(args_.out) / fmt::format("{}-enumerated{}.json", name, ++number);
            environment_.out << fmt::format("  FAILED {}\n    {}\n    lockstep replay {}\n", signature, failure.origin,
                                            path.string());
            if (const auto written = reports::write_atomically(path, failure_text(failure)); !written) {
                environment_.err << "lockstep: " << written.error() << '\n';
                return Exit::usage;
            }
            if (signature.starts_with("harness:")) return Exit::harness;
        }
        return Exit::passed;
    }

    const EnumerateArgs& args_;
    const Environment& environment_;
    std::uint64_t runs_ = 0;
    std::uint64_t failed_ = 0;
    std::size_t uncovered_ = 0;
};

}  // namespace

Exit enumerate_command(const EnumerateArgs& args, const Environment& environment) {
    return Enumeration(args, environment).run();
}

}  // namespace lockstep::sim::cli
