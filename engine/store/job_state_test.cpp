#include "engine/store/job_state.h"

#include <gtest/gtest.h>

#include <vector>

#include "engine/wire/messages.h"

namespace lockstep::engine {
namespace {

using enum JobState;

std::vector<JobState> all_states() {
    std::vector<JobState> states;
    for (int i = 0; i < kJobStateCount; ++i) states.push_back(static_cast<JobState>(i));
    return states;
}

std::vector<JobState> targets_of(std::optional<JobState> from) {
    std::vector<JobState> targets;
    for (const JobState to : all_states()) {
        if (transition_allowed(from, to)) targets.push_back(to);
    }
    return targets;
}

TEST(JobState, NamesReadBack) {
    for (const JobState state : all_states()) EXPECT_EQ(parse_job_state(to_string(state)), state);
    EXPECT_EQ(parse_job_state(""), std::nullopt);
    EXPECT_EQ(parse_job_state("pending"), std::nullopt);
    EXPECT_EQ(parse_job_state("PENDING "), std::nullopt);
}

// The table of the schema document, row by row; SCHEDULED to APPROVAL_REQUIRED is our addition.
TEST(JobState, TransitionsAreThoseOfTheTable) {
    using States = std::vector<JobState>;
    EXPECT_EQ(targets_of(std::nullopt), (States{pending, approval_required, scheduled, dispatched, running, failed}));
    EXPECT_EQ(targets_of(pending),
              (States{approval_required, scheduled, dispatched, running, succeeded, failed, timeout, denied}));
    EXPECT_EQ(targets_of(approval_required),
              (States{pending, scheduled, dispatched, running, succeeded, failed, timeout, denied}));
    EXPECT_EQ(targets_of(scheduled), (States{approval_required, scheduled, dispatched, running, succeeded, failed,
                                             cancelled, timeout, denied, output_quarantined}));
    EXPECT_EQ(targets_of(dispatched),
              (States{scheduled, running, succeeded, failed, cancelled, timeout, output_quarantined}));
    EXPECT_EQ(targets_of(running), (States{succeeded, failed, cancelled, timeout, output_quarantined}));
}

// STATE-02
TEST(JobState, AFinalStateStaysButForAQuarantineOfASuccess) {
    for (const JobState state : all_states()) {
        if (!is_terminal(state)) continue;
        const std::vector<JobState> expected =
            state == succeeded ? std::vector<JobState>{output_quarantined} : std::vector<JobState>{};
        EXPECT_EQ(targets_of(state), expected) << to_string(state);
    }
}

// STATE-03
TEST(JobState, OnlyScheduledMayFollowItself) {
    for (const JobState state : all_states())
        EXPECT_EQ(transition_allowed(state, state), state == scheduled) << to_string(state);
}

// STATE-04, STATE-05, STATE-06
TEST(JobState, WaitingJobsMayEndAndOnlyAnUnsentDispatchIsUndone) {
    for (const JobState to : {failed, timeout, dispatched})
        EXPECT_TRUE(transition_allowed(pending, to)) << to_string(to);
    for (const JobState to : {failed, succeeded, cancelled, timeout})
        EXPECT_TRUE(transition_allowed(scheduled, to)) << to_string(to);
    EXPECT_TRUE(transition_allowed(dispatched, scheduled));
    EXPECT_FALSE(transition_allowed(running, scheduled));
    EXPECT_TRUE(transition_allowed(running, output_quarantined));
}

TEST(JobState, SourcesForTheScriptsAgreeWithTheTable) {
    for (const JobState to : all_states()) {
        const std::string& sources = sources_of(to);
        for (const JobState from : all_states()) {
            const bool listed = sources.find("," + std::string(to_string(from)) + ",") != std::string::npos;
            EXPECT_EQ(listed, transition_allowed(from, to)) << to_string(from) << " -> " << to_string(to);
        }
        EXPECT_EQ(sources.find(",,") != std::string::npos, transition_allowed(std::nullopt, to)) << to_string(to);
    }
}

TEST(JobState, AWorkersStatusNamesTheFinalState) {
    EXPECT_EQ(state_of_result(cap::JOB_STATUS_SUCCEEDED), succeeded);
    EXPECT_EQ(state_of_result(cap::JOB_STATUS_COMPLETED), succeeded);  // OUT-02
    EXPECT_EQ(state_of_result(cap::JOB_STATUS_FAILED), failed);
    EXPECT_EQ(state_of_result(cap::JOB_STATUS_FAILED_RETRYABLE), failed);
    EXPECT_EQ(state_of_result(cap::JOB_STATUS_FAILED_FATAL), failed);
    EXPECT_EQ(state_of_result(cap::JOB_STATUS_CANCELLED), cancelled);
    EXPECT_EQ(state_of_result(cap::JOB_STATUS_TIMEOUT), timeout);
    EXPECT_EQ(state_of_result(cap::JOB_STATUS_DENIED), denied);
    EXPECT_EQ(state_of_result(static_cast<cap::JobStatus>(99)), failed);
    for (const auto status :
         {cap::JOB_STATUS_PENDING, cap::JOB_STATUS_SCHEDULED, cap::JOB_STATUS_DISPATCHED, cap::JOB_STATUS_RUNNING})
        EXPECT_EQ(state_of_result(status), std::nullopt) << status;
}

}  // namespace
}  // namespace lockstep::engine
