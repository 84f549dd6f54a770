// Whatever a scheduler or workflow engine writes or sends is in the register of outputs (outputs.txt), which says who judges it.
#include "sim/rules/outputs.h"
#include "sim/rules/rules.h"

namespace lockstep::sim::rules {

void unclaimed_output(Rules& rules, const engine::Tunables&) {
    rules.add([](const OutputMet& met, const Model&, Verdict& verdict) {
        verdict.exercised();
        verdict.require(find_output(met.name) != nullptr, 0, "{} is in no entry of the register of outputs", met.name);
    });
}

}  // namespace lockstep::sim::rules
