#include "sim/cli/parse.h"

#include <CLI/CLI.hpp>
#include <functional>
#include <sstream>
#include <utility>

#include "reports/usage/refusal.h"
#include "sim/cli/options/optional_values.h"
#include "sim/cli/options/options.h"
#include "sim/cli/version.h"

namespace lockstep::sim::cli {

namespace {

constexpr const char* kDescription =
    "Runs job-scheduler scenarios in a deterministic simulation and checks that their promises hold.\n"
    "The same file and seed give the same history, bit by bit, on every machine.";

constexpr const char* kFooter =
    "Examples:\n"
    "  lockstep run                              every scenario below scenarios/\n"
    "  lockstep run scenarios/denied.json --seeds 100\n"
    "  lockstep list faults                      what a scenario file may do\n"
    "  lockstep validate my-scenario.json\n"
    "  lockstep dev                              a deployment to try, gone with Ctrl-C\n"
    "Operator commands (submit, status, cancel, approve, dlq, workflow, ...) are handed to lockstepctl.\n"
    "Exit codes: 0 all held, 1 violated, 2 wrong input, 3 harness failed, 4 nothing proved, 5 not deterministic,\n"
    "130 interrupted.\n";

/// The whole tree; the options write into the structs beside it. Help lists the subcommands in the order in which they are added.
struct Tree {
    CLI::App app{kDescription, "lockstep"};
    TalkArgs talk;
    RunArgs run;
    ValidateArgs validate;
    VerifyArgs verify;
    ExploreArgs explore;
    EnumerateArgs enumerate;
    PowerArgs power;
    CoverageArgs coverage;
    CompareArgs compare;
    ShrinkArgs shrink;
    ReplayArgs replay;
    ExplainArgs explain;
    ListArgs list;
    std::string shell;
    const CLI::App* dev = nullptr;
    const CLI::App* manual = nullptr;

    explicit Tree(const usage::Build& build = {kVersion}) {
        usage::explain_refusals(app);
        app.footer(kFooter);
        usage::add_version_flag(app, build);
        add_talk(app, talk);
        app.require_subcommand(1);
        add(add_run(app, run), run);
        add(add_validate(app, validate), validate);
        add(add_verify(app, verify), verify);
        add(add_explore(app, explore), explore);
        add(add_enumerate(app, enumerate), enumerate);
        add(add_power(app, power), power);
        add(add_coverage(app, coverage), coverage);
        add(add_compare(app, compare), compare);
        add(add_shrink(app, shrink), shrink);
        add(add_replay(app, replay), replay);
        add(add_explain(app, explain), explain);
        add(add_list(app, list), list);
        // Another program's, which has the options; here for the help, the completion and slips of the pen.
        dev =
            app.add_subcommand("dev", "start Redis, NATS, lockstepd and workers on this machine, to try Lockstep out");
        add_completion(app, shell);
        manual = add_manual(app);
    }
    Tree(const Tree&) = delete;  // what parses into it refers to it
    Tree& operator=(const Tree&) = delete;

    /// What was asked for, once it has been parsed.
    [[nodiscard]] Command chosen() const {
        for (const auto& [sub, command] : commands_)
            if (sub->parsed()) return command();
        if (dev->parsed())
            return Print{
                "lockstep: dev has options of its own; none of these may stand before it\nSee lockstep dev --help.\n",
                true, Exit::usage};
        return Print{manual->parsed() ? manual_of(app, kVersion) : completion_of(app, shell)};
    }

private:
    template <class Args>
    void add(const CLI::App* sub, const Args& args) {
        commands_.emplace_back(sub, [&args] { return Command(args); });
    }

    std::vector<std::pair<const CLI::App*, std::function<Command()>>> commands_;
};

/// The parser's own exit codes (105, 106, 109 and so on) mean nothing to our users: help is 0, everything else wrong use.
Command explained(const CLI::App& app, const CLI::ParseError& error) {
    std::ostringstream out;
    std::ostringstream err;
    const int code = app.exit(error, out, err);
    if (code == 0) return Print{out.str()};
    return Print{err.str(), true, Exit::usage};
}

}  // namespace

Parsed parse(const std::vector<std::string>& args, const usage::Build& build) {
    Tree tree(build);
    if (args.empty()) return {Print{tree.app.help(), true, Exit::usage}};
    try {
        auto reversed = with_optional_values_settled(args);
        std::ranges::reverse(reversed);  // as the parser takes them
        tree.app.parse(std::move(reversed));
    } catch (const CLI::ParseError& error) {
        return {explained(tree.app, error)};
    }
    return {tree.chosen(), tree.talk};
}

void look_at_parser(const std::function<void(const CLI::App&)>& look) { look(Tree().app); }

std::vector<std::string> subcommands() {
    const Tree tree;
    std::vector<std::string> names;
    for (const CLI::App* sub : tree.app.get_subcommands([](const CLI::App*) { return true; }))
        names.push_back(sub->get_name());
    return names;
}

}  // namespace lockstep::sim::cli
