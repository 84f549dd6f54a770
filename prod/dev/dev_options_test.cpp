// C2, C11: the command line of `lockstep dev`, and what it says of mistakes.
#include "prod/dev/dev_options.h"

#include <gtest/gtest.h>

#include <fstream>
#include <vector>

#include "prod/dev/playground.h"
#include "prod/dev/test_listener.h"

namespace lockstep::prod {
namespace {

tl::expected<DevOptions, int> parsed(std::vector<const char*> words) {
    words.insert(words.begin(), "lockstep-dev");
    return parse_dev_options(static_cast<int>(words.size()), words.data());
}

/// What is printed for it; the exit code has to be 2.
std::string refusal(std::vector<const char*> words) {
    ::testing::internal::CaptureStderr();
    const auto options = parsed(std::move(words));
    EXPECT_FALSE(options);
    if (!options) EXPECT_EQ(options.error(), 2);
    return ::testing::internal::GetCapturedStderr();
}

TEST(DevOptions, WithoutAnyItIsOneReplicaOnFreePorts) {
    const auto options = parsed({});
    ASSERT_TRUE(options);
    EXPECT_EQ(options->replicas, 1);
    EXPECT_EQ(options->redis_port, 0);
    EXPECT_FALSE(options->until_done);
    EXPECT_FALSE(options->run_for);
}

TEST(DevOptions, WhatIsGivenIsTaken) {
    const auto options =
        parsed({"--replicas", "3", "--env", "A=b=c", "--env", "D=", "--for", "1m", "--nats-port", "4222"});
    ASSERT_TRUE(options);
    EXPECT_EQ(options->replicas, 3);
    EXPECT_EQ(options->nats_port, 4222);
    EXPECT_EQ(options->environment, (std::map<std::string, std::string>{{"A", "b=c"}, {"D", ""}}));
    EXPECT_EQ(options->run_for, std::chrono::minutes(1));
}

TEST(DevOptions, MistakesAreNamedWithTheirOption) {
    EXPECT_NE(refusal({"--env", "=x"}).find("--env: expected NAME=VALUE, got \"=x\""), std::string::npos);
    EXPECT_NE(refusal({"--for", "soon"}).find("--for"), std::string::npos);
    EXPECT_NE(refusal({"--for", "0s"}).find("--for: must be longer than nothing"), std::string::npos);
    EXPECT_NE(refusal({"--service-time", "fast"}).find("--service-time"), std::string::npos);
    EXPECT_NE(refusal({"--replicas", "0"}).find("--replicas"), std::string::npos);
    EXPECT_NE(refusal({"--policy", "/no/such/file"}).find("--policy"), std::string::npos);
    EXPECT_NE(refusal({"--until-done", "--for", "1s"}).find("excludes"), std::string::npos);
    EXPECT_NE(refusal({"--until-done", "--workers", "0"}).find("--workers 0"), std::string::npos);
    EXPECT_NE(refusal({"--metrics-port", "65535", "--replicas", "2"}).find("--metrics-port"), std::string::npos);
}

std::string trouble_with(DevOptions options) {
    try {
        const Playground playground(std::move(options), {});
    } catch (const std::runtime_error& error) {
        return error.what();
    }
    return {};
}

TEST(Playground, APortThatIsTakenIsNamedWithItsOption) {
    EXPECT_EQ(trouble_with({}), "");
    const LoopbackPort port(0);
    const testing::Listener stranger(port.number());
    DevOptions options;
    options.nats_port = port.number();
    const std::string said = trouble_with(options);
    EXPECT_NE(said.find("--nats-port: port " + std::to_string(port.number()) +
                        " of 127.0.0.1 cannot be had: Address already"),
              std::string::npos)
        << said;
    EXPECT_NE(said.find("Leave the option out for a free one"), std::string::npos);
}

TEST(Playground, AMistakeInThePoolsFileIsNamedWithItsPlace) {
    const DevFolder folder(false);
    DevOptions options;
    options.pools_file = folder.path() / "pools.yaml";
    std::ofstream(options.pools_file) << "topics:\n  job.x: []\n";
    const std::string said = trouble_with(options);
    EXPECT_NE(said.find("--pools: " + options.pools_file + ":2"), std::string::npos) << said;
}

}  // namespace
}  // namespace lockstep::prod
