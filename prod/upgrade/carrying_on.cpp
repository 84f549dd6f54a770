#include "prod/upgrade/carrying_on.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "prod/upgrade/half_done.h"
#include "prod/upgrade/written_data.h"

namespace lockstep::prod::testing {

namespace {

using namespace std::chrono_literals;

constexpr std::string_view kUndoing = "comp-";

CarriedOn look(Deployment& world) {
    CarriedOn found;
    for (const auto& [job, end] : as_promised().ends) found.ends[job] = world.redis_get("job:state:" + job);
    for (const auto& [job, times] : world.executions()) {
        if (job.starts_with(kUndoing))
            found.undone += times;
        else
            found.executed[job] = times;
    }
    return found;
}

}  // namespace

const CarriedOn& as_promised() {
    static const CarriedOn promised{
        .ends = {{"done-1", "SUCCEEDED"},
                 {"done-2", "SUCCEEDED"},
                 {"bad-alone", "FAILED"},
                 {"step-1", "SUCCEEDED"},
                 {"step-2", "SUCCEEDED"},
                 {"bad-step", "FAILED"},
                 {"signed-1", "SUCCEEDED"},
                 {"signed-2", "DENIED"},
                 {"slow-1", "SUCCEEDED"},
                 {"hang-1", "TIMEOUT"},
                 {"hang-cancelled", "CANCELLED"},
                 {"hang-few", "TIMEOUT"},
                 {"few-1", "SUCCEEDED"},
                 {"few-2", "SUCCEEDED"},
                 {"rare-1", "SUCCEEDED"},
                 {"fresh-1", "SUCCEEDED"},
                 {"fresh-2", "SUCCEEDED"}},
        .executed = {{"signed-1", 1}, {"few-1", 1}, {"few-2", 1}, {"rare-1", 1}, {"fresh-1", 1}, {"fresh-2", 1}},
        .undone = 2};
    return promised;
}

CarriedOn carry_on(Deployment& world, const nlohmann::json& recording) {
    agree_on(world);
    put_back(recording, world.redis().port(), world.nats().port(),
             std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now()));
    world.add_worker("w1", worker_that_ends());
    auto of_another_pool = worker_that_ends();
    of_another_pool.insert(of_another_pool.end(), {"--pool", "rare"});
    world.add_worker("w2", std::move(of_another_pool));
    world.add_scheduler();
    world.ctl({"approve", "signed-1"});
    world.ctl({"reject", "signed-2"});
    static_cast<void>(Deployment::until([&] { return look(world) == as_promised(); }, 60s));
    return look(world);
}

std::string to_text(const CarriedOn& found) {
    return nlohmann::json{{"ends", found.ends}, {"executed", found.executed}, {"undone", found.undone}}.dump(1);
}

}  // namespace lockstep::prod::testing
