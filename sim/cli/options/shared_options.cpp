#include "sim/cli/options/options.h"

#include <charconv>
#include <cstdio>
#include <utility>

namespace lockstep::sim::cli {

void add_talk(const usage::Command& app, TalkArgs& args) {
    app.fallthrough();  // they may stand behind the subcommand, too
    app.option("--color", &args.colour,
               "colour what is printed; auto (the default): on a terminal, unless NO_COLOR or CLICOLOR_FORCE says "
               "otherwise")
        .type("WHEN")
        .one_of({"auto", "always", "never"});
    app.flag("-v,--verbose", &args.verbose, "all of what holds: each scenario, invariant, fault and rare branch");
    app.flag("-q,--quiet", &args.quiet, "no progress and no account of what holds: what is wrong, and the verdict");
}

void add_selection(const usage::Command& app, SelectionArgs& args, bool changes) {
    app.option("PATH", &args.paths, "scenario files, or folders of them (default: scenarios/); - is standard input")
        .bytes();
    app.option("--filter", &args.filters, "only scenarios whose name or file matches this glob (repeatable)")
        .type("GLOB")
        .repeatable();
    app.option("--tag", &args.tags, "only scenarios with this tag (repeatable: any of them)").type("TAG").repeatable();
    add_seed(app, args.seed);
    app.option("--seeds", &args.seeds, "run N consecutive seeds of each scenario").type("N").range(1, 1'000'000'000);
    add_threads(app, args.threads);
    add_recorded_by(app, args.recorded_by);
    if (!changes) return;
    add_set(app, args.overrides);
    add_without(app, args.without);
}

void add_set(const usage::Command& app, std::vector<std::string>& overrides) {
    app.option("--set", &overrides,
               "change a value of every scenario (repeatable), such as cluster.config.backoff_max=60s")
        .type("PATH=VALUE")
        .repeatable();
}

void add_without(const usage::Command& app, std::vector<std::string>& names) {
    app.option("--without", &names, "switch a protective mechanism off (repeatable; see lockstep list mechanisms)")
        .type("MECHANISM")
        .repeatable();
}

void add_shard(const usage::Command& app, Shard& shard, const char* description) {
    const auto take = [&shard](const std::string& text) {
        unsigned number = 0;
        unsigned of = 0;
        char rest = 0;
        const int read = std::sscanf(text.c_str(), "%u/%u%c", &number, &of, &rest);
        if (read != 2 || number < 1 || number > of)
            usage::refuse("--shard: expected I/N with I from 1 to N, got \"" + text + "\"");
        shard = {number - 1, of};
    };
    app.option("--shard", take, description).type("I/N");
}

void add_threads(const usage::Command& app, unsigned& threads) {
    app.option("-j,--jobs", &threads, "runs at once (default: one per processor)").type("N").range(1, 1024);
}

void add_recorded_by(const usage::Command& app, std::string& build) {
    app.option("--recorded-by", &build,
               "the build that printed this command; another one says so and runs it all the same")
        .type("BUILD");
}

void add_json(const usage::Command& app, bool& json) {
    app.flag("--json", &json, "print one JSON document, and everything else to standard error (sim/cli/output.md)");
}

usage::Option add_number(const usage::Command& app, const std::string& name, std::function<void(std::uint64_t)> take,
                         const std::string& description) {
    const auto parsed = [name, take = std::move(take)](const std::string& text) {
        std::uint64_t number = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        if (text.empty() || error != std::errc{} || end != text.data() + text.size())
            usage::refuse(name + ": expected a number from 0 to 18446744073709551615, got \"" + text + "\"");
        take(number);
    };
    return app.option(name, parsed, description);
}

void add_seed(const usage::Command& app, std::optional<std::uint64_t>& seed, const char* description) {
    add_number(app, "--seed", [&seed](std::uint64_t number) { seed = number; }, description).type("S");
}

}  // namespace lockstep::sim::cli
