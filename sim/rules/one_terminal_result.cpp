// Duplicate, late and conflicting results change nothing after the first final state: not the state, nor the result pointer, the worker
// and the reason that belong to it. Of results that conflict, the first in the stream brings that state.
#include "sim/rules/rules.h"
#include "sim/spec/result_rules.h"

namespace lockstep::sim::rules {

namespace {

void ends_once(const StateChanged& change, const Model& model, Verdict& verdict, const engine::Tunables& tunables) {
    if (change.end.state == State::absent && is_final(change.to)) {
        verdict.exercised();
        // A jump of a clock may take the ack wait away.
        const spec::Overtaken found = model.clocks_jumped() ? spec::Overtaken{}
                                                            : spec::overtaken(*change.job, change.dispatch, change.node,
                                                                              change.to, change.at, tunables);
        verdict.cite("engine/delivery-semantics.md#results-that-contradict-each-other");
        verdict.require(found.earlier == 0, found.known.event,
                        "its result number {} makes it {}, and number {}, which says otherwise, had been in hand "
                        "before and is not settled",
                        found.later, to_string(change.to), found.earlier);
    } else if (change.end.state != State::absent) {
        const bool quarantine = change.end.state == State::succeeded && change.to == State::output_quarantined;
        verdict.require(change.to == change.in_hash || quarantine, change.end.event,
                        "it ended {}, and then state changed from \"{}\" to \"{}\"", to_string(change.end.state),
                        to_string(change.in_hash), to_string(change.to));
    }
}

/// A quarantine may swap or explain the output of the success that it takes back.
void keeps_its_record(const RecordWritten& written, const Model&, Verdict& verdict) {
    const bool same = !written.is_new && written.before == written.after;
    const bool quarantine = written.end.state == State::succeeded && written.field != RecordField::worker_id;
    verdict.require(written.end.state == State::absent || same || quarantine, written.end.event,
                    "it ended {}, and then {} changed from \"{}\" to \"{}\"", to_string(written.end.state),
                    kRecordFieldNames[static_cast<std::size_t>(written.field)], written.before, written.after);
}

}  // namespace

void one_terminal_result(Rules& rules, const engine::Tunables& tunables) {
    rules.add([&tunables](const StateChanged& change, const Model& model, Verdict& verdict) {
        ends_once(change, model, verdict, tunables);
    });
    rules.add(keeps_its_record);
}

}  // namespace lockstep::sim::rules
