// A workflow run is advanced by one holder of its lock at a time: the turns of two holders never overlap. Where the settings let
// replicas go without the lock (`wf_on_redis_error`, `wf_on_contention`), only this is judged: no turn overwrites what another one has
// written since it began.
#include "sim/rules/rules.h"

namespace lockstep::sim::rules {

void run_exclusion(Rules& rules, const engine::Tunables&) {
    rules.add([](const RunChanged& changed, const Model& model, Verdict& verdict) {
        const auto& [run, turn, finished] = changed.change;
        for (const RunTurn& other : finished) {
            if (other.holder == turn.holder) continue;
            verdict.exercised();
            const bool overwrites = turn.wrote && other.wrote && other.end > turn.begin && other.end < turn.end;
            const bool overlaps = other.begin < turn.end && other.end > turn.begin;
            verdict.require(!overwrites && (model.runs_go_unlocked() || !overlaps), turn.read,
                            "the run {} was changed by {} since {} has read it, which changes it now", run,
                            other.holder, turn.holder);
        }
    });
}

}  // namespace lockstep::sim::rules
