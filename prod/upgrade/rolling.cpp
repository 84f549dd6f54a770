#include "prod/upgrade/rolling.h"

#include <signal.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace lockstep::prod::testing {

using namespace std::chrono_literals;

void replace_under_load(Deployment& world, const std::filesystem::path& earlier, const std::filesystem::path& later,
                        int jobs) {
    for (const char* worker : {"w1", "w2"})
        world.add_worker(worker, {"--max-parallel", "50", "--service-time", "50ms"});
    world.programs = earlier;
    std::vector<Program*> replicas;
    for (int i = 0; i < 3; ++i) replicas.push_back(&world.add_scheduler());
    const int per_second = std::max(1, jobs / 8);
    Program submitter = world.launch("lockstepctl", {"submit", "--id", "roll", "--count", std::to_string(jobs),
                                                     "--rate", std::to_string(per_second)});
    world.programs = later;
    for (Program* replica : replicas) {
        replica->signal(SIGTERM);
        if (replica->wait(30s) != 0) throw std::runtime_error("a replica did not end well:\n" + replica->output());
        world.add_scheduler();
    }
    if (submitter.wait(60s) != 0) throw std::runtime_error("submitting failed:\n" + submitter.output());
    static_cast<void>(world.all_end(jobs, 60s));
}

void run_side_by_side(Deployment& world, const std::filesystem::path& earlier, const std::filesystem::path& later,
                      int jobs) {
    for (const char* worker : {"w1", "w2"})
        world.add_worker(worker, {"--max-parallel", "4", "--service-time", "50ms", "--heartbeat", "1s"});
    for (const auto& programs : {earlier, later}) {
        world.programs = programs;
        world.add_scheduler();
    }
    const auto told = world.ctl({"submit", "--id", "beside", "--count", std::to_string(jobs)});
    if (told.exit_code != 0) throw std::runtime_error("submitting failed:\n" + told.text);
    static_cast<void>(world.all_end(jobs, 180s));
}

}  // namespace lockstep::prod::testing
