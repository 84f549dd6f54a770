#include <fmt/format.h>

#include <optional>
#include <ostream>

#include "reports/atomic_file.h"
#include "sim/cli/commands.h"
#include "sim/cli/json_output.h"
#include "sim/cli/terminal_line.h"
#include "sim/cli/verdict.h"
#include "sim/scenario/text_file.h"
#include "sim/search/cannot_happen.h"
#include "sim/search/coverage_report.h"

namespace lockstep::sim::cli {

namespace {

class CoverageMeter {
public:
    CoverageMeter(const CoverageArgs& args, const Environment& environment)
        : args_(args), environment_(environment), out_(talk_of(args.json, environment)) {}

    Exit run() {
        std::optional<CoverageTable> table;
        if (!args_.against.empty()) {
            auto read = read_table();
            if (!read) return Exit::usage;
            table = std::move(*read);
        }
        Coverage plain = measure({});
        std::optional<Coverage> losing;
        if (args_.data_loss && !plain.interrupted) losing = measure({.redis = true, .nats = true});
        if (plain.interrupted || (losing && losing->interrupted)) {
            if (args_.json) print_document(document_head("coverage", Exit::interrupted, environment_), environment_);
            return conclude(
                {.command = "coverage", .exit = Exit::interrupted, .sentence = "not every draw was made", .again = {}},
                out_, environment_);
        }
        const CoverageReport report = coverage_report(command(), std::move(plain), std::move(losing));
        if (!write(coverage_markdown(report))) return Exit::usage;
        return tell(report, table ? coverage_complaints(report, *table) : coverage_complaints(report));
    }

private:
    std::optional<CoverageTable> read_table() {
        const auto text = text_of_file(args_.against);
        if (!text) {
            environment_.err << fmt::format("lockstep: {} cannot be read\n", args_.against);
            return std::nullopt;
        }
        auto table = parse_coverage_markdown(*text);
        if (!table) {
            environment_.err << fmt::format("lockstep: {} is no table of `lockstep coverage --markdown`: {}\n",
                                            args_.against, table.error());
            return std::nullopt;
        }
        return std::move(*table);
    }

    [[nodiscard]] Coverage measure(DataLoss data_loss) const {
        CoverageOptions options;
        options.first = args_.first;
        options.seeds = args_.seeds;
        options.data_loss = data_loss;
        options.threads = args_.threads == 0 ? environment_.processors : args_.threads;
        options.stop = environment_.stop;
        TerminalLine line(environment_.err, environment_.watcher);
        options.on_progress = [&](std::uint64_t draws) {
            if (line.due())
                line.draw(
                    fmt::format("{} of {} draws{}", draws, args_.seeds, data_loss.any() ? ", with loss of data" : ""));
        };
        Coverage out = measure_coverage(environment_.runner, options);
        line.clear();
        return out;
    }

    [[nodiscard]] std::string command() const {
        std::string out = fmt::format("lockstep coverage --seeds {}", args_.seeds);
        if (args_.first != 1) out += fmt::format(" --first {}", args_.first);
        if (args_.data_loss) out += " --data-loss";
        return out;
    }

    [[nodiscard]] bool write(const std::string& page) const {
        if (args_.markdown.empty()) return true;
        const auto done = reports::write_atomically(args_.markdown, page);
        if (!done) environment_.err << "lockstep: " << done.error() << '\n';
        return done.has_value();
    }

    void tell_failed(const Coverage& measured, std::string_view option) const {
        for (const std::uint64_t draw : measured.failed)
            out_ << fmt::format("draw {} failed: lockstep explore --first {} --seeds 1{}\n", draw, draw, option);
    }

    [[nodiscard]] Exit tell(const CoverageReport& report, const std::vector<std::string>& complaints) const {
        for (const std::string& group : coverage_groups()) {
            std::size_t known = 0;
            std::size_t met = 0;
            for (const CoverageItem& item : report.items) {
                if (item.group != group) continue;
                ++known;
                const bool lost = report.losing && report.losing->of(item) > 0;
                met += report.plain.of(item) > 0 || lost ? 1 : 0;
            }
            out_ << fmt::format("{:<36}{:>4} of {}\n", group, met, known);
        }
        tell_failed(report.plain, "");
        if (report.losing) tell_failed(*report.losing, " --data-loss");
        for (const std::string& complaint : complaints) out_ << complaint << '\n';
        Verdict verdict{.command = "coverage",
                        .exit = complaints.empty() ? Exit::passed : Exit::violated,
                        .sentence = fmt::format("{} of what is documented is not as it should be", complaints.size()),
                        .again = {}};
        if (complaints.empty()) verdict.sentence = "what is documented is reached, or cannot happen";
        for (const std::string& complaint : complaints)
            verdict.problems.push_back({.file = args_.against, .title = "coverage", .detail = complaint});
        if (args_.json) print_document(document(report, complaints, verdict.exit), environment_);
        return conclude(verdict, out_, environment_);
    }

    [[nodiscard]] nlohmann::json document(const CoverageReport& report, const std::vector<std::string>& complaints,
                                          Exit exit) const {
        using nlohmann::json;
        json out = document_head("coverage", exit, environment_);
        const auto losing = [&report](const auto& value) {
            return report.losing ? json(value(*report.losing)) : json();
        };
        out["again"] = report.command;
        out["draws"] = report.plain.draws;
        out["losing_draws"] = losing([](const Coverage& coverage) { return coverage.draws; });
        out["failed"] = report.plain.failed;
        out["losing_failed"] = losing([](const Coverage& coverage) { return coverage.failed; });
        out["complaints"] = complaints;
        out["items"] = json::array();
        for (const CoverageItem& item : report.items) {
            const CannotHappen* excused = find_cannot_happen(item);
            out["items"].push_back(
                {{"group", item.group},
                 {"name", item.name},
                 {"draws", report.plain.of(item)},
                 {"losing_draws", losing([&](const Coverage& coverage) { return coverage.of(item); })},
                 {"cannot_happen", excused == nullptr ? json() : json(excused->why)}});
        }
        return out;
    }

    const CoverageArgs& args_;
    const Environment& environment_;
    std::ostream& out_;
};

}  // namespace

Exit coverage_command(const CoverageArgs& args, const Environment& environment) {
    return CoverageMeter(args, environment).run();
}

}  // namespace lockstep::sim::cli
