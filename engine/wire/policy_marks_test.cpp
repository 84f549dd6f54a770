#include "engine/wire/policy_marks.h"

#include <gtest/gtest.h>

#include "engine/wire/messages.h"
#include "engine/wire/packet.h"

namespace lockstep::engine::wire {
namespace {

cap::JobRequest honest() {
    cap::JobRequest request;
    request.set_job_id("j1");
    (*request.mutable_labels())["team"] = "travel";
    (*request.mutable_env())["CORDUM_REGION"] = "eu";
    return request;
}

TEST(PolicyMarks, WhatASubmitterMayWriteIsNone) {
    auto request = honest();
    EXPECT_FALSE(carries_policy_marks(request));
    const std::string before = serialise(request);
    strip_policy_marks(request);
    EXPECT_EQ(serialise(request), before);
}

TEST(PolicyMarks, AreTakenOffWhereverTheyStand) {
    for (const char* label : kPolicyLabels) {
        for (int place = 0; place < 4; ++place) {
            auto request = honest();
            auto& compensation = *request.mutable_compensation();
            auto& map = place == 0   ? *request.mutable_labels()
                        : place == 1 ? *request.mutable_meta()->mutable_labels()
                        : place == 2 ? *compensation.mutable_labels()
                                     : *compensation.mutable_meta()->mutable_labels();
            map[label] = "true";
            EXPECT_TRUE(carries_policy_marks(request)) << label << " at " << place;
            strip_policy_marks(request);
            EXPECT_FALSE(carries_policy_marks(request)) << label << " at " << place;
            EXPECT_EQ(request.labels().at("team"), "travel");
        }
    }
    for (const char* variable : kPolicyVariables) {
        for (const bool of_compensation : {false, true}) {
            auto request = honest();
            auto& env = of_compensation ? *request.mutable_compensation()->mutable_env() : *request.mutable_env();
            env[variable] = "9";
            EXPECT_TRUE(carries_policy_marks(request)) << variable;
            strip_policy_marks(request);
            EXPECT_FALSE(carries_policy_marks(request)) << variable;
            EXPECT_EQ(request.env().at("CORDUM_REGION"), "eu");
        }
    }
}

}  // namespace
}  // namespace lockstep::engine::wire
