// lockstep-front: routes submissions to cells by their tenants.
#include <fmt/core.h>
#include <google/protobuf/stubs/logging.h>

#include <cstdio>

#include "engine/config/tunables.h"
#include "prod/config/value_reader.h"
#include "prod/config/yaml.h"
#include "prod/front/front.h"
#include "prod/loop/signals.h"
#include "prod/tls/openssl_exit.h"
#include "prod/version/build.h"
#include "reports/usage/command.h"
#include "reports/usage/standard_streams.h"

namespace lockstep::prod {
namespace {

/// The streams know a message id for two minutes. Half of that for the ack wait leaves time for a restart.
constexpr engine::Duration kAckWaitMax = engine::kDuplicateWindow / 2;

struct Arguments {
    std::string cells = "config/cells.yaml";
    std::string ack_wait = "30s";
    std::string tenant;
    bool check_only = false;
    FrontOptions front;
};

int fail(const std::string& why) {
    fmt::print(stderr, "lockstep-front: the configuration is not usable:\n{}\n", why);
    return Front::kExitConfiguration;
}

/// The mistake; empty: none.
std::string complete(Arguments& arguments) {
    const auto ack_wait = engine::parse_duration(arguments.ack_wait);
    if (!ack_wait) return fmt::format("--ack-wait: {}", ack_wait.error());
    if (*ack_wait < std::chrono::seconds(1) || *ack_wait > kAckWaitMax)
        return fmt::format(
            "--ack-wait: expected from 1s to {}, got {}: beyond it streams take a repetition for something new",
            engine::format_duration(kAckWaitMax), arguments.ack_wait);
    arguments.front.ack_wait = *ack_wait;
    if (!AdminHttp::is_address(arguments.front.listen))
        return fmt::format("--listen: \"{}\" is no host:port", arguments.front.listen);
    return {};
}

tl::expected<CellsFile, std::string> read_cells(const Arguments& arguments, const Settings& settings,
                                                const Environment& environment) {
    const auto text = read_file(arguments.cells);
    if (!text) return tl::make_unexpected(fmt::format("--cells: {}", text.error()));
    const NatsOptions& own = settings.nats;
    const bool plain_text = is_true(environment.get_or("CORDUM_NATS_ALLOW_PLAINTEXT", ""));
    const bool has_login =
        !own.user.empty() || !own.token.empty() || !own.nkey_seed.empty() || !own.credentials_file.empty();
    return parse_cells_file(*text, arguments.cells,
                            {.base = {.max_age = own.max_age, .replicas = own.replicas},
                             .only_tls = settings.production && !plain_text,
                             .front_url = has_login ? "" : own.url});
}

int run(Arguments& arguments) {
    if (const std::string wrong = complete(arguments); !wrong.empty()) return fail(wrong);
    const Environment environment = Environment::of_process();
    auto settings = read_settings(environment, kClientRole);
    if (!settings) return fail(settings.error());
    if (!settings->nats.jetstream)
        return fail("NATS_USE_JETSTREAM: without JetStream a front would lose what a cell does not take");
    auto cells = read_cells(arguments, *settings, environment);
    if (!cells) return fail(cells.error());
    if (!arguments.tenant.empty()) {
        fmt::print("{}\n", cells->map.cell_of(arguments.tenant));
        return Front::kExitOk;
    }
    if (arguments.check_only) {
        for (const auto& warning : settings->warnings) fmt::print("warning: {}\n", warning);
        fmt::print("the configuration is sound\n");
        return Front::kExitOk;
    }
    leave_no_zombies();
    settings->nats.name = "lockstep-front";
    return Front(std::move(*settings), std::move(*cells), arguments.front).run();
}

}  // namespace
}  // namespace lockstep::prod

namespace {

int program(int argc, char** argv) {
    // A corrupt packet is an event of ours to route; protobuf would print its own line about each.
    google::protobuf::SetLogHandler(nullptr);
    using namespace lockstep::prod;
    keep_openssl_until_the_end();
    Arguments arguments;
    const lockstep::usage::Program app(
        "Routes submissions by their tenants to cells, each a Redis, a NATS and its replicas of lockstepd, and brings "
        "results and\n"
        "dead letters back. Cancellations go to every cell. Stops gracefully on SIGTERM.",
        "lockstep-front");
    lockstep::prod::add_version_flag(app);
    app.option("--cells", &arguments.cells, "file of the cells and of tenants that belong to one")
        .bytes()
        .environment("CELLS_CONFIG_PATH")
        .show_default();
    app.option("--listen", &arguments.front.listen,
               "host:port of /metrics, /livez and /readyz; port 0 takes a free one")
        .environment("FRONT_METRICS_ADDR")
        .show_default();
    app.option("--ack-wait", &arguments.ack_wait,
               "silence after which what a front has in hand goes to another one, 1s to 1m")
        .show_default();
    app.flag("--check", &arguments.check_only, "read the configuration, report every mistake, and end");
    app.option("--cell-of", &arguments.tenant, "print the cell of a tenant, and end").identifier();
    app.footer(
        "Its own NATS is NATS_URL, with NATS_CREDS, NATS_USERNAME, NATS_PASSWORD, NATS_TLS_CA, ... as of lockstepd\n"
        "(lockstepd config reference); the NATS of each cell stands in the file. NATS_JS_MAX_AGE and NATS_JS_REPLICAS\n"
        "hold for streams that it makes. It needs no Redis. /readyz is 503 before it takes submissions, while it "
        "drains\n"
        "and while its own NATS is away; a cell that is away holds up its own tenants only, and is seen in /metrics\n"
        "(lockstep_front_cell_connected).\n\n"
        "Exit codes: 0 stopped or checked, 1 its NATS cannot be reached at start or refuses the credentials for good,\n"
        "2 the configuration is not usable, the listener's address is taken, schedulers read its NATS, or the cells\n"
        "cannot change while submissions are in hand, 128+N ended at once by a second signal N.");
    if (const auto ended = app.parse(argc, argv)) return *ended == 0 ? 0 : Front::kExitConfiguration;
    return run(arguments);
}

}  // namespace

int main(int argc, char** argv) { return lockstep::usage::run_program("lockstep-front", argc, argv, program); }
