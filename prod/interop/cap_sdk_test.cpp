// The SDK that the protocol's authors publish for Python, on both sides of lockstepd: its worker runs what lockstepd dispatches, its
// client hears what a worker of ours has done, and every packet of ours is, byte for byte, what it makes of the fields that it knows.
// Exit code 77: the SDK cannot be had here.
#include <google/protobuf/descriptor.pb.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "engine/wire/messages.h"
#include "prod/integration/deployment_fixture.h"
#include "prod/integration/nats_peer.h"

namespace lockstep::prod::testing {
namespace {

using namespace std::chrono_literals;

std::string sdk_python;

std::string hexadecimal(const std::string& bytes) {
    constexpr const char* kDigits = "0123456789abcdef";
    std::string text;
    for (const unsigned char byte : bytes) {
        text += kDigits[byte >> 4U];
        text += kDigits[byte & 15U];
    }
    return text;
}

class CapSdkTest : public DeploymentFixture {
protected:
    Program sdk(std::vector<std::string> arguments) {
        std::vector<std::string> line{sdk_python, LOCKSTEP_INTEROP_FOLDER "/cap_sdk_peer.py"};
        line.insert(line.end(), arguments.begin(), arguments.end());
        const auto output = world->folder() / ("sdk-" + arguments.at(0) + ".log");
        return {std::move(line), world->environment, output};
    }
    /// What it prints when it has ended well.
    std::string sdk_says(std::vector<std::string> arguments) {
        Program program = sdk(std::move(arguments));
        const auto code = program.wait(60s);
        EXPECT_EQ(code, 0) << program.output();
        return program.output();
    }
};

// The SDK's workers hear their subject without JetStream and publish results without a message id.
TEST_F(CapSdkTest, ItsWorkerRunsWhatLockstepdDispatches) {
    world->add_scheduler();
    Program worker = sdk({"worker", "py1"});
    ASSERT_TRUE(worker.says("ready")) << worker.output();
    ASSERT_EQ(world->ctl({"submit", "--topic", "job.default", "--id", "a", "--payload", R"({"n":1})"}).exit_code, 0);
    const auto status = world->ctl_json({"status", "a", "--wait"});
    EXPECT_EQ(status["state"], "SUCCEEDED") << status << worker.output();
    EXPECT_EQ(status["worker_id"], "py1") << status;
    EXPECT_EQ(nlohmann::json::parse(world->ctl({"result", "a"}).text), nlohmann::json::parse(R"({"heard":{"n":1}})"));

    ASSERT_EQ(world->ctl({"submit", "--topic", "job.etl.load", "--id", "b", "--payload", "7"}).exit_code, 0);
    ASSERT_TRUE(world->all_end(2, 30s)) << worker.output();
    EXPECT_EQ(world->ctl_json({"status", "b"})["state"], "FAILED");
    EXPECT_NE(world->ctl({"dlq", "show", "b"}).text.find("handler failed"), std::string::npos) << "the SDK's own words";
    worker.signal(SIGTERM);
    EXPECT_EQ(worker.wait(20s), 0) << worker.output();
}

TEST_F(CapSdkTest, ItsClientHearsTheResultOfWhatItSubmits) {
    world->add_scheduler();
    world->add_worker("w1", {"--echo"});
    const auto heard = nlohmann::json::parse(sdk_says({"client", "c", R"({"say":"hi"})"}));
    EXPECT_EQ(heard, nlohmann::json::parse(R"({"trace": "trace-c", "status": "JOB_STATUS_SUCCEEDED", "worker": "w1",
                                               "output": "{\"say\":\"hi\"}"})"));
    EXPECT_EQ(world->ctl_json({"status", "c", "--wait"})["state"], "SUCCEEDED");
}

// Every kind of packet that our programs publish, caught on its way.
TEST_F(CapSdkTest, OurPacketsAreByteForByteWhatItMakesOfTheirFields) {
    NatsPeer tap(world->nats().port());
    for (const char* subject : {"sys.>", "worker.*.jobs"}) tap.subscribe(subject);
    tap.settle();
    world->add_scheduler();
    world->add_worker("w1", {"--label", "placement.zone=b", "--label", "a=1", "--exec", "grep :"});
    for (const char* input : {R"({"n":1})", "no"}) {
        const auto told = world->ctl({"submit", "--payload", input, "--label", "z=1", "--label", "a=2"});
        ASSERT_EQ(told.exit_code, 0) << told.text;
    }
    ASSERT_EQ(world->ctl({"submit", "--id", "off", "--requires", "nobody-has-this"}).exit_code, 0);
    ASSERT_EQ(world->ctl({"cancel", "off"}).exit_code, 0);
    ASSERT_TRUE(world->all_end(3, 30s));
    tap.settle();
    {
        std::ofstream file(world->folder() / "packets");
        for (const std::string& packet : tap.received()) file << hexadecimal(packet) << '\n';
    }
    const std::string said = sdk_says({"remake", world->folder() / "packets"});
    for (const char* kind : {"job_request", "job_result", "heartbeat", "handshake", "job_cancel"})
        EXPECT_NE(said.find(std::string("same ") + kind), std::string::npos) << kind << " was never said:\n" << said;
}

TEST_F(CapSdkTest, OurMessagesAreItsMessagesByNameAndNumber) {
    google::protobuf::FileDescriptorSet set;
    for (const auto* file : {cap::BusPacket::descriptor()->file(), cap::JobRequest::descriptor()->file(),
                             cap::Heartbeat::descriptor()->file(), cap::Handshake::descriptor()->file(),
                             cap::SystemAlert::descriptor()->file(), cap::PolicyCheckRequest::descriptor()->file()}) {
        auto* copy = set.add_file();
        file->CopyTo(copy);
        file->CopyJsonNameTo(copy);
    }
    std::ofstream(world->folder() / "descriptors", std::ios::binary) << set.SerializeAsString();
    sdk_says({"descriptors", world->folder() / "descriptors"});
}

}  // namespace
}  // namespace lockstep::prod::testing

int main(int argc, char** argv) {
    ::testing::InitGoogleTest(&argc, argv);
    using lockstep::prod::testing::Program;
    const std::filesystem::path folder = LOCKSTEP_CAP_SDK_FOLDER;
    std::filesystem::create_directories(folder.parent_path());
    Program::Environment environment;
    for (const char* name :
         {"HOME", "PIP_INDEX_URL", "PIP_CONFIG_FILE", "PIP_CERT", "https_proxy", "HTTPS_PROXY", "SSL_CERT_FILE"})
        if (const char* value = std::getenv(name)) environment.emplace(name, value);
    const auto log = folder.parent_path() / "install.log";
    std::filesystem::remove(log);
    Program install({LOCKSTEP_PYTHON, LOCKSTEP_INTEROP_FOLDER "/python_packages.py", folder,
                     LOCKSTEP_INTEROP_FOLDER "/cap_sdk.txt"},
                    environment, log);
    const int code = install.wait(std::chrono::minutes(10)).value_or(-1);
    std::string said = install.output();
    if (code != 0) {
        std::fputs(said.c_str(), stdout);
        return code;
    }
    while (said.ends_with('\n')) said.pop_back();
    lockstep::prod::testing::sdk_python = said.substr(said.rfind('\n') + 1);
    return RUN_ALL_TESTS();
}
