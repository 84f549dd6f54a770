#include "prod/upgrade/half_done.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>
#include <utility>

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

/// None is reached while work is left half done, however slow the machine.
constexpr const char* kLongTimeouts =
    "reconciler: {dispatch_timeout_seconds: 600, running_timeout_seconds: 600, scan_interval_seconds: 1}\n";
constexpr const char* kShortTimeouts =
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
    const bool there = Deployment::until([&] { return world.states()[state] == jobs; }, 60s);
    if (!there) throw std::runtime_error("not " + std::to_string(jobs) + " jobs are " + state + "\n" + world.logs());
}

/// Topic job.signed needs a person, and tenant `few` has one slot.
void agree_on(Deployment& world) {
    world.environment["SAFETY_POLICY_PATH"] = write(world.folder() / "policy.yaml", kPolicy);
    world.environment["POOL_CONFIG_PATH"] = write(world.folder() / "pools.yaml", kPools);
    world.environment["TIMEOUT_CONFIG_PATH"] = write(world.folder() / "timeouts.yaml", kLongTimeouts);
    world.stop_kernel();
    world.start_kernel();
}

/// By their ids: `hang…` never ends, `slow-1` and `bad-step` end once the file is there, `bad…` fails for good.
std::vector<std::string> worker_that_hangs(const std::filesystem::path& go) {
    return {"--max-parallel", "20", "--exec",
            "case \"$CORDUM_JOB_ID\" in hang*) exec sleep 300;; slow-1|bad-step) until [ -e " + go.string() +
                " ]; do sleep 0.1; done;; esac; case \"$CORDUM_JOB_ID\" in bad*) exit 65;; esac; cat"};
}

std::vector<std::string> worker_that_ends() { return {"--max-parallel", "20", "--exec", "cat"}; }

CarriedOn look(Deployment& world) {
    constexpr std::string_view kUndoing = "comp-";
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
    static const CarriedOn promised{.ends = {{"done-1", "SUCCEEDED"},
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
                                    .executed = {{"done-1", 1},
                                                 {"done-2", 1},
                                                 {"bad-alone", 1},
                                                 {"step-1", 1},
                                                 {"step-2", 1},
                                                 {"bad-step", 1},
                                                 {"signed-1", 1},
                                                 {"slow-1", 1},
                                                 {"hang-1", 1},
                                                 {"hang-cancelled", 1},
                                                 {"hang-few", 1},
                                                 {"few-1", 1},
                                                 {"few-2", 1},
                                                 {"rare-1", 1},
                                                 {"fresh-1", 1},
                                                 {"fresh-2", 1}},
                                    .undone = 2};
    return promised;
}

void leave_half_done(Deployment& world) {
    agree_on(world);
    Program& scheduler = world.add_scheduler();
    const std::filesystem::path go = world.folder() / "go";
    Program& worker = world.add_worker("w1", worker_that_hangs(go));
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
    write(go, "");
    // Both say how they ended, and no scheduler hears it.
    const auto told = [&results](std::string_view job) {
        results.settle();
        return std::ranges::any_of(results.received(),
                                   [job](const std::string& packet) { return packet.find(job) != packet.npos; });
    };
    if (!Deployment::until([&] { return told("bad-step") && told("slow-1"); }, 60s))
        throw std::runtime_error("the worker has not told of its jobs\n" + worker.output());
    worker.kill();
}

CarriedOn carry_on(Deployment& world) {
    write(world.folder() / "timeouts.yaml", kShortTimeouts);
    world.add_worker("w1", worker_that_ends());
    auto of_another_pool = worker_that_ends();
    of_another_pool.insert(of_another_pool.end(), {"--pool", "rare"});
    world.add_worker("w2", std::move(of_another_pool));
    world.stop_kernel();
    world.start_kernel();
    world.add_scheduler();
    world.ctl({"approve", "signed-1"});
    world.ctl({"reject", "signed-2"});
    static_cast<void>(Deployment::until([&] { return look(world) == as_promised(); }, 90s));
    return look(world);
}

std::string to_text(const CarriedOn& found) {
    return nlohmann::json{{"ends", found.ends}, {"executed", found.executed}, {"undone", found.undone}}.dump(1);
}

}  // namespace lockstep::prod::testing
