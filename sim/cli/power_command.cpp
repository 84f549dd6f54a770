#include <fmt/format.h>

#include <ostream>

#include "reports/atomic_file.h"
#include "sim/cli/commands.h"
#include "sim/cli/json_output.h"
#include "sim/cli/selection.h"
#include "sim/cli/terminal_line.h"
#include "sim/cli/verdict.h"
#include "sim/cli/version.h"
#include "sim/scenario/catalogue.h"
#include "sim/scenario/proof.h"
#include "sim/search/power_report.h"

namespace lockstep::sim::cli {

namespace {

class PowerMeter {
public:
    PowerMeter(const PowerArgs& args, const Environment& environment)
        : args_(args),
          environment_(environment),
          out_(talk_of(args.json == "-", environment)),
          line_(environment.err, environment.watcher) {}

    Exit run() {
        if (!mechanisms_known(args_.mechanisms, environment_, "--mechanism")) return Exit::usage;
        report_.version = kVersion;
        report_.command = command();
        report_.options = options();
        if (!read_proofs()) return Exit::usage;
        report_.outcome = measure_power(environment_.runner, report_.options);
        line_.clear();
        if (report_.outcome.interrupted) return concluded(Exit::interrupted);
        const bool written = write(args_.markdown, power_markdown(report_)) &&
                             (spoken() || write(args_.json, pretty(document(verdict()))));
        return concluded(written ? verdict() : Exit::usage);
    }

private:
    /// Whether standard output is for the document.
    [[nodiscard]] bool spoken() const { return args_.json == "-"; }

    /// The head of other documents, but for "command", which is the whole line here.
    [[nodiscard]] Document document(Exit exit) const {
        Document out = power_json(report_);
        const nlohmann::json head = document_head("power", exit, environment_);
        for (const auto& [name, value] : head.items())
            if (!out.contains(name)) out[name] = value;
        return out;
    }

    [[nodiscard]] std::string command() const {
        std::string out = "lockstep power";
        for (const std::string& mechanism : args_.mechanisms) out += " --mechanism " + mechanism;
        out += fmt::format(" --repeats {} --seeds {}", args_.repeats, args_.seeds);
        if (args_.first != 1) out += fmt::format(" --first {}", args_.first);
        if (args_.breadth > 0) out += fmt::format(" --breadth {}", args_.breadth);
        if (args_.no_shrink) out += " --no-shrink";
        return out;
    }

    [[nodiscard]] PowerOptions options() {
        PowerOptions options;
        options.mechanisms = args_.mechanisms.empty() ? names_of(mechanism_table(), true) : args_.mechanisms;
        options.first = args_.first;
        options.seeds = args_.seeds;
        options.repeats = args_.repeats;
        options.breadth = args_.breadth;
        options.shrink = !args_.no_shrink;
        options.threads = args_.threads == 0 ? environment_.processors : args_.threads;
        options.stop = environment_.stop;
        options.on_measured = [this](const MechanismPower& power) { tell(power); };
        options.on_progress = [this](const std::string& what) {
            if (line_.due()) line_.draw(what);
        };
        return options;
    }

    /// What breaks in the scenario files that prove a mechanism, each run once under its own seed.
    bool read_proofs() {
        const auto loaded = load_all(args_.paths);
        if (!loaded) {
            for (const LoadError& error : loaded.error()) environment_.err << to_string(error) << '\n';
            return false;
        }
        for (const Scenario& scenario : *loaded) {
            for (const std::string& mechanism : report_.options.mechanisms) {
                if (!proves(scenario, mechanism)) continue;
                report_.files[mechanism].push_back(scenario.name);
                const Scenario shown = scenario.proves ? counterexample_of(scenario) : scenario;
                RunOptions run;
                run.stop = environment_.stop;
                run.explain = false;
                const RunResult result = environment_.runner(shown, shown.seed, run);
                for (const Violation& violation : result.violations)
                    report_.proved[mechanism].insert(violation.invariant);
            }
        }
        return true;
    }

    void tell(const MechanismPower& power) {
        line_.clear();
        std::string searches;
        for (const PowerSearch& search : power.searches)
            searches += search.found() ? fmt::format("  {} after {} draws", search.invariant, search.draws)
                                       : fmt::format("  nothing in {} draws", search.draws);
        out_ << fmt::format("{:<26}{}\n", power.mechanism, searches);
        if (power.shrunk) out_ << fmt::format("{:<26}  shrunk to {}\n", "", to_string(*power.shrunk));
        if (!power.shrink_error.empty()) out_ << fmt::format("{:<26}  not shrunk: {}\n", "", power.shrink_error);
        out_ << std::flush;
    }

    bool write(const std::string& path, const std::string& content) const {
        if (path.empty()) return true;
        const auto done = reports::write_atomically(path, content);
        if (!done) environment_.err << "lockstep: " << done.error() << '\n';
        return done.has_value();
    }

    Exit concluded(Exit exit) const {
        Verdict verdict{.command = "power", .exit = exit, .sentence = {}, .again = {}};
        for (const MechanismPower& power : report_.outcome.mechanisms) {
            if (power.always_found()) continue;
            verdict.again = report_.command;
            verdict.problems.push_back(
                {.file = {}, .title = power.mechanism, .detail = "a search without it found nothing that fails"});
        }
        verdict.sentence =
            fmt::format("every search found a failure for {} of {} mechanisms",
                        report_.outcome.mechanisms.size() - verdict.problems.size(), report_.options.mechanisms.size());
        if (spoken()) print_document(document(exit), environment_);
        return conclude(verdict, out_, environment_);
    }

    [[nodiscard]] Exit verdict() const {
        bool all = true;
        for (const MechanismPower& power : report_.outcome.mechanisms) all = all && power.always_found();
        return all ? Exit::passed : Exit::violated;
    }

    const PowerArgs& args_;
    const Environment& environment_;
    std::ostream& out_;
    TerminalLine line_;
    PowerReport report_;
};

}  // namespace

Exit power_command(const PowerArgs& args, const Environment& environment) {
    return PowerMeter(args, environment).run();
}

}  // namespace lockstep::sim::cli
