// No result changes a job that was not sent out, or was sent to another worker: where the hash of a job names the worker by whose
// result it ends, the result may end it. A job succeeds only once it was sent out, gates excepted. What a result does to a job that has
// ended is for one_terminal_result.
#include "sim/rules/rules.h"
#include "sim/spec/result_rules.h"

namespace lockstep::sim::rules {

namespace {

void succeeds_only_when_sent_out(const StateChanged& change, const Model&, Verdict& verdict) {
    if (change.to != State::succeeded) return;
    verdict.require(is_out(change.from) || is_final(change.from) || change.job->is_gate, change.dispatch.since,
                    "it succeeds, and it was \"{}\": it has not been sent out", to_string(change.from));
}

}  // namespace

void result_from_its_worker(Rules& rules, const engine::Tunables& tunables) {
    rules.add(succeeds_only_when_sent_out);
    rules.add([&tunables](const RecordWritten& written, const Model& model, Verdict& verdict) {
        if (written.field != RecordField::worker_id) return;
        verdict.exercised();
        const Dispatch& sent = written.dispatch;
        const bool may = is_final(written.state) || spec::may_end(sent, written.worker, tunables);
        verdict.require(may || !sent.out, sent.since, "a result of worker \"{}\" ends it, and it was sent to {}",
                        written.after, model.name_of(sent.worker));
        verdict.require(may || sent.out, sent.since,
                        "a result of worker \"{}\" ends it, and it is \"{}\": it was not sent out", written.after,
                        to_string(written.state));
    });
}

}  // namespace lockstep::sim::rules
