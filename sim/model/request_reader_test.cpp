#include "sim/model/request_reader.h"
#include <gtest/gtest.h>

#include "engine/wire/json.h"
#include "engine/wire/messages.h"

namespace lockstep::sim {
namespace {

TEST(RequestReader, ReadsWhatIsARequestAndParsesItOnce) {
    cap::JobRequest request;
    request.set_job_id("J");
    request.set_topic("job.default");
    const std::string json = engine::wire::to_json(request);
    const RequestReader reader;
    const auto read = reader.read(json);
    ASSERT_NE(read, nullptr);
    EXPECT_EQ(read->topic(), "job.default");
    EXPECT_EQ(reader.read(std::string(json)), read);
    EXPECT_EQ(reader.read("{\"job_id\": 5"), nullptr);
    EXPECT_EQ(reader.read(json)->job_id(), "J");
}

}  // namespace
}  // namespace lockstep::sim
