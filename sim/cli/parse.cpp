#include "sim/cli/parse.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

#include "sim/cli/version.h"
#include "sim/explain/world_dump.h"

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
    "Operator commands (submit, status, cancel, approve, dlq, ...) are handed to lockstepctl.\n"
    "Exit codes: 0 all held, 1 violated, 2 wrong input, 3 harness failed, 4 nothing proved, 5 not deterministic,\n"
    "130 interrupted.\n";

constexpr const char* kRunFooter =
    "Examples:\n"
    "  lockstep run scenarios/denied.json --seed 7\n"
    "  lockstep run --seeds 1000 -j 8 --fail-fast --junit out.xml\n"
    "  lockstep run my.json --set cluster.config.backoff_max=60s --without job_lock\n"
    "  lockstep run --json | jq .failed\n"
    "  lockstep run --seeds 1000 --failures failures/\n"
    "  lockstep run --real my.json                the same file on real servers\n"
    "A file with a \"proves\" key is run twice: as it stands, and under its own seed without the mechanism that it "
    "names,\n"
    "when exactly the invariants that it names must break. --set, --without, --trace and --real leave the second run "
    "out.\n"
    "--real does what processes can be made to do (crash, stop, pause, restarts of Redis and NATS, submits, cancels,\n"
    "approvals) and judges what can be seen from outside; what it did not do or judge is listed at the end.\n";

constexpr const char* kVerifyFooter =
    "Examples:\n"
    "  lockstep verify-determinism --seeds 5\n"
    "  lockstep verify-determinism --write digests.json          in one build\n"
    "  lockstep verify-determinism --against digests.json        in another\n"
    "\n"
    "The second runs are made in another order and find other memory than the first: a run that depends on either is "
    "not\n"
    "deterministic. A difference is reported with the first event that differs, and what each run made of it. Between "
    "two\n"
    "builds that takes another look: the command prints how to record the events in question in both.\n";

void add_without(CLI::App& app, std::vector<std::string>& names) {
    app.add_option("--without", names, "switch a protective mechanism off (repeatable; see lockstep list mechanisms)")
        ->type_name("MECHANISM")
        ->expected(1)
        ->take_all();
}

void add_set(CLI::App& app, std::vector<std::string>& overrides) {
    app.add_option("--set", overrides,
                   "change a value of every scenario (repeatable), such as cluster.config.backoff_max=60s")
        ->type_name("PATH=VALUE")
        ->expected(1)
        ->take_all();
}

void add_selection(CLI::App& app, SelectionArgs& args, bool changes) {
    app.add_option("PATH", args.paths, "scenario files, or folders of them (default: scenarios/)");
    app.add_option("--filter", args.filters, "only scenarios whose name or file matches this glob (repeatable)")
        ->type_name("GLOB")
        ->expected(1)
        ->take_all();
    app.add_option("--tag", args.tags, "only scenarios with this tag (repeatable: any of them)")
        ->type_name("TAG")
        ->expected(1)
        ->take_all();
    app.add_option("--seed", args.seed, "seed instead of that of the file")
        ->type_name("S")
        ->check(CLI::NonNegativeNumber);
    app.add_option("--seeds", args.seeds, "run N consecutive seeds of each scenario")
        ->type_name("N")
        ->check(CLI::Range(1, 1'000'000'000));
    app.add_option("-j,--jobs", args.threads, "runs at once (default: one per processor)")
        ->type_name("N")
        ->check(CLI::Range(1, 1024));
    if (!changes) return;
    add_set(app, args.overrides);
    add_without(app, args.without);
}

constexpr const char* kExploreFooter =
    "Each draw is a scenario of its own: cluster, load, settings and faults come from its number. What fails is "
    "written to\n"
    "the output folder as a file for replay and shrink; of failures that look alike, the shortest.\n"
    "Examples:\n"
    "  lockstep explore --for 10m\n"
    "  lockstep explore --seeds 1000 --without lock_fencing --shrink\n"
    "  lockstep explore --for 8h --keep-going --resume    goes on where the last one ended\n"
    "Exit codes: 0 nothing found, 1 a failure found, 2 wrong input, 3 the harness failed, 4 nothing was run.\n";

constexpr const char* kEnumerateFooter =
    "From a fault-free run of each scenario: every kind of call that a scheduler makes, with every end that it can "
    "come to:\n"
    "not applied, applied with the answer lost, a crash before or after, an answer later than a lock lives.\n"
    "Examples:\n"
    "  lockstep enumerate scenarios/happy-path.json\n"
    "  lockstep enumerate scenarios/happy-path.json --occurrences 50 --pairs 2000\n"
    "Exit codes: 0 everything held, 1 a failure found, 2 wrong input, 3 the harness failed, 4 nothing was run.\n";

constexpr const char* kPowerFooter =
    "Each mechanism is switched off in turn, and draws that know nothing of it are made until one fails; the failure "
    "is "
    "shrunk.\n"
    "Draws until then are the same on every machine, seconds are not.\n"
    "Examples:\n"
    "  lockstep power --mechanism lock_fencing\n"
    "  lockstep power --repeats 5 --markdown power.md --json power.json\n"
    "Exit codes: 0 every search found a failure, 1 one did not, 2 wrong input, 3 the harness failed.\n";

constexpr const char* kShrinkFooter =
    "Examples:\n"
    "  lockstep shrink failures/no_lost_job-draw17.json\n"
    "  lockstep shrink my.json --seed 9 --without job_lock --out small.json\n"
    "The original is kept. Exit codes: 0 shrunk, 1 stopped before the smallest was reached, 2 it does not fail.\n";

constexpr const char* kReplayFooter =
    "With --until it shows Redis (each key with type, value and TTL), streams, messages in hand, locks and the circuit at "
    "that\n"
    "event, of a scenario file, too. `lockstep explain` names the events.\n"
    "Examples:\n"
    "  lockstep replay failures/no_lost_job-draw17.json\n"
    "  lockstep replay failures/no_lost_job-draw17.json --until 812 --dump at-812.txt\n"
    "  lockstep replay my.json --seed 3 --diff 810 812\n"
    "Exit codes: 1 it fails as recorded, 0 it does not fail any more, 5 the same failure with another digest.\n";

constexpr const char* kExplainFooter =
    "Says what was violated, which two facts contradict each other, who held the lock, and what led to it, node by node. "
    "Of\n"
    "a run that holds, the story of a job. Numbers with # are events; <- says where a message came from.\n"
    "Examples:\n"
    "  lockstep explain failures/no_lost_job-draw17.json\n"
    "  lockstep explain my.json --seed 9 --without job_lock --job j-3 --by-time\n"
    "  lockstep explain my.json --html run.html\n"
    "Exit codes: 0 it holds, 1 it is violated, 2 wrong input, 3 the harness failed.\n";

/// The whole tree; the options write into the structs beside it.
struct Tree {
    CLI::App app{kDescription, "lockstep"};
    RunArgs run;
    ValidateArgs validate;
    VerifyArgs verify;
    ExploreArgs explore;
    EnumerateArgs enumerate;
    PowerArgs power;
    ShrinkArgs shrink;
    ReplayArgs replay;
    ExplainArgs explain;
    ListArgs list;
    std::string shell;
    CLI::App* run_app = nullptr;
    CLI::App* validate_app = nullptr;
    CLI::App* verify_app = nullptr;
    CLI::App* explore_app = nullptr;
    CLI::App* enumerate_app = nullptr;
    CLI::App* power_app = nullptr;
    CLI::App* shrink_app = nullptr;
    CLI::App* replay_app = nullptr;
    CLI::App* explain_app = nullptr;
    CLI::App* list_app = nullptr;
    CLI::App* completion_app = nullptr;

    Tree() {
        app.footer(kFooter);
        app.set_version_flag("--version", std::string("lockstep ") + kVersion, "print the version");
        app.require_subcommand(1);

        run_app = app.add_subcommand("run", "run scenario files and check what they promise");
        run_app->footer(kRunFooter);
        add_selection(*run_app, run.selection, true);
        run_app->add_flag("--fail-fast", run.fail_fast, "start nothing more once a run has failed");
        run_app->add_flag("--allow-vacuous", run.allow_vacuous, "exit 0 although something was left unproved");
        run_app->add_option("--junit", run.junit, "write a JUnit report")->type_name("FILE");
        run_app
            ->add_option("--json", run.json,
                         "write one JSON document, to FILE or instead of all else to standard output")
            ->type_name("[FILE]");
        run_app
            ->add_option("--html", run.html,
                         "write a page to look at: of the first run that failed, or else of the first")
            ->type_name("FILE");
        run_app
            ->add_option("--failures", run.failures,
                         "write failure files to this folder, one of each kind, for replay, explain and shrink")
            ->type_name("DIR");
        run_app->add_option("--trace", run.trace, "write every event as a line of JSON (needs exactly one run)")
            ->type_name("FILE");
        run_app->add_flag(
            "--real", run.selection.real,
            "on real servers: redis-server and nats-server, lockstepd, kernel and workers as processes, in "
            "real time");
        run_app
            ->add_option("--real-limit", run.real_limit,
                         "with --real: refuse longer load and faults than this; default 2m")
            ->type_name("DURATION");

        validate_app = app.add_subcommand("validate", "check scenario files, run nothing");
        validate_app->footer("Example:\n  lockstep validate scenarios/ my-scenario.json\n");
        validate_app->add_option("PATH", validate.paths, "scenario files, or folders of them (default: scenarios/)");
        validate_app->add_flag("--json", validate.json, "print the errors as one JSON document");

        verify_app =
            app.add_subcommand("verify-determinism", "run each scenario twice per seed and compare the digests");
        verify_app->footer(kVerifyFooter);
        add_selection(*verify_app, verify.selection, true);
        verify_app->add_option("--write", verify.write, "write the digests, for another build to compare with")
            ->type_name("FILE");
        verify_app->add_option("--against", verify.against, "compare with the digests that another build wrote")
            ->type_name("FILE");
        verify_app
            ->add_option("--events", verify.events,
                         "with --write: record these events of each run whole, so that --against can name the first "
                         "that differs")
            ->type_name("FIRST..LAST")
            ->needs("--write");

        add_explore();
        add_enumerate();
        add_power();
        add_shrink();
        add_replay();
        add_explain();

        list_app = app.add_subcommand("list", "names that scenario files may use, with one line each");
        list_app->footer("Examples:\n  lockstep list faults\n  lockstep list --schema > scenario.schema.json\n");
        list_app
            ->add_option("TOPIC", list.topic, fmt::format("one of {} (default: all)", fmt::join(list_topics(), ", ")))
            ->check(CLI::IsMember(list_topics()));
        list_app->add_flag("--json", list.json, "print one JSON document");
        list_app->add_flag("--schema", list.schema, "print the JSON Schema of scenario files");

        completion_app = app.add_subcommand("completion", "print a completion script for a shell");
        completion_app->footer("Example:\n  source <(lockstep completion bash)\n");
        completion_app->add_option("SHELL", shell, "bash")->required()->check(CLI::IsMember({"bash"}));
    }

    void add_explore() {
        explore_app = app.add_subcommand("explore", "look for failures in scenarios that nobody wrote");
        explore_app->footer(kExploreFooter);
        explore_app->add_option("PATH", explore.paths,
                                "scenarios whose cluster and load are used (default: those are drawn, too)");
        explore_app->add_option("--seeds", explore.seeds, "draws to make (default: no limit)")
            ->type_name("N")
            ->check(CLI::Range(1, 1'000'000'000));
        explore_app->add_option("--first", explore.first, "number of the first draw; default 1")
            ->type_name("N")
            ->check(CLI::NonNegativeNumber);
        explore_app->add_option("--for", explore.wall, "begin no draw after this long, such as 10m")
            ->type_name("DURATION");
        add_without(*explore_app, explore.without);
        explore_app->add_option("--out", explore.out, "folder of the failure files; default failures")
            ->type_name("DIR");
        explore_app->add_flag("--keep-going", explore.keep_going, "do not end at the first failure");
        explore_app->add_flag("--resume", explore.resume, "go on where the exploration in the output folder ended");
        explore_app->add_flag("--shrink", explore.shrink, "shrink what was found");
        explore_app->add_flag("--data-loss", explore.data_loss, "also draw faults that destroy acknowledged data");
        explore_app->add_option("-j,--jobs", explore.threads, "runs at once (default: one per processor)")
            ->type_name("N")
            ->check(CLI::Range(1, 1024));
    }

    void add_enumerate() {
        enumerate_app =
            app.add_subcommand("enumerate", "put every fault on every call that a scenario's schedulers make");
        enumerate_app->footer(kEnumerateFooter);
        enumerate_app->add_option("PATH", enumerate.paths, "scenario files, or folders of them (default: scenarios/)");
        enumerate_app->add_option("--occurrences", enumerate.occurrences, "of each kind of call; default 5")
            ->type_name("N")
            ->check(CLI::Range(1, 1'000'000));
        enumerate_app->add_option("--pairs", enumerate.pairs, "runs with two faults, drawn; default 0")
            ->type_name("N")
            ->check(CLI::Range(0, 1'000'000'000));
        enumerate_app->add_option("--out", enumerate.out, "folder of the failure files; default failures")
            ->type_name("DIR");
        enumerate_app->add_option("-j,--jobs", enumerate.threads, "runs at once (default: one per processor)")
            ->type_name("N")
            ->check(CLI::Range(1, 1024));
    }

    void add_power() {
        power_app =
            app.add_subcommand("power", "measure how soon exploration finds each mechanism that is switched off");
        power_app->footer(kPowerFooter);
        power_app->add_option("PATH", power.paths, "where the files that prove mechanisms are (default: scenarios/)");
        power_app
            ->add_option("--mechanism", power.mechanisms, "only this one (repeatable; default: all that there are)")
            ->type_name("MECHANISM")
            ->expected(1)
            ->take_all();
        power_app
            ->add_option("--repeats", power.repeats, "searches for each, in ranges of draws of their own; default 3")
            ->type_name("N")
            ->check(CLI::Range(1, 1000));
        power_app->add_option("--seeds", power.seeds, "draws at most in one search; default 1000")
            ->type_name("N")
            ->check(CLI::Range(1, 1'000'000));
        power_app->add_option("--first", power.first, "number of the first draw; default 1")
            ->type_name("N")
            ->check(CLI::NonNegativeNumber);
        power_app
            ->add_option("--breadth", power.breadth,
                         "also make so many draws past the first failure, to see what else notices; default 0")
            ->type_name("N")
            ->check(CLI::Range(0, 1'000'000));
        power_app->add_flag("--no-shrink", power.no_shrink, "do not shrink what was found");
        power_app->add_option("--markdown", power.markdown, "write the tables as a page")->type_name("FILE");
        power_app->add_option("--json", power.json, "write the figures as one JSON document")->type_name("FILE");
        power_app->add_option("-j,--jobs", power.threads, "runs at once (default: one per processor)")
            ->type_name("N")
            ->check(CLI::Range(1, 1024));
    }

    void add_shrink() {
        shrink_app = app.add_subcommand("shrink", "reduce a failure to the smallest scenario that still fails like it");
        shrink_app->footer(kShrinkFooter);
        shrink_app->add_option("FILE", shrink.file, "a failure file, or a scenario that fails")->required();
        shrink_app->add_option("--out", shrink.out, "where to write it; default: beside the original, as .shrunk.json")
            ->type_name("FILE");
        shrink_app->add_option("--seed", shrink.seed, "seed instead of that of the file")
            ->type_name("S")
            ->check(CLI::NonNegativeNumber);
        add_without(*shrink_app, shrink.without);
        shrink_app->add_option("--max-runs", shrink.max_runs, "give up after so many runs; default 10000")
            ->type_name("N")
            ->check(CLI::Range(1, 1'000'000'000));
    }

    void add_replay() {
        replay_app = app.add_subcommand("replay", "run a failure file again and confirm digest and violation");
        replay_app->footer(kReplayFooter);
        replay_app->add_option("FILE", replay.file, "a file that run, explore or shrink wrote")->required();
        replay_app->add_option("--trace", replay.trace, "write every event as a line of JSON")->type_name("FILE");
        auto* until = replay_app
                          ->add_option("--until", replay.until,
                                       "stop after this event and show the servers; twice: show what changed between")
                          ->type_name("EVENT")
                          ->expected(1)
                          ->take_all()
                          ->check(CLI::Range(std::uint64_t{1}, std::numeric_limits<std::uint64_t>::max()));
        replay_app->add_option("--diff", replay.diff, "what changed between two events: --until A --until B in short")
            ->type_name("A B")
            ->expected(2)
            ->excludes(until)
            ->check(CLI::Range(std::uint64_t{1}, std::numeric_limits<std::uint64_t>::max()));
        replay_app->add_option("--dump", replay.dump, "where that goes (default: standard output)")->type_name("[FILE]");
        replay_app->add_option("--seed", replay.seed, "seed instead of that of the file; with --until or --diff")
            ->type_name("S")
            ->check(CLI::NonNegativeNumber);
        add_set(*replay_app, replay.overrides);
        add_without(*replay_app, replay.without);
    }

    void add_explain() {
        explain_app = app.add_subcommand("explain", "tell the story of a run: why it fails, or how a job went");
        explain_app->footer(kExplainFooter);
        explain_app->add_option("FILE", explain.file, "a scenario, or a file that run, explore or shrink wrote")
            ->required();
        explain_app->add_option("--job", explain.job, "tell of this job (default: the one concerned, or the first)")
            ->type_name("ID");
        explain_app->add_option("--seed", explain.seed, "seed instead of that of the file")
            ->type_name("S")
            ->check(CLI::NonNegativeNumber);
        add_set(*explain_app, explain.overrides);
        add_without(*explain_app, explain.without);
        explain_app->add_option("--html", explain.html, "write the run as one page to look at, with nothing else needed")
            ->type_name("FILE");
        explain_app->add_flag("--by-time", explain.by_time, "one list in the order of time, not one per node");
        explain_app->add_flag("--other-jobs", explain.other_jobs, "also what led to it by way of other jobs");
    }
};

/// Whether the word after `--json` is where to write. A scenario file in its place must never be overwritten: an existing
/// file counts only when it is empty, no regular file, or an earlier document of ours.
bool is_json_target(const std::string& word) {
    namespace fs = std::filesystem;
    std::error_code error;
    if (word.empty() || word.starts_with('-') || word.ends_with('/') || fs::is_directory(word, error)) return false;
    if (!fs::exists(word, error)) return true;
    if (!fs::is_regular_file(word, error) || fs::file_size(word, error) == 0) return true;
    std::ifstream in(word, std::ios::binary);
    const std::string text(std::istreambuf_iterator<char>(in), {});
    return text.find("\"results\"") != std::string::npos && text.find("\"version\"") != std::string::npos;
}

/// Likewise for `--dump`.
bool is_dump_target(const std::string& word) {
    namespace fs = std::filesystem;
    std::error_code error;
    if (word.empty() || word.starts_with('-') || word.ends_with('/') || fs::is_directory(word, error)) return false;
    if (!fs::exists(word, error) || !fs::is_regular_file(word, error) || fs::file_size(word, error) == 0) return true;
    std::ifstream in(word, std::ios::binary);
    std::string line;
    return std::getline(in, line) && line.starts_with(kDumpMark);
}

/// `--json` and `--dump` take a value or none, which the parser cannot tell from a path that follows: settled here.
std::vector<std::string> with_optional_values_settled(const std::vector<std::string>& args) {
    std::vector<std::string> out;
    const bool run = !args.empty() && args[0] == "run";
    const bool replay = !args.empty() && args[0] == "replay";
    for (std::size_t i = 0; i < args.size(); ++i) {
        if (args[i] == "--") {
            out.insert(out.end(), args.begin() + static_cast<std::ptrdiff_t>(i), args.end());
            return out;
        }
        if (replay && args[i] == "--dump") {
            const bool target = i + 1 < args.size() && is_dump_target(args[i + 1]);
            out.push_back("--dump=" + (target ? args[++i] : std::string("-")));
        } else if (!run || args[i] != "--json") {
            out.push_back(args[i]);
        } else if (i + 1 < args.size() && is_json_target(args[i + 1])) {
            out.push_back("--json=" + args[++i]);
        } else {
            out.push_back("--json=-");
        }
    }
    return out;
}

std::string bash_completion(const CLI::App& app) {
    std::string cases;
    std::vector<std::string> names;
    for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
        names.push_back(sub->get_name());
        std::vector<std::string> words;
        for (const CLI::Option* option : sub->get_options()) {
            for (const auto& name : option->get_lnames()) words.push_back("--" + name);
            for (const auto& name : option->get_snames()) words.push_back("-" + name);
        }
        if (sub->get_name() == "list") words.insert(words.end(), list_topics().begin(), list_topics().end());
        if (sub->get_name() == "completion") words.emplace_back("bash");
        cases += fmt::format("    {}) words=\"{}\" ;;\n", sub->get_name(), fmt::join(words, " "));
    }
    return fmt::format(
        "# Completion of lockstep for bash: source <(lockstep completion bash)\n"
        "_lockstep() {{\n"
        "  local current=${{COMP_WORDS[COMP_CWORD]}} words=\n"
        "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
        "    mapfile -t COMPREPLY < <(compgen -W \"{} --help --version\" -- \"$current\")\n"
        "    return\n"
        "  fi\n"
        "  case ${{COMP_WORDS[1]}} in\n"
        "{}"
        "  esac\n"
        "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
        "  [[ $current == -* ]] || mapfile -t -O \"${{#COMPREPLY[@]}}\" COMPREPLY < <(compgen -f -- \"$current\")\n"
        "}}\n"
        "complete -o filenames -F _lockstep lockstep\n",
        fmt::join(names, " "), cases);
}

/// The parser's own exit codes (105, 106, 109 and so on) mean nothing to our users: help is 0, everything else wrong use.
Command explained(const CLI::App& app, const CLI::ParseError& error) {
    std::ostringstream out;
    std::ostringstream err;
    const int code = app.exit(error, out, err);
    if (code == 0) return Print{out.str()};
    return Print{"lockstep: " + err.str(), true, Exit::usage};
}

}  // namespace

Command parse(const std::vector<std::string>& args) {
    Tree tree;
    if (args.empty()) return Print{tree.app.help(), true, Exit::usage};
    try {
        auto reversed = with_optional_values_settled(args);
        std::ranges::reverse(reversed);  // as the parser takes them
        tree.app.parse(std::move(reversed));
    } catch (const CLI::ParseError& error) {
        return explained(tree.app, error);
    }
    if (tree.run_app->parsed()) return tree.run;
    if (tree.validate_app->parsed()) return tree.validate;
    if (tree.verify_app->parsed()) return tree.verify;
    if (tree.explore_app->parsed()) return tree.explore;
    if (tree.enumerate_app->parsed()) return tree.enumerate;
    if (tree.power_app->parsed()) return tree.power;
    if (tree.shrink_app->parsed()) return tree.shrink;
    if (tree.replay_app->parsed()) return tree.replay;
    if (tree.explain_app->parsed()) return tree.explain;
    if (tree.list_app->parsed()) return tree.list;
    return Print{bash_completion(tree.app)};
}

std::vector<std::string> subcommands() {
    const Tree tree;
    std::vector<std::string> names;
    for (const CLI::App* sub : tree.app.get_subcommands([](const CLI::App*) { return true; }))
        names.push_back(sub->get_name());
    return names;
}

}  // namespace lockstep::sim::cli
