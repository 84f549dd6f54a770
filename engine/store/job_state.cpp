#include "engine/store/job_state.h"

#include <algorithm>
#include <array>

#include "engine/wire/messages.h"

namespace lockstep::engine {

namespace {

constexpr std::array<std::string_view, kJobStateCount> kNames{
    "PENDING", "APPROVAL_REQUIRED", "SCHEDULED", "DISPATCHED", "RUNNING",           "SUCCEEDED",
    "FAILED",  "CANCELLED",         "TIMEOUT",   "DENIED",     "OUTPUT_QUARANTINED"};

// Rows: from, the last one absent. Columns: to, in the order of the enumeration.
constexpr std::array<std::string_view, kJobStateCount + 1> kAllowed{
    //  PEN APP SCH DIS RUN SUC FAI CAN TIM DEN OUT
    "-xxxxxx-xx-",  // PENDING
    "x-xxxxx-xx-",  // APPROVAL_REQUIRED
    "-xxxxxxxxxx",  // SCHEDULED; to APPROVAL_REQUIRED when policy changed its mind between two tries
    "--x-xxxxx-x",  // DISPATCHED
    "-----xxxx-x",  // RUNNING
    "----------x",  // SUCCEEDED
    "-----------", "-----------", "-----------", "-----------", "-----------",
    "xxxxx-x----",  // absent
};

constexpr std::size_t index_of(JobState state) { return static_cast<std::size_t>(state); }

std::array<std::string, kJobStateCount> make_sources() {
    std::array<std::string, kJobStateCount> sources;
    for (std::size_t to = 0; to < kJobStateCount; ++to) {
        sources[to] = ",";
        for (std::size_t from = 0; from <= kJobStateCount; ++from) {
            if (kAllowed[from][to] != 'x') continue;
            if (from < kJobStateCount) sources[to] += kNames[from];
            sources[to] += ',';
        }
    }
    return sources;
}

}  // namespace

std::string_view to_string(JobState state) { return kNames[index_of(state)]; }

std::optional<JobState> parse_job_state(std::string_view name) {
    const auto* found = std::ranges::find(kNames, name);
    if (found == kNames.end()) return std::nullopt;
    return static_cast<JobState>(found - kNames.begin());
}

bool transition_allowed(std::optional<JobState> from, JobState to) {
    return kAllowed[from ? index_of(*from) : kJobStateCount][index_of(to)] == 'x';
}

const std::string& sources_of(JobState to) {
    static const auto kSources = make_sources();
    return kSources[index_of(to)];
}

std::optional<JobState> state_of_result(cap::JobStatus status) {
    switch (status) {
        case cap::JOB_STATUS_SUCCEEDED: return JobState::succeeded;
        case cap::JOB_STATUS_CANCELLED: return JobState::cancelled;
        case cap::JOB_STATUS_DENIED: return JobState::denied;
        case cap::JOB_STATUS_TIMEOUT: return JobState::timeout;
        case cap::JOB_STATUS_UNSPECIFIED:
        case cap::JOB_STATUS_PENDING:
        case cap::JOB_STATUS_SCHEDULED:
        case cap::JOB_STATUS_DISPATCHED:
        case cap::JOB_STATUS_RUNNING: return std::nullopt;
        default: return JobState::failed;
    }
}

}  // namespace lockstep::engine
