// Each service that reads results beside the schedulers (sim/run/result_reader.h) reads every result that the stream holds, and reads it
// once, as far as the guard of messages promises it (BUS-03, C-13). What schedulers and workflow engines make of theirs is for job_history
// and run_progress.
//
// 1. A consumer acknowledges a result only after one of its own replicas has stored it: what another consumer has done about the message
//    does not matter. This is exercised where another consumer has acknowledged it before.
// 2. Before the acknowledgement comes the mark, `cordum:bus:processed:<stream>:<sequence>:<durable>`. A replica to which Redis does not
//    answer goes on without it (`bus_guard_on_error`); Redis may have lost it since.
// 3. A delivery that came after the mark is not handled, with the same exceptions. Without a mark a result may be read twice: its first
//    handler died, was frozen past the ack wait, or requeued it because it got no answer.
// 4. At the end each result was read or terminated, which takes a dead letter. Packets that cannot be parsed do not count, nor what a
//    power cut may have taken, nor what was in flight when another server began to lead the durable.
#include "sim/rules/rules.h"

namespace lockstep::sim::rules {

namespace {

void was_read(const ResultAcknowledged& acknowledged, const Model&, Verdict& verdict) {
    const auto& result = acknowledged.result;
    verdict.exercised(result.by_others_before);
    verdict.require(result.read != 0, result.stored,
                    "its result number {} is taken off the stream, and no replica of {} has heard it", result.sequence,
                    result.consumer);
    verdict.require(result.read == 0 || !result.is_mark_missing, result.read,
                    "its result number {} is taken off the stream by {}, and nothing marks it as processed",
                    result.sequence, result.consumer);
}

void is_not_read_twice(const ResultRead& read, const Model&, Verdict& verdict) {
    verdict.require(read.repeated.sequence == 0, read.repeated.read,
                    "its result number {} comes to {} with the mark of having been processed, and is heard again",
                    read.repeated.sequence, read.repeated.consumer);
}

void all_are_read(const AllAtRest&, const Model& model, Verdict& verdict) {
    const ResultReaders& readers = model.result_readers();
    for (const auto& [sequence, result] : readers.results()) {
        verdict.about(result.job);
        for (const ResultReaders::Reading& reading : result.readings)
            verdict.require(reading.is_over, result.stored,
                            "its result is number {} of the stream, and at the end {} has not heard it", sequence,
                            readers.name_of(reading.consumer));
    }
}

}  // namespace

void result_heard(Rules& rules, const engine::Tunables& /*tunables*/) {
    rules.add(was_read);
    rules.add(is_not_read_twice);
    rules.add<ResultRead>(all_are_read);
}

}  // namespace lockstep::sim::rules
