#include "prod/upgrade/half_done.h"

#include <algorithm>
#include <fstream>
#include <stdexcept>
#include <string_view>

#include "prod/integration/nats_peer.h"

namespace lockstep::prod::testing {

namespace {

using namespace std::chrono_literals;

constexpr const char* kPolicy = R"(version: v1
default_decision: allow
default_tenant: default
rules:
  - id: signed
    decision: require_approval
    match:
      topics: [job.signed]
  - id: few
    decision: allow_with_constraints
    match:
      tenants: [few]
    constraints:
      budgets: {max_concurrent_jobs: 1}
)";

constexpr const char* kPools = R"(topics:
  job.default: [default]
  job.signed: [default]
  job.rare: [rare]
pools:
  default:
    requires: []
  rare:
    requires: []
)";

constexpr const char* kTimeouts =
    "reconciler: {dispatch_timeout_seconds: 6, running_timeout_seconds: 15, scan_interval_seconds: 1}\n";

std::string write(const std::filesystem::path& file, const char* text) {
    std::ofstream(file) << text;
    return file;
}

void submit(Deployment& world, const std::string& id, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"submit", "--id", id});
    const Deployment::Told told = world.ctl(std::move(more));
    if (told.exit_code != 0 && told.exit_code != 4) throw std::runtime_error("submit " + id + ": " + told.text);
}

void wait_for(Deployment& world, const std::string& state, int jobs) {
    const bool there = Deployment::until([&] { return world.states()[state] == jobs; }, 20s);
    if (!there) throw std::runtime_error("not " + std::to_string(jobs) + " jobs are " + state + "\n" + world.logs());
}

}  // namespace

void agree_on(Deployment& world) {
    world.environment["SAFETY_POLICY_PATH"] = write(world.folder() / "policy.yaml", kPolicy);
    world.environment["POOL_CONFIG_PATH"] = write(world.folder() / "pools.yaml", kPools);
    world.environment["TIMEOUT_CONFIG_PATH"] = write(world.folder() / "timeouts.yaml", kTimeouts);
    world.stop_kernel();
    world.start_kernel();
}

std::vector<std::string> worker_that_hangs() {
    return {"--max-parallel", "20", "--exec",
            "case \"$CORDUM_JOB_ID\" in hang*) exec sleep 600;; slow*) sleep 2;; bad*) sleep 2; exit 65;; esac; cat"};
}

std::vector<std::string> worker_that_ends() { return {"--max-parallel", "20", "--exec", "cat"}; }

void leave_half_done(Deployment& world) {
    Program& scheduler = world.add_scheduler();
    Program& worker = world.add_worker("w1", worker_that_hangs());
    const std::vector<std::string> step{"--workflow", "wf", "--label", "run_id=r1"};
    const auto undone_by = [&step](const char* topic) {
        std::vector<std::string> words = step;
        words.insert(words.end(), {"--compensation", std::string(R"({"topic":")") + topic + "\"}", "--wait"});
        return words;
    };
    submit(world, "done-1", {"--wait"});
    submit(world, "done-2", {"--wait"});
    submit(world, "bad-alone", {"--wait"});
    submit(world, "step-1", undone_by("job.default"));
    submit(world, "step-2", undone_by("job.default"));
    submit(world, "signed-1", {"--topic", "job.signed"});
    submit(world, "signed-2", {"--topic", "job.signed"});
    wait_for(world, "APPROVAL_REQUIRED", 2);
    submit(world, "hang-1");
    submit(world, "hang-few", {"--tenant", "few"});
    submit(world, "hang-cancelled");
    wait_for(world, "RUNNING", 3);
    world.ctl({"cancel", "hang-cancelled"});
    wait_for(world, "CANCELLED", 1);
    submit(world, "few-1", {"--tenant", "few"});
    submit(world, "few-2", {"--tenant", "few"});
    submit(world, "rare-1", {"--topic", "job.rare"});
    submit(world, "slow-1");
    submit(world, "bad-step", step);
    wait_for(world, "RUNNING", 4);
    NatsPeer results(world.nats().port());
    results.subscribe("sys.job.result");
    scheduler.kill();
    submit(world, "fresh-1");
    submit(world, "fresh-2", {"--publish-only"});
    // Both say how they ended, and no scheduler hears it.
    const auto told = [&results](std::string_view job) {
        results.settle();
        return std::ranges::any_of(results.received(),
                                   [job](const std::string& packet) { return packet.find(job) != packet.npos; });
    };
    if (!Deployment::until([&] { return told("bad-step") && told("slow-1"); }, 10s))
        throw std::runtime_error("the worker has not told of its jobs\n" + worker.output());
    worker.kill();
}

}  // namespace lockstep::prod::testing
