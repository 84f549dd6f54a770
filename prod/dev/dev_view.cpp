#include "prod/dev/dev_view.h"

#include <fmt/core.h>

namespace lockstep::prod {

namespace {

constexpr std::size_t kWorkersShown = 10;

}  // namespace

std::string dev_screen(const Overview& now, const Overview* before, ReplicaCount replicas) {
    return fmt::format("{}replicas  {} of {}\nCtrl-C ends it all.\n", overview_text(now, before, kWorkersShown),
                       replicas.running, replicas.of);
}

std::string dev_line(const Overview& now, ReplicaCount replicas) {
    std::int64_t active = 0;
    for (const auto& [id, worker] : now.workers) active += worker.active;
    return fmt::format("jobs: {}; workers: {}, {} jobs in hand; replicas: {} of {}\n", jobs_line(now),
                       now.workers.size(), active, replicas.running, replicas.of);
}

}  // namespace lockstep::prod
