#include "prod/config/job_files.h"

#include <gtest/gtest.h>

#include <fstream>

#include "fakes/testing/server_process.h"

namespace lockstep::prod {
namespace {

using namespace std::chrono_literals;

class JobFilesTest : public ::testing::Test {
protected:
    JobFilesTest() {
        settings.pools_file = folder.path() / "pools.yaml";
        settings.timeouts_file = folder.path() / "timeouts.yaml";
        settings.tunables.bus_ack_wait = 30s;
        pools("topics: {job.default: [default]}\n");
        timeouts("reconciler: {running_timeout_seconds: 600}\n");
    }
    void pools(const char* text) const { std::ofstream(settings.pools_file) << text; }
    void timeouts(const char* text) const { std::ofstream(settings.timeouts_file) << text; }
    [[nodiscard]] std::string error(TimeoutsFile wanted) const {
        const auto files = read_job_files(settings, wanted);
        return files ? "" : files.error();
    }

    fakes::testing::TemporaryFolder folder;
    Settings settings;
};

TEST_F(JobFilesTest, AreReadTogether) {
    const auto files = read_job_files(settings, TimeoutsFile::required);
    ASSERT_TRUE(files) << files.error();
    EXPECT_TRUE(files->pools.table.topics.contains("job.default"));
    EXPECT_EQ(files->tunables.running_timeout, 600s);
    EXPECT_EQ(settings.tunables.running_timeout, 15min) << "what holds without the file is still known";
    EXPECT_TRUE(files->warnings.empty());
}

// D-27
TEST_F(JobFilesTest, LeaveWhatVariablesSay) {
    settings.tunables.running_timeout = 2h;
    settings.tunables.replayer_interval = 10s;
    settings.pinned.running_timeout = settings.pinned.replayer_interval = true;
    timeouts("reconciler: {running_timeout_seconds: 600, dispatch_timeout_seconds: 60, scan_interval_seconds: 7}\n");
    const auto files = read_job_files(settings, TimeoutsFile::required);
    ASSERT_TRUE(files) << files.error();
    EXPECT_EQ(files->tunables.running_timeout, 2h);
    EXPECT_EQ(files->tunables.replayer_interval, 10s);
    EXPECT_EQ(files->tunables.dispatch_timeout, 60s);
    EXPECT_EQ(files->tunables.reconciler_interval, 7s);
}

TEST_F(JobFilesTest, ThatAreBrokenAreAllNamedWithFileAndLine) {
    pools("topics: {job.default: [default]}\npools:\n  default: {require: [x]}\n");
    timeouts("reconciler:\n  running_timeout_secs: 1\n");
    const std::string both = error(TimeoutsFile::required);
    EXPECT_NE(both.find("pools.yaml:3: "), std::string::npos) << both;
    EXPECT_NE(both.find("timeouts.yaml:2: "), std::string::npos) << both;
}

TEST_F(JobFilesTest, MayLackTheTimeoutsAtAStartOnly) {
    timeouts("nonsense: true\n");
    const auto at_start = read_job_files(settings, TimeoutsFile::optional);
    ASSERT_TRUE(at_start);
    EXPECT_FALSE(at_start->timeouts);
    EXPECT_EQ(at_start->warnings.size(), 1U);
    EXPECT_NE(error(TimeoutsFile::required).find("timeouts.yaml:1: "), std::string::npos);
    std::filesystem::remove(settings.timeouts_file);
    EXPECT_NE(error(TimeoutsFile::required).find("cannot read"), std::string::npos);
    settings.production = settings.timeouts_file_given = true;
    EXPECT_NE(error(TimeoutsFile::optional).find("TIMEOUT_CONFIG_PATH"), std::string::npos);
}

}  // namespace
}  // namespace lockstep::prod
