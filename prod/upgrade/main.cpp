// For whoever changes what is stored: the programs of two versions, of which a test has only one.
#include <iostream>
#include <nlohmann/json.hpp>

#include "prod/upgrade/half_done.h"
#include "prod/upgrade/rolling.h"
#include "reports/usage/command.h"

namespace {

using namespace lockstep::prod::testing;

int half_way(const std::string& earlier, const std::string& later) {
    Deployment world;
    world.programs = earlier;
    leave_half_done(world);
    world.programs = later;
    const CarriedOn found = carry_on(world);
    std::cout << to_text(found) << '\n';
    if (found == as_promised()) return 0;
    std::cout << "and promised is\n" << to_text(as_promised()) << '\n' << world.logs();
    return 1;
}

int under_load(const std::string& earlier, const std::string& later, int jobs, decltype(replace_under_load)& scene) {
    Deployment world;
    scene(world, earlier, later, jobs);
    int twice = 0;
    for (const auto& [job, times] : world.executions()) twice += times > 1 ? 1 : 0;
    std::cout << nlohmann::json(world.states()).dump() << ", run twice: " << twice << '\n';
    return world.states()["SUCCEEDED"] == jobs && twice == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    const lockstep::usage::Program app(
        "What one version of the programs makes of what another one has stored (needs redis-server and nats-server)");
    app.require_subcommand();
    std::string first;
    std::string second;
    int jobs = 2000;
    const auto carrying = app.subcommand(
        "carry-on", "what one version left half done, carried on by another; exit code 1: not as promised");
    carrying.option("EARLIER", &first, "folder of lockstepd, lockstepctl, lockstep-worker and lockstep-kernel")
        .required();
    carrying.option("LATER", &second, "folder of those that carry on").required();
    const auto rolling = app.subcommand("roll", "replace three replicas under load; exit code 1: lost, or run twice");
    rolling.option("EARLIER", &first, "folder of the programs that are replaced").required();
    rolling.option("LATER", &second, "folder of those that replace them").required();
    rolling.option("--jobs", &jobs, "how many are submitted meanwhile").show_default();
    const auto beside =
        app.subcommand("beside", "one replica of each version under load; exit code 1: lost, or run twice");
    beside.option("EARLIER", &first, "folder of the programs of one version").required();
    beside.option("LATER", &second, "folder of those of the other, which also works and submits").required();
    beside.option("--jobs", &jobs, "how many are submitted at once").show_default();
    if (const auto ended = app.parse(argc, argv)) return *ended;
    try {
        if (carrying.parsed()) return half_way(first, second);
        return under_load(first, second, jobs, beside.parsed() ? run_side_by_side : replace_under_load);
    } catch (const std::exception& mistake) {
        std::cerr << "lockstep_upgrade: " << mistake.what() << '\n';
        return 1;
    }
}
