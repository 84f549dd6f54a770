#include "sim/cli/options/options.h"

#include <limits>

namespace lockstep::sim::cli {

namespace {

constexpr const char* kReplayFooter =
    "With --until it shows Redis (each key with type, value and TTL), streams, messages in hand, locks and the circuit "
    "at that\n"
    "event, of a scenario file, too. `lockstep explain` names the events.\n"
    "Examples:\n"
    "  lockstep replay failures/no_lost_job-draw17.json\n"
    "  lockstep replay regressions/ --junit out.xml    a folder of failures that must not come back\n"
    "  lockstep replay failures/no_lost_job-draw17.json --until 812 --dump at-812.txt\n"
    "  lockstep replay my.json --seed 3 --diff 810 812\n"
    "  lockstep replay failures/no_lost_job-draw17.json --json | jq .same_digest\n"
    "A file says which build wrote it; another one says so and replays it all the same.\n"
    "Exit codes: 1 it fails as recorded, 0 it does not fail any more, 5 the same failure with another digest; of\n"
    "several files or a folder 1 where any of them fails still.\n";

}  // namespace

usage::Command add_replay(const usage::Command& app, ReplayArgs& args) {
    const usage::Command sub = app.subcommand("replay", "run failure files again and confirm digest and violation");
    sub.footer(kReplayFooter);
    sub.option("PATH", &args.paths, "files that run, explore or shrink wrote, or folders of them").bytes().required();
    sub.option("--junit", &args.junit, "write a JUnit report").type("FILE");
    add_threads(sub, args.threads);
    sub.option("--trace", &args.trace, "write every event as a line of JSON").type("FILE");
    const auto until = sub.option("--until", &args.until,
                                  "stop after this event and show the servers; twice: show what changed between")
                           .type("EVENT")
                           .repeatable()
                           .unsigned_range(1, std::numeric_limits<std::uint64_t>::max());
    sub.option("--diff", &args.diff, "what changed between two events: --until A --until B in short")
        .type("A B")
        .expected(2)
        .excludes(until)
        .unsigned_range(1, std::numeric_limits<std::uint64_t>::max());
    sub.option("--dump", &args.dump, "where that goes (default: standard output)").type("[FILE]");
    add_seed(sub, args.seed, "seed instead of that of the file; with --until or --diff");
    add_set(sub, args.overrides);
    add_without(sub, args.without);
    add_json(sub, args.json);
    return sub;
}

}  // namespace lockstep::sim::cli
