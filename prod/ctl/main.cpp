// lockstepctl: what an operator does with a deployment.
#include "prod/config/settings.h"
#include "prod/ctl/parser.h"
#include "prod/tls/openssl_exit.h"

namespace lockstep::prod {
namespace {

int run(const Parser& parser) {
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

}  // namespace
}  // namespace lockstep::prod

int main(int argc, char** argv) {
    using namespace lockstep::prod;
    keep_openssl_until_the_end();
    Parser parser;
    if (const auto parsed = parser.parse(argc, argv); !parsed) return parsed.error();
    return run(parser);
}
