#include "prod/rehearsal/worker_script.h"

#include <fmt/format.h>

#include <chrono>

namespace lockstep::prod::rehearsal {

std::optional<int> exit_status_for(std::string_view outcome) {
    if (outcome == "SUCCEEDED") return 0;
    if (outcome == "FAILED") return 1;
    if (outcome == "FAILED_RETRYABLE") return 75;
    if (outcome == "FAILED_FATAL") return 65;
    return std::nullopt;
}

bool only_succeeds(const sim::WorkerGroup& group) {
    return group.outcomes.size() == 1 && group.outcomes.begin()->first == "SUCCEEDED" && group.first_outcomes.empty();
}

std::string worker_script(const sim::WorkerGroup& group, const std::string& counter) {
    const double seconds = std::chrono::duration<double>(group.service_time.a).count();
    std::string script = fmt::format(
        "cat >/dev/null; n=0; while [ $n -lt {} ] && ! (set -C; : >'{}'.$n) 2>/dev/null; do n=$((n+1)); done; "
        "sleep {:.3f}; echo '{{}}'; case $n in ",
        group.first_outcomes.size(), counter, seconds);
    for (std::size_t n = 0; n < group.first_outcomes.size(); ++n)
        script += fmt::format("{}) exit {};; ", n, exit_status_for(group.first_outcomes[n]).value());
    return script + fmt::format("*) exit {};; esac", exit_status_for(group.outcomes.begin()->first).value());
}

}  // namespace lockstep::prod::rehearsal
