// What the records of a job may say, by what its requests, workers and policy said, and what one command writes to them.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tl/expected.hpp>

#include "engine/wire/fwd.h"
#include "sim/model/letter_text.h"
#include "sim/model/output_scan.h"
#include "sim/model/state.h"
#include "sim/model/tries.h"

namespace lockstep::sim {

struct Job;

/// A bad result that a node received, as a dead letter would put it.
struct Report {
    std::string_view status;  // as protobuf names it
    std::string code, reason;
    friend bool operator==(const Report&, const Report&) = default;
};

/// An answer of policy about a job, or about its output.
struct PolicyAnswer {
    std::string_view decision;
    std::string reason, rule, snapshot;
    std::string more;  // the reference of an approval; the number of findings
    friend bool operator==(const PolicyAnswer&, const PolicyAnswer&) = default;
};

/// Part of the model of one job, and begun anew where its hash is removed.
struct RecordSources {
    static constexpr std::size_t kKept = 16;  // of each kind, the latest

    std::vector<std::string_view> topics;  // of its hash and its stored requests
    bool request_unread = false;           // a stored request could not be read, or was evicted: it may say anything
    std::vector<std::shared_ptr<const cap::JobRequest>> requests;  // that were stored
    std::string trace;                                             // as its hash says
    std::string trace_found;                                       // as it said when a handler last took the job
    std::string idempotency_key;  // the key that its stored request asks for; empty: none
    std::vector<Report> reports;
    std::vector<PolicyAnswer> decisions, verdicts;
    std::vector<std::string> redactions;                        // what may replace its output, by the last answers
    std::string replacement;                                    // where policy itself has put one
    std::string input_hash;                                     // as its hash says, and so the next two
    std::int64_t attempts = 0, dispatches = 0;                  // as its hash says
    double moved_by_others = 0;                                 // its date in job:recent, as a gateway wrote it
    std::vector<std::pair<std::string, std::int64_t>> sent_as;  // message ids, and the number of the dispatch of each
    std::optional<LetterText> letter;                           // that a scheduler wrote
    std::vector<LetterText> evicted_letters;                    // which may still be published

    template <class Value>
    static void keep(std::vector<Value>& kept, Value value) {
        if (std::ranges::count(kept, value) > 0) return;
        if (kept.size() >= kKept) kept.erase(kept.begin());
        kept.push_back(std::move(value));
    }
};

/// What one command of a scheduler writes to the records of one job.
struct RecordChange {
    const Job* job = nullptr;
    std::optional<State> from;                                // the state before, where it writes one
    std::vector<std::pair<std::string, std::string>> fields;  // of the hash
    std::vector<std::pair<std::string_view, double>> scores;  // by index
    std::vector<std::pair<std::string_view, double>>
        dated;                                    // entries of indexes and of its history, by ms_of or like it
    std::optional<std::string> request;           // stored for the first time
    std::optional<std::string> replaced_request;  // that another one has replaced
    std::optional<std::string> decision;          // as added to the list
    std::optional<std::string> output;            // the record of a verdict
    std::string verdict_before;                   // that it replaces
    std::optional<std::string> pointer;           // its result pointer, for older readers
    std::string idempotency_key;                  // that is recorded for it
    std::string idempotency_taken_from;           // the job that it was recorded for before
    std::optional<std::int64_t> attempts_before;  // where it writes attempts
    std::optional<tl::expected<LetterText, std::string>> letter;
    std::string letter_entry;
    std::optional<std::string> letter_before;  // that it replaces
    bool is_list_blocked = false;  // something else stands where jobs that moved, or a worker's jobs, are listed
    bool is_let_go = false;        // after that, its lock was released
    bool is_queued = false;        // it waits for capacity from then on
    bool is_woken = false;         // out of that
    bool is_recounted = false;     // its attempts are others than before
    bool is_chosen_again = false;  // a handler that chose a worker for it before chooses another
    std::optional<FailedTry> failed, failed_before;
    bool ends_scan = false;                // of its output
    std::optional<OutputScan> ended_scan;  // as it was; nothing: there was none, or it goes on

    /// The last value that it writes; null: it does not.
    [[nodiscard]] const std::string* find(std::string_view field) const {
        const auto found =
            std::ranges::find(fields.rbegin(), fields.rend(), field, &decltype(fields)::value_type::first);
        return found == fields.rend() ? nullptr : &found->second;
    }
    [[nodiscard]] bool has(std::string_view field) const { return find(field) != nullptr; }
    [[nodiscard]] std::string_view field(std::string_view name) const {
        const std::string* found = find(name);
        return found == nullptr ? std::string_view{} : *found;
    }
};

/// Not a number for what is none.
[[nodiscard]] inline double ms_of(std::string_view micros) {
    std::int64_t at = 0;
    const auto [end, error] = std::from_chars(micros.data(), micros.data() + micros.size(), at);
    const bool is_number = error == std::errc{} && end == micros.data() + micros.size();
    return is_number ? static_cast<double>(at) / 1000 : std::numeric_limits<double>::quiet_NaN();
}

/// What an approval is bound to: all of the request as it is stored but what belongs to the approval itself, to its message and to the
/// settings of the moment (wire.md 7.4; engine/delivery-semantics.md, "Tenants, and what only policy writes").
[[nodiscard]] std::string approval_hash(cap::JobRequest request, std::string_view job);

[[nodiscard]] std::string_view decision_of(const cap::PolicyCheckResponse& answer);

/// An output without what policy has found (wire.md 7.2), and without what it has not seen.
[[nodiscard]] std::string redacted(std::string_view content, bool cut_off,
                                   const cap_output::OutputCheckResponse& answer);

}  // namespace lockstep::sim
