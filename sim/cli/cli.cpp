#include "sim/cli/cli.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "engine/config/nearest.h"
#include "sim/cli/build_name.h"
#include "sim/cli/commands.h"
#include "sim/cli/parse.h"

namespace lockstep::sim::cli {

namespace {

/// Words that belong to lockstepctl. It may know more: whatever is nobody's slip of the pen is handed to it.
const std::vector<std::string>& operator_words() {
    static const std::vector<std::string> kWords{"submit", "status", "cancel", "approve", "dlq", "workflow"};
    return kWords;
}

template <class... Handlers>
struct Overloaded : Handlers... {
    using Handlers::operator()...;
};
template <class... Handlers>
Overloaded(Handlers...) -> Overloaded<Handlers...>;

Exit unknown_word(const std::string& word, const Environment& environment) {
    auto known = subcommands();
    known.insert(known.end(), operator_words().begin(), operator_words().end());
    environment.err << fmt::format("lockstep: there is no subcommand \"{}\"{}\nSee lockstep --help.\n", word,
                                   engine::suggestion(word, known));
    return Exit::usage;
}

/// A first word that is none of ours, as git does: another program's, if it is there.
int other_word(const std::vector<std::string>& args, const Environment& environment) {
    const bool of_operator = std::ranges::find(operator_words(), args[0]) != operator_words().end();
    auto known = subcommands();
    known.insert(known.end(), operator_words().begin(), operator_words().end());
    if (!of_operator && !engine::nearest(args[0], known).empty())
        return static_cast<int>(unknown_word(args[0], environment));
    const int code = environment.operate ? environment.operate(args) : -1;
    if (code >= 0) return code;
    if (!of_operator) return static_cast<int>(unknown_word(args[0], environment));
    environment.err << fmt::format(
        "lockstep: \"{}\" is a command of lockstepctl, which is neither beside this program nor on PATH\n", args[0]);
    return static_cast<int>(Exit::usage);
}

/// On real servers: another program's business, which gets the arguments as they are.
int on_real_servers(const std::vector<std::string>& args, const Environment& environment) {
    const int code = environment.rehearse(args);
    if (code >= 0) return code;
    environment.err
        << "lockstep: --real is done by lockstep-rehearsal, which is neither beside this program nor on PATH\n";
    return static_cast<int>(Exit::usage);
}

/// A deployment for who tries it out: another program's business, too.
int on_this_machine(const std::vector<std::string>& args, const Environment& environment) {
    const int code = environment.develop ? environment.develop({args.begin() + 1, args.end()}) : -1;
    if (code >= 0) return code;
    environment.err << "lockstep: dev is done by lockstep-dev, which is neither beside this program nor on PATH\n";
    return static_cast<int>(Exit::usage);
}

Environment as_told(const TalkArgs& talk, const Environment& caller) {
    Environment out = caller;
    if (talk.colour != "auto") out.colour = talk.colour == "always";
    out.quiet = talk.quiet;
    out.verbose = talk.verbose && !talk.quiet;
    if (talk.quiet) out.watcher.kind = Watcher::Kind::nobody;
    return out;
}

/// `help CMD` and `version` are what people try first.
std::vector<std::string> without_words_for_options(std::vector<std::string> args) {
    if (args.empty()) return args;
    if (args[0] == "version") args[0] = "--version";
    if (args[0] == "help") {
        args.erase(args.begin());
        args.emplace_back("--help");
    }
    return args;
}

}  // namespace

int cli_main(const std::vector<std::string>& words, const Environment& caller) {
    const std::vector<std::string> args = without_words_for_options(words);
    if (!args.empty() && args[0] == "dev") return on_this_machine(args, caller);
    if (!args.empty() && !args[0].starts_with('-')) {
        const auto ours = subcommands();
        if (std::ranges::find(ours, args[0]) == ours.end()) return other_word(args, caller);
    }
    const auto [command, talk] = parse(args, build_of(caller));
    const Environment environment = as_told(talk, caller);
    const auto* run = std::get_if<RunArgs>(&command);
    if (run != nullptr && run->selection.real && environment.rehearse) return on_real_servers(args, environment);
    const Exit exit =
        std::visit(Overloaded{
                       [&](const Print& print) {
                           (print.to_err ? environment.err : environment.out) << print.text;
                           return print.exit;
                       },
                       [&](const RunArgs& run) { return run_command(run, environment); },
                       [&](const NewArgs& made) { return new_command(made, environment); },
                       [&](const ValidateArgs& validate) { return validate_command(validate, environment); },
                       [&](const VerifyArgs& verify) { return verify_command(verify, environment); },
                       [&](const ExploreArgs& explore) { return explore_command(explore, environment); },
                       [&](const EnumerateArgs& enumerate) { return enumerate_command(enumerate, environment); },
                       [&](const CoverageArgs& coverage) { return coverage_command(coverage, environment); },
                       [&](const OutputsArgs& outputs) { return outputs_command(outputs, environment); },
                       [&](const CompareArgs& compare) { return compare_command(compare, environment); },
                       [&](const ShrinkArgs& shrink) { return shrink_command(shrink, environment); },
                       [&](const ReplayArgs& replay) { return replay_failure_command(replay, environment); },
                       [&](const ExplainArgs& explain) { return explain_command(explain, environment); },
                       [&](const ListArgs& list) { return list_command(list, environment); },
                   },
                   command);
    if (environment.out.flush()) return static_cast<int>(exit);
    environment.err << "lockstep: standard output cannot be written: what was said there is not complete\n";
    return static_cast<int>(Exit::usage);
}

}  // namespace lockstep::sim::cli
