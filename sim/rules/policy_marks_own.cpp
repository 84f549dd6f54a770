// The labels and variables by which policy and the scheduler tell a worker what was decided come from them alone. What a submitter has
// written under one of these names reaches neither policy nor a worker nor a recorded compensation (D-08).
//
// A value counts as the submitter's when it is one that a submission of the job carried, and neither policy's answers about
// the job nor the fail mode can have brought it about.
#include "engine/wire/policy_marks.h"
#include "sim/rules/rules.h"
#include "sim/spec/policy_leave.h"

namespace lockstep::sim::rules {

namespace {

void records_none(const CompensationRecorded& recorded, const Model&, Verdict& verdict) {
    verdict.require(!recorded.carries_marks, 0, "its recorded compensation carries what only policy may write");
}

}  // namespace

void policy_marks_own(Rules& rules, const engine::Tunables& tunables) {
    rules.add(records_none);
    rules.add([&tunables](const MarksCarried& carried, const Model& model, Verdict& verdict) {
        verdict.exercised(!carried.about_output);
        const bool may_fail_open = spec::may_fail_open(model, tunables);
        for (const ForeignMark& mark : carried.marks)
            verdict.require(may_fail_open && spec::is_of_the_fail_mode(mark.name, mark.value), mark.submitted,
                            "its submitter wrote {}=\"{}\", and {} carries it", mark.name, mark.value, mark.carrier);
    });
}

}  // namespace lockstep::sim::rules
