#include "engine/wire/error_codes.h"

#include <gtest/gtest.h>

#include "engine/wire/messages.h"

namespace lockstep::engine::wire {
namespace {

// OUT-04, the numbers as they stand on the wire.
TEST(ErrorCodes, WordsMapToNumbers) {
    EXPECT_EQ(error_code_of("approval_rejected"), 300);
    EXPECT_EQ(error_code_of("policy_denied"), 300);
    EXPECT_EQ(error_code_of("policy_violation"), 301);
    EXPECT_EQ(error_code_of("max_scheduling_retries"), 201);
    EXPECT_EQ(error_code_of("timeout"), 200);
    EXPECT_EQ(error_code_of("permission_denied"), 202);
    EXPECT_EQ(error_code_of("safety_denied"), 0);
    EXPECT_EQ(error_code_of("TIMEOUT"), 0);
    EXPECT_EQ(error_code_of(""), 0);
}

TEST(ErrorCodes, AResultThatHasANumberKeepsIt) {
    cap::JobResult result;
    result.set_error_code("timeout");
    fill_error_code(result);
    EXPECT_EQ(result.error_code_enum(), cap::ERROR_CODE_JOB_TIMEOUT);
    result.set_error_code("policy_violation");
    fill_error_code(result);
    EXPECT_EQ(result.error_code_enum(), cap::ERROR_CODE_JOB_TIMEOUT);
    result.set_error_code_enum(static_cast<cap::ErrorCode>(1234));  // an application's own
    fill_error_code(result);
    EXPECT_EQ(result.error_code_enum(), 1234);
}

}  // namespace
}  // namespace lockstep::engine::wire
