// records_true: what stands in Redis about a job says what was asked for and what has happened, in the documented words and units
// (redis-schema.md 2 to 4; wire.md 5.9, 8, 8.2 and 9).
//
// 1. Dead letters. An entry that a scheduler writes has the documented fields, names its job, topic, tries and state, and its code
//    and status say what became of the job: those of the worker's result, where that ended it, else those of the scheduler's
//    reason. What the bus is told of it is the same, or that of an entry that was evicted, with the number that belongs to the code.
// 2. Times. Whatever is dated by the clock of Redis is: microseconds, of dead letters seconds, and of the instant of the write.
//    The indexes agree with the record: the score of a job is when its record says that it was updated.
// 3. The request. The first time that a scheduler stores a request, the fields of the job's hash are those that the request has.
//    No scheduler puts another one in its place. An idempotency key that it records is that of the request, under its tenant.
// 4. Policy. A decision that is recorded is one that was heard about the job, with its reason, rule and snapshot, or one of those
//    that a scheduler comes to by itself; the list of decisions says the same as the hash.
//    What an approval is bound to is the hash of a request that was stored.
// 5. Outputs. A recorded verdict is one that was heard, of the phase in which the job is, and names what stands in for an output
//    that is redacted. What stands in is there, and holds what policy has seen but for what it has found: each place of a finding,
//    or all where it names none, is replaced, and so is what policy has not seen.
//    The verdict of a scan stands: another one takes its place only together with a new state of the job, or a new result.
// 6. Dispatches. No two of a job have the same message id, which a stream would take for a repetition.
// 7. Settings. Whoever writes those of the system at its start adds to what stood there, changes none of it, and counts the revision up.
//
// Judged as each command of a scheduler ends. Jobs of which Redis has lost something are left out.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/wire/fwd.h"
#include "sim/model/letter_text.h"
#include "sim/spec/letter_codes.h"
#include "sim/oracles/oracle.h"

namespace lockstep::sim {

class RecordsTrue final : public Oracle {
public:
    static constexpr fakes::EventKinds kWanted =
        fakes::EventKinds{fakes::EventKind::read_back,    fakes::EventKind::deliver,   fakes::EventKind::kernel_check,
                          fakes::EventKind::output_check, fakes::EventKind::node_down, fakes::EventKind::publish,
                          fakes::EventKind::fault};
    using Oracle::Oracle;
    [[nodiscard]] std::string_view invariant() const override { return "records_true"; }

    void on_event(const fakes::Event& event, Time now) override;
    void command(fakes::NodeId client, std::span<const std::string_view> words, std::int64_t now_ms) override;
    void string_set(fakes::NodeId client, std::string_view key, const std::string* before, std::string_view after,
                    std::int64_t expires_before, std::int64_t expires_at) override;
    void hash_set(fakes::NodeId client, std::string_view key, std::string_view field, const std::string* before,
                  std::string_view after) override;
    void list_inserted(fakes::NodeId client, std::string_view key, std::size_t index, std::string_view value) override;
    void zset_set(fakes::NodeId client, std::string_view key, std::string_view member, const double* before,
                  double after) override;
    void key_removed(fakes::NodeId client, std::string_view key, fakes::redis::Removal why,
                     const fakes::redis::Value& last, std::int64_t expires_at) override;
    void restored(const fakes::redis::Keyspace& now) override;

private:
    using Fields = std::map<std::string, std::string, std::less<>>;

    /// What a worker has reported, as a letter would put it.
    struct Report {
        std::string status, code, reason;
        friend bool operator==(const Report&, const Report&) = default;
    };
    /// What policy has said: of a job, or of its output.
    struct Word {
        std::string decision, reason, rule, snapshot;
        std::string more;  // the reference of an approval; the number of findings
        friend bool operator==(const Word&, const Word&) = default;
    };
    struct Job {
        std::string state, topic, attempts;         // as its hash says
        std::set<std::string, std::less<>> topics;  // that its hash and its stored requests have had
        bool any_topic = false;                     // a stored request could not be read
        std::vector<Report> reports;
        std::vector<Word> decisions;          // about the job
        std::vector<Word> verdicts;           // about its output
        std::vector<std::string> redactions;  // what may stand in for it, by the last answers
        std::string stand_in;                 // where policy itself has put one
        std::vector<std::string> hashes;      // of its stored requests, as an approval is bound to them
        std::string dispatches;               // how many it has had
        std::vector<std::pair<std::string, std::string>>
            sent_as;  // message ids, and the number of the dispatch of each
        std::optional<LetterText> letter;
        std::vector<LetterText> evicted_letters;  // of which the bus may still be told
        std::string idempotency_key;              // the name of the key that its stored request asks for; empty: none
    };
    /// What the present command does to one job.
    struct Change {
        std::string job;
        std::optional<std::string> from;      // the state before, where it writes one
        Fields fields;                        // of the hash
        std::optional<std::string> request;   // stored for the first time
        std::optional<std::string> output;    // the record of a verdict
        std::string verdict_before;           // that it takes the place of
        std::string idempotency_key;          // that is recorded for it
        std::optional<std::string> decision;  // as added to the list
        std::optional<LetterText> letter;
        std::vector<std::pair<std::string, double>> scores;  // by index
    };

    void note_result(const cap::JobResult& result);
    void note_answer(const fakes::Event& event);
    void note_verdict(const fakes::Event& event);
    void note_shown(const fakes::Event& event);
    void note_redaction(const fakes::Event& event, const cap_output::OutputCheckResponse& answer);
    void judge_stand_in(const Change& change, const Job& job, std::string_view pointer);
    void note_request(std::string_view job, std::string_view json);
    void on_letter(std::string_view id, std::string_view entry);
    void note_evicted_letter(std::string_view id);
    void on_told(const fakes::Event& event);
    void on_sent(const fakes::Event& event);
    void on_settings(const std::string* before, std::string_view after);

    [[nodiscard]] bool judges(fakes::NodeId client) const;
    Change& change_of(std::string_view job);
    void settle();
    void judge(const Change& change);
    void judge_letter(const Change& change, const Job& job);
    void judge_cause(const Change& change, const Job& job);
    void judge_request(const Change& change);
    void judge_decision(const Change& change, const Job& job);
    void judge_output(const Change& change, const Job& job);
    /// It is to be now. `micros`: as it was written.
    void judge_time(std::string_view job, std::string_view what, std::string_view micros);
    void judge_time(std::string_view job, std::string_view what, double at_ms);
    void object(std::string_view job, std::string detail) { violated(client_, job, std::move(detail)); }

    std::map<std::string, Job, std::less<>> jobs_;
    /// What policy was shown of an output.
    struct Shown {
        std::string content;
        bool cut_off = false;
    };
    std::map<std::pair<fakes::NodeId, std::string>, Shown> shown_;  // by who asks, and about which job
    std::map<std::string, std::string, std::less<>> stand_ins_;     // of redacted outputs, by key
    std::vector<Change> changes_;                                   // of the present command
    fakes::NodeId client_;                                          // whose command it is; not valid: none is under way
    std::int64_t now_ms_ = 0;
    bool clocks_jumped_ = false;
};

}  // namespace lockstep::sim
