#include "sim/cli/parse.h"

#include <fmt/format.h>

#include <functional>
#include <utility>

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
    usage::Program app{kDescription, "lockstep"};
    TalkArgs talk;
    RunArgs run;
    NewArgs made;
    ValidateArgs validate;
    VerifyArgs verify;
    ExploreArgs explore;
    EnumerateArgs enumerate;
    CoverageArgs coverage;
    OutputsArgs outputs;
    CompareArgs compare;
    ShrinkArgs shrink;
    ReplayArgs replay;
    ExplainArgs explain;
    ListArgs list;
    std::string shell;
    /// What was asked for, once it has been parsed.
    Command chosen;

    explicit Tree(const usage::Build& build = {kVersion}) {
        app.explain_refusals();
        app.footer(kFooter);
        usage::add_version_flag(app, build);
        add_talk(app, talk);
        app.require_subcommand();
        add(add_run(app, run), run);
        add(add_new(app, made), made);
        add(add_validate(app, validate), validate);
        add(add_verify(app, verify), verify);
        add(add_explore(app, explore), explore);
        add(add_enumerate(app, enumerate), enumerate);
        add(add_coverage(app, coverage), coverage);
        add(add_outputs(app, outputs), outputs);
        add(add_compare(app, compare), compare);
        add(add_shrink(app, shrink), shrink);
        add(add_replay(app, replay), replay);
        add(add_explain(app, explain), explain);
        add(add_list(app, list), list);
        // Another program's, which has the options; here for the help, the completion and slips of the pen.
        app.subcommand("dev", "start Redis, NATS, lockstepd and workers on this machine, to try Lockstep out")
            .on_parsed([this] {
                chosen = Print{
                    "lockstep: dev has options of its own; none of these may stand before it\n"
                    "See lockstep dev --help.\n",
                    true, Exit::usage};
            });
        // These are settled before anything is parsed; an option before them is not.
        const auto comes_first = [this](const char* word, const char* help) {
            app.subcommand(word, help).on_parsed([this, word] {
                chosen =
                    Print{fmt::format("lockstep: {} is the first word, before any option\n", word), true, Exit::usage};
            });
        };
        comes_first("help", "explain a subcommand: lockstep help run");
        comes_first("version", "print the version and the commit");
        add_completion(app, shell).on_parsed([this] { chosen = Print{completion_of(app, shell)}; });
        add_manual(app).on_parsed([this] { chosen = Print{manual_of(app, kVersion)}; });
    }
    Tree(const Tree&) = delete;  // what parses into it refers to it
    Tree& operator=(const Tree&) = delete;

private:
    template <class Args>
    void add(const usage::Command& sub, const Args& args) {
        sub.on_parsed([this, &args] { chosen = args; });
    }
};

}  // namespace

Parsed parse(const std::vector<std::string>& args, const usage::Build& build) {
    Tree tree(build);
    if (args.empty()) return {Print{tree.app.help(), true, Exit::usage}};
    // The parser's own exit codes (105, 106, 109 and so on) mean nothing to our users: help is 0, everything else wrong use.
    if (auto ended = tree.app.parse(with_optional_values_settled(args)))
        return {Print{std::move(ended->text), ended->code != 0, ended->code == 0 ? Exit::passed : Exit::usage}};
    return {std::move(tree.chosen), tree.talk};
}

void look_at_parser(const std::function<void(const usage::Command&)>& look) { look(Tree().app); }

std::vector<std::string> subcommands() {
    const Tree tree;
    std::vector<std::string> names;
    for (const usage::Command& sub : tree.app.subcommands()) names.push_back(sub.name());
    return names;
}

}  // namespace lockstep::sim::cli
