// `lockstep` with an invariant of one's own, which all of its subcommands judge: no job is sent to a worker a second time. A rule that has
// to remember something is a lambda with captures: each run makes it anew.
#include <iostream>
#include <string>
#include <vector>

#include <sim/cli/cli.h>
#include <sim/judge/rules.h>
#include <sim/run/run_scenario.h>

namespace sim = lockstep::sim;

namespace {

void sent_once(const sim::Sent& sent, const sim::Model& /*model*/, sim::Verdict& verdict) {
    verdict.exercised();
    verdict.require(sent.number <= 1, 0, "it is sent {} times", sent.number);
}

void make_rules(sim::Rules& rules, const lockstep::engine::Tunables& /*tunables*/) { rules.add(sent_once); }

sim::RunResult run_judged(const sim::Scenario& scenario, std::uint64_t seed, const sim::RunOptions& options) {
    sim::RunOptions with_own = options;
    with_own.rules = {{"sent_once", make_rules}};
    return sim::run_scenario(scenario, seed, with_own);
}

}  // namespace

int main(int argc, char** argv) {
    const std::vector<std::string> args(argv + 1, argv + argc);
    return sim::cli::cli_main(args, {.out = std::cout, .err = std::cerr, .runner = run_judged});
}
