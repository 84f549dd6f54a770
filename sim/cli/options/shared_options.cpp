#include "sim/cli/options/options.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdio>
#include <utility>

#include "reports/usage/refusal.h"

namespace lockstep::sim::cli {

void add_talk(CLI::App& app, TalkArgs& args) {
    app.fallthrough();  // they may stand behind the subcommand, too
    app.add_option("--color", args.colour,
                   "colour what is printed; auto (the default): on a terminal, unless NO_COLOR or CLICOLOR_FORCE says "
                   "otherwise")
        ->type_name("WHEN")
        ->check(usage::one_of({"auto", "always", "never"}));
    app.add_flag("-q,--quiet", args.quiet, "no progress and no account of what holds: what is wrong, and the verdict");
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
    app.add_option("--select", args.select,
                   "only scenarios of which this holds: name(GLOB), file(GLOB) and tag(GLOB) with and, or, not and "
                   "parentheses")
        ->type_name("EXPR");
    add_seed(app, args.seed);
    app.add_option("--seeds", args.seeds, "run N consecutive seeds of each scenario")
        ->type_name("N")
        ->check(CLI::Range(1, 1'000'000'000));
    add_threads(app, args.threads);
    add_recorded_by(app, args.recorded_by);
    if (!changes) return;
    add_set(app, args.overrides);
    add_without(app, args.without);
}

void add_set(CLI::App& app, std::vector<std::string>& overrides) {
    app.add_option("--set", overrides,
                   "change a value of every scenario (repeatable), such as cluster.config.backoff_max=60s")
        ->type_name("PATH=VALUE")
        ->expected(1)
        ->take_all();
}

void add_without(CLI::App& app, std::vector<std::string>& names) {
    app.add_option("--without", names, "switch a protective mechanism off (repeatable; see lockstep list mechanisms)")
        ->type_name("MECHANISM")
        ->expected(1)
        ->take_all();
}

void add_shard(CLI::App& app, Shard& shard, const char* description) {
    const auto take = [&shard](const std::string& text) {
        unsigned number = 0;
        unsigned of = 0;
        char rest = 0;
        const int read = std::sscanf(text.c_str(), "%u/%u%c", &number, &of, &rest);
        if (read != 2 || number < 1 || number > of)
            throw CLI::ValidationError("--shard", "expected I/N with I from 1 to N, got \"" + text + "\"");
        shard = {number - 1, of};
    };
    app.add_option_function<std::string>("--shard", take, description)->type_name("I/N");
}

void add_threads(CLI::App& app, unsigned& threads) {
    app.add_option("-j,--jobs", threads, "runs at once (default: one per processor)")
        ->type_name("N")
        ->check(CLI::Range(1, 1024));
}

void add_recorded_by(CLI::App& app, std::string& build) {
    app.add_option("--recorded-by", build,
                   "the build that printed this command; another one says so and runs it all the same")
        ->type_name("BUILD");
}

void add_json(CLI::App& app, bool& json) {
    app.add_flag("--json", json, "print one JSON document, and everything else to standard error (sim/cli/output.md)");
}

CLI::Option* add_number(CLI::App& app, const std::string& name, std::function<void(std::uint64_t)> take,
                        const std::string& description) {
    const auto parsed = [name, take = std::move(take)](const std::string& text) {
        std::uint64_t number = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        if (text.empty() || error != std::errc{} || end != text.data() + text.size())
            throw CLI::ValidationError(name, "expected a number from 0 to 18446744073709551615, got \"" + text + "\"");
        take(number);
    };
    return app.add_option_function<std::string>(name, parsed, description);
}

void add_seed(CLI::App& app, std::optional<std::uint64_t>& seed, const char* description) {
    add_number(app, "--seed", [&seed](std::uint64_t number) { seed = number; }, description)->type_name("S");
}

}  // namespace lockstep::sim::cli
