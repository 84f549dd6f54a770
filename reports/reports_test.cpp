#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <pugixml.hpp>

#include "reports/atomic_file.h"
#include "reports/junit.h"
#include "reports/result_json.h"
#include "reports/text.h"

namespace lockstep::reports {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

RunReport sample() {
    RunRecord good;
    good.file = "scenarios/a.json";
    good.name = "a";
    good.seed = 18446744073709551615ULL;
    good.passed = true;
    good.digest = 0xabc;
    good.virtual_ms = 61'000;
    good.wall_ms = 1'234;
    good.events = 99;
    good.states = {{"SUCCEEDED", 3}};
    good.metrics = {{"m:p99", 0.5}, {"n", 4.0}};
    good.faults = {{"crash", "/faults/0", 1, 1, 1}};
    good.exercised = {{"no_lost_job", 3}};
    RunRecord bad = good;
    bad.seed = 2;
    bad.passed = false;
    bad.violations = {
        {"no_lost_job", 1500, "scheduler-0", "j<1>", "a job \x01 is lost & gone \xff", {"first", "then"}}};
    bad.violations.front().paragraph = "engine/store/redis-schema.md 4";
    bad.expectations = {{"SUCCEEDED >= 4", "3", false}, {"PENDING 0", "0", true}};
    bad.replay = "lockstep run scenarios/a.json --seed 2";
    RunRecord broken = good;
    broken.file = "scenarios/b.json";
    broken.name = "b";
    broken.passed = false;
    broken.error = "no memory";
    return {{good, bad, broken}, {"fault /faults/0 of a never took effect"}};
}

std::string content_of(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

class TemporaryFolder {
public:
    TemporaryFolder() {
        std::string pattern = (fs::temp_directory_path() / "lockstep-XXXXXX").string();
        path = ::mkdtemp(pattern.data());
    }
    ~TemporaryFolder() { fs::remove_all(path); }
    fs::path path;
};

TEST(ResultJson, HasExactlyTheDocumentedFields) {
    const auto document = nlohmann::json::parse(result_json(sample()));
    EXPECT_EQ(document["version"], 1);
    EXPECT_EQ(document["schema_version"], "1.4");
    EXPECT_EQ(document["passed"], 1);
    EXPECT_EQ(document["failed"], 2);
    const auto& result = document["results"][0];
    for (const char* key : {"file", "name", "seed", "passed", "digest", "virtual_ms", "wall_ms", "events", "states",
                            "metrics", "violations", "expectations", "faults", "exercised"})
        EXPECT_TRUE(result.contains(key)) << key;
    EXPECT_EQ(result["seed"], 18446744073709551615ULL);
    EXPECT_EQ(result["digest"], "0000000000000abc");
    EXPECT_EQ(result["metrics"]["m:p99"], 0.5);
    EXPECT_EQ(result["faults"][0]["do"], "crash");
    EXPECT_EQ(result["exercised"]["no_lost_job"], 3);
    const auto& violation = document["results"][1]["violations"][0];
    EXPECT_EQ(violation["at_ms"], 1500);
    EXPECT_EQ(violation["job"], "j<1>");
    EXPECT_EQ(violation["paragraph"], "engine/store/redis-schema.md 4");
    EXPECT_EQ(document["results"][1]["expectations"][0]["held"], false);
}

TEST(JUnit, CountsFailuresErrorsAndTimePerSuite) {
    pugi::xml_document document;
    ASSERT_TRUE(document.load_string(junit_xml(sample()).c_str()));
    const auto root = document.child("testsuites");
    EXPECT_EQ(root.attribute("tests").as_int(), 4);
    EXPECT_EQ(root.attribute("failures").as_int(), 2) << "one run, one unproved sentence";
    EXPECT_EQ(root.attribute("errors").as_int(), 1);
    EXPECT_STREQ(root.child("testsuite").attribute("time").value(), "2.468");
    const auto failed = root.child("testsuite").child("testcase").next_sibling("testcase");
    EXPECT_STREQ(failed.child("failure").attribute("type").value(), "no_lost_job");
    EXPECT_STREQ(failed.child("failure").attribute("message").value(), "a job  is lost & gone \xEF\xBF\xBD");
    EXPECT_THAT(failed.child("failure").text().get(),
                AllOf(HasSubstr("\ndocumented: engine/store/redis-schema.md 4\n"),
                      HasSubstr("then\n\nreplay: lockstep run scenarios/a.json --seed 2")));
}

TEST(JUnit, AnAllowedVacuityIsShownButDoesNotFail) {
    pugi::xml_document document;
    ASSERT_TRUE(document.load_string(junit_xml(sample(), true).c_str()));
    EXPECT_EQ(document.child("testsuites").attribute("failures").as_int(), 1);
}

TEST(JUnit, AnEmptyReportIsAValidDocument) {
    pugi::xml_document document;
    ASSERT_TRUE(document.load_string(junit_xml({}).c_str()));
    EXPECT_EQ(document.child("testsuites").attribute("tests").as_int(), 0);
}

TEST(Text, KeepsWhatXmlCanCarry) {
    EXPECT_EQ(printable("a\tb\nc"), "a\tb\nc");
    EXPECT_EQ(printable(std::string_view("x\0y\x1b[0m", 7)), "xy[0m");
    EXPECT_EQ(printable("µ€😀"), "µ€😀");
    EXPECT_EQ(printable("\xc0\xaf\xed\xa0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(AtomicFile, ReplacesAFileAsAWholeAndLeavesNothingBeside) {
    const TemporaryFolder folder;
    const fs::path file = folder.path / "sub" / "out.json";
    ASSERT_TRUE(write_atomically(file, "one"));
    ASSERT_TRUE(write_atomically(file, "two"));
    EXPECT_EQ(content_of(file), "two");
    EXPECT_EQ(std::distance(fs::directory_iterator(folder.path / "sub"), {}), 1);
}

TEST(AtomicFile, SaysWhyItCannotWrite) {
    const TemporaryFolder folder;
    ASSERT_TRUE(write_atomically(folder.path / "file", "x"));
    const auto written = write_atomically(folder.path / "file" / "below", "x");
    ASSERT_FALSE(written);
    EXPECT_THAT(written.error(), HasSubstr("below"));
}

TEST(AtomicFile, WritesThroughLinksAndIntoDevices) {
    const TemporaryFolder folder;
    ASSERT_TRUE(write_atomically(folder.path / "real", "old"));
    fs::create_symlink(folder.path / "real", folder.path / "link");
    ASSERT_TRUE(write_atomically(folder.path / "link", "new"));
    EXPECT_EQ(content_of(folder.path / "real"), "new");
    EXPECT_TRUE(fs::is_symlink(folder.path / "link"));
    EXPECT_TRUE(write_atomically("/dev/null", "x"));
}

TEST(AtomicFile, NeitherReplacesALinkThatLeadsNowhereYetNorAPipe) {
    const TemporaryFolder folder;
    fs::create_symlink("real", folder.path / "link");
    ASSERT_TRUE(write_atomically(folder.path / "link", "new"));
    EXPECT_EQ(content_of(folder.path / "real"), "new");
    EXPECT_TRUE(fs::is_symlink(folder.path / "link"));
    fs::create_symlink("circle", folder.path / "circle");
    EXPECT_FALSE(write_atomically(folder.path / "circle", "x"));
    const fs::path pipe = folder.path / "pipe";
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
    ASSERT_TRUE(write_atomically(pipe, "told"));
    std::array<char, 16> bytes{};
    EXPECT_EQ(::read(reader, bytes.data(), bytes.size()), 4);
    ::close(reader);
    EXPECT_TRUE(fs::is_fifo(pipe));
}

TEST(AtomicFile, IsNotThereWithoutAFinish) {
    const TemporaryFolder folder;
    {
        AtomicFile(folder.path / "file").write("half");
    }
    EXPECT_TRUE(fs::is_empty(folder.path));
}

}  // namespace
}  // namespace lockstep::reports
