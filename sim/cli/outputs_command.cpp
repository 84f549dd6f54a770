#include <fmt/format.h>

#include <map>
#include <ostream>

#include "reports/atomic_file.h"
#include "sim/cli/commands.h"
#include "sim/cli/selection.h"
#include "sim/cli/terminal_line.h"
#include "sim/cli/verdict.h"
#include "sim/rules/outputs.h"
#include "sim/scenario/loader.h"
#include "sim/search/draw.h"
#include "sim/search/output_proof.h"

namespace lockstep::sim::cli {

namespace {

constexpr std::string_view kByNobody = "-";

std::string judged_text(const OutputProof& proof) {
    std::string text;
    for (const auto& [how, by] : proof.noticed_by)
        text += fmt::format("{}{}={}", text.empty() ? "" : " ", name_of(how), by.empty() ? kByNobody : by);
    return text;
}

class OutputsMeter {
public:
    OutputsMeter(const OutputsArgs& args, const Environment& environment) : args_(args), environment_(environment) {}

    Exit run() {
        if (args_.share >= args_.shares) {
            environment_.err << fmt::format("lockstep: there is no share {} of {}: --share counts from 0\n",
                                            args_.share, args_.shares);
            return Exit::usage;
        }
        auto loaded = load_all(args_.paths);
        if (!loaded) return conclude(wrong_input("outputs", loaded.error()), environment_.out, environment_);
        for (std::uint64_t number = 1; number <= args_.draws; ++number)
            if (auto drawn = parse_document(draw_scenario(number, {}), "draw")) loaded->push_back(std::move(*drawn));
        const std::vector<OutputProof> proofs = prove(std::move(*loaded));
        if (environment_.stop != nullptr && *environment_.stop)
            return conclude({.command = "outputs",
                             .exit = Exit::interrupted,
                             .sentence = "not every output was tried",
                             .again = {}},
                            environment_.out, environment_);
        for (const OutputProof& proof : proofs) judge(proof);
        if (!args_.write.empty()) {
            const auto done = reports::write_atomically(args_.write, page(proofs));
            if (!done) environment_.err << "lockstep: " << done.error() << '\n';
            if (!done) return Exit::usage;
        }
        return tell(proofs);
    }

private:
    [[nodiscard]] std::vector<OutputProof> prove(std::vector<Scenario> scenarios) const {
        OutputProofOptions options;
        options.scenarios = std::move(scenarios);
        options.share = args_.share;
        options.shares = args_.shares;
        options.threads = args_.threads == 0 ? environment_.processors : args_.threads;
        options.stop = environment_.stop;
        // Values that no invariant notices, by the register, cost most to try, and fail nothing.
        if (args_.write.empty())
            options.wanted = [](std::string_view output, Corruption::How how) {
                const RegisteredOutput* known = find_output(output);
                return known == nullptr || known->is_noticed(name_of(how));
            };
        TerminalLine line(environment_.err, environment_.watcher);
        options.on_progress = [&](std::size_t done, std::size_t all) {
            if (line.due()) line.draw(fmt::format("{} of {} outputs", done, all));
        };
        auto proofs = prove_outputs(environment_.runner, std::move(options));
        line.clear();
        return proofs;
    }

    void judge(const OutputProof& proof) {
        const RegisteredOutput* known = find_output(proof.output);
        if (known == nullptr) complaints_.push_back(fmt::format("{} is in no entry of the register", proof.output));
        if (known == nullptr || !known->opaque.empty()) return;
        for (const auto& [how, by] : proof.noticed_by) {
            ++tried_;
            if (!by.empty()) ++noticed_;
            if (by.empty() && known->is_noticed(name_of(how)))
                complaints_.push_back(fmt::format("nobody notices when {} is {}; the register says: {}", proof.output,
                                                  name_of(how), known->judged));
        }
    }

    /// With what else the register has: reasons, and outputs that none of these runs has.
    [[nodiscard]] static std::string page(const std::vector<OutputProof>& proofs) {
        std::map<std::string, std::string> lines;
        for (const RegisteredOutput& known : registered_outputs())
            lines[std::string(known.name)] =
                known.opaque.empty() ? std::string(known.judged) : fmt::format("opaque: {}", known.opaque);
        for (const OutputProof& proof : proofs) {
            std::string& line = lines[proof.output];
            if (!line.starts_with("opaque: ")) line = judged_text(proof);
        }
        std::string text;
        for (const auto& [name, line] : lines) text += fmt::format("{}\t{}\n", name, line);
        return text;
    }

    [[nodiscard]] Exit tell(const std::vector<OutputProof>& proofs) const {
        for (const std::string& complaint : complaints_) environment_.out << complaint << '\n';
        if (tried_ == 0 && complaints_.empty())
            return conclude({.command = "outputs",
                             .exit = Exit::nothing_proved,
                             .sentence = "no run that raises no alarm by itself has such an output",
                             .again = {}},
                            environment_.out, environment_);
        Verdict verdict{.command = "outputs",
                        .exit = complaints_.empty() ? Exit::passed : Exit::violated,
                        .sentence = fmt::format("{} outputs; of {} that were shown wrong {} are noticed", proofs.size(),
                                                tried_, noticed_),
                        .again = {}};
        for (const std::string& complaint : complaints_)
            verdict.problems.push_back({.file = "sim/rules/outputs.txt", .title = "outputs", .detail = complaint});
        return conclude(verdict, environment_.out, environment_);
    }

    const OutputsArgs& args_;
    const Environment& environment_;
    std::vector<std::string> complaints_;
    int tried_ = 0;
    int noticed_ = 0;
};

}  // namespace

Exit outputs_command(const OutputsArgs& args, const Environment& environment) {
    return OutputsMeter(args, environment).run();
}

}  // namespace lockstep::sim::cli
