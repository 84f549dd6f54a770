// lockstepctl: what an operator does with a deployment.
#include <exception>

#include "prod/config/settings.h"
#include "prod/ctl/parser.h"
#include "prod/tls/openssl_exit.h"
#include "reports/usage/standard_streams.h"

namespace lockstep::prod {
namespace {

int run_command(const Parser& parser) {
    const Chosen& chosen = parser.chosen();
    if (chosen.offline) return chosen.offline();
    Environment::Values values = Environment::of_process().all();
    if (!parser.nats().empty()) overrule(values, "NATS_URL", parser.nats());
    if (!parser.redis().empty()) overrule(values, "REDIS_URL", parser.redis());
    auto settings = read_settings(Environment(std::move(values)), kClientRole);
    if (!settings) return complain(kWrongUse, settings.error());
    settings->nats.name = "lockstepctl";
    Session session(std::move(*settings));
    if (chosen.whatever_is_there) {
        session.connect_to_what_is_there();
        return session.run(chosen.command(session));
    }
    if (auto connected = session.connect(chosen.with_redis, chosen.with_bus, chosen.without_bus); !connected) {
        // A variable that is misspelt leaves the address of a server at its default.
        std::string what = connected.error().message;
        for (const auto& warning : session.settings().warnings) what += "\nwarning: " + warning;
        return complain(connected.error().exit_code, what);
    }
    return session.run(chosen.command(session));
}

/// What others have stored may still be of a form that no command expects.
int run(const Parser& parser) {
    try {
        return run_command(parser);
    } catch (const std::exception& error) {
        return complain(kFailed, error.what());
    }
}

}  // namespace
}  // namespace lockstep::prod

namespace {

int program(int argc, char** argv) {
    using namespace lockstep::prod;
    keep_openssl_until_the_end();
    Parser parser;
    if (const auto parsed = parser.parse(argc, argv); !parsed) return parsed.error();
    return run(parser);
}

}  // namespace

int main(int argc, char** argv) { return lockstep::usage::run_program("lockstepctl", argc, argv, program); }
