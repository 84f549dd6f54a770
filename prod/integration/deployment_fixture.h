// What every test of a whole deployment begins and ends with: skipped where the servers are not installed, and the logs of
// all programs shown when something has failed.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "prod/integration/deployment.h"

namespace lockstep::prod::testing {

class DeploymentFixture : public ::testing::Test {
protected:
    void SetUp() override {
        if (!Deployment::possible()) GTEST_SKIP() << "redis-server or nats-server is not installed";
        world = std::make_unique<Deployment>();
    }
    void TearDown() override {
        if (world && HasFailure()) std::fputs(world->logs().c_str(), stderr);
    }

    std::unique_ptr<Deployment> world;
};

}  // namespace lockstep::prod::testing
