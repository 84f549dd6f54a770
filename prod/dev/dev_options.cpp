#include "prod/dev/dev_options.h"

#include <fmt/core.h>

#include <tuple>
#include <vector>

#include "engine/config/tunables.h"
#include "prod/ctl/session.h"
#include "prod/version/build.h"
#include "reports/usage/command.h"

namespace lockstep::prod {

namespace {

using usage::refuse;

constexpr int kPortMax = 65'535;

engine::Duration positive_span(const char* option, const std::string& text) {
    const auto parsed = engine::parse_duration(text);
    if (!parsed) refuse(fmt::format("{}: {}", option, parsed.error()));
    if (*parsed <= engine::Duration::zero()) refuse(fmt::format("{}: must be longer than nothing", option));
    return *parsed;
}

void complete(DevOptions& options, const std::vector<std::string>& environment, const std::string& run_for) {
    for (const std::string& entry : environment) {
        const auto equals = entry.find('=');
        if (equals == std::string::npos || equals == 0)
            refuse(fmt::format("--env: expected NAME=VALUE, got \"{}\"", entry));
        options.environment[entry.substr(0, equals)] = entry.substr(equals + 1);
    }
    (void)positive_span("--service-time", options.service_time);
    if (!run_for.empty()) options.run_for = positive_span("--for", run_for);
    if (options.until_done && options.workers == 0) refuse("--until-done: without a worker (--workers 0) no job ends");
    if (options.metrics_port != 0 && options.metrics_port + options.replicas - 1 > kPortMax)
        refuse(fmt::format("--metrics-port: {} replicas need the ports from there on, which end at {}",
                           options.replicas, kPortMax));
}

}  // namespace

tl::expected<DevOptions, int> parse_dev_options(int argc, const char* const* argv) {
    DevOptions o;
    std::vector<std::string> environment;
    std::string run_for;
    const usage::Program app(
        "Starts Redis, NATS, a kernel, lockstepd and workers on this machine, shows how a sample job goes and then "
        "what goes on,\n"
        "until Ctrl-C. Everything listens on loopback ports and lies in a temporary folder; nothing is left.",
        "lockstep dev");
    add_version_flag(app);
    app.option("--replicas", &o.replicas, "how many lockstepd").range(1, 100).show_default();
    app.option("--workers", &o.workers, "how many lockstep-worker in each pool; 0: you start your own")
        .range(0, 100)
        .show_default();
    app.option("--service-time", &o.service_time, "time that each job takes; its output is its input").show_default();
    app.option("--policy", &o.policy_file, "policy of the kernel (default: the example safety.yaml)").existing_file();
    app.option("--pools", &o.pools_file, "pools file (default: the example pools.yaml)").existing_file();
    app.option("--env", &environment, "NAME=VALUE for lockstepd, such as LOCKSTEP_BACKOFF_BASE=1s (repeatable)");
    for (auto& [name, port, of] : {std::tuple<const char*, int&, const char*>{"--redis-port", o.redis_port, "Redis"},
                                   {"--nats-port", o.nats_port, "NATS"},
                                   {"--kernel-port", o.kernel_port, "the kernel"},
                                   {"--metrics-port", o.metrics_port, "the first replica's /metrics; others follow"}})
        app.option(name, &port, fmt::format("port of {} (default: a free one)", of)).range(1, kPortMax);
    app.option("--topic", &o.topic, "topic of the sample job").identifier().show_default();
    app.option("--payload", &o.payload, "input of the sample job").bytes().show_default();
    const auto until_done = app.flag("--until-done", &o.until_done, "end with the sample job");
    app.option("--for", &run_for, "end after so long, such as 30s").excludes(until_done);
    app.flag("--keep", &o.keep, "leave the folder with the logs");
    app.footer(
        "Exit codes: 0 it was told to end, or with --until-done the sample job has succeeded, 1 something does not "
        "start or\n"
        "has ended by itself, 2 wrong use or a program is missing, 4 with --until-done the sample job has ended "
        "otherwise.");
    app.on_parsed([&] { complete(o, environment, run_for); });
    if (const auto ended = app.parse(argc, argv)) return tl::make_unexpected(*ended == 0 ? kDone : kWrongUse);
    return o;
}

}  // namespace lockstep::prod
