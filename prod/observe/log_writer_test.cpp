#include "prod/observe/log_writer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "prod/observe/spdlog_log.h"

namespace lockstep::prod {
namespace {

using engine::LogLevel;

/// A pipe that is read when a test says so.
class LogWriterTest : public testing::Test {
protected:
    void SetUp() override { ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0); }
    void TearDown() override { close_reader(); }
    void close_reader() {
        if (ends[0] >= 0) ::close(std::exchange(ends[0], -1));
    }
    [[nodiscard]] int in() const { return ends[1]; }

    /// Reads until that many lines are there; waits for them.
    void read_lines(std::size_t count) {
        std::array<char, 65536> part{};
        while (static_cast<std::size_t>(std::ranges::count(text, '\n')) < count) {
            const ssize_t got = ::read(ends[0], part.data(), part.size());
            ASSERT_GT(got, 0);
            text.append(part.data(), static_cast<std::size_t>(got));
        }
    }

    /// The write end stays open: a thread may have a write in it.
    std::array<int, 2> ends{-1, -1};
    std::string text;
};

TEST_F(LogWriterTest, WritesEachLineInItsOrder) {
    LogWriter writer(in());
    writer.put("one");
    writer.put("two");
    read_lines(2);
    EXPECT_EQ(text, "one\ntwo\n");
    writer.flush();
    EXPECT_TRUE(writer.idle());
    EXPECT_EQ(writer.lost(), 0U);
}

TEST_F(LogWriterTest, WhatTheDescriptorRefusesIsLostAndCounted) {
    LogWriter writer(ends[0]);  // cannot be written to
    writer.put("one");
    writer.flush();
    EXPECT_EQ(writer.lost(), 1U);
}

TEST_F(LogWriterTest, AReaderWhoStallsCostsLinesWhichAreCountedAndToldOfOnceItReadsAgain) {
    constexpr std::uint64_t kLines = 20'000;
    SpdlogLog log("SCHEDULER", {.json = true}, in());
    const std::string filler(100, 'x');
    for (std::uint64_t i = 0; i < kLines; ++i) log.always(LogLevel::info, "told", {{"n", i}, {"filler", filler}});
    const std::uint64_t lost = log.lines_lost();
    // More than the queue and what a pipe may hold by itself is nowhere.
    EXPECT_GT(lost, kLines - (LogWriter::kQueueBytesMax + 1024 * 1024) / filler.size());
    EXPECT_LT(lost, kLines);
    log.tell_left_out();
    EXPECT_EQ(log.lines_lost(), lost) << "nothing is said while nobody reads";

    read_lines(kLines - lost);
    while (!log.all_written()) std::this_thread::yield();
    log.tell_left_out();
    read_lines(kLines - lost + 1);
    const std::string_view all(text.data(), text.size() - 1);
    const auto last = nlohmann::json::parse(all.substr(all.rfind('\n') + 1));
    EXPECT_EQ(last["msg"], "log lines lost");
    EXPECT_EQ(last["lines"], lost);
    EXPECT_EQ(last["level"], "warn");
    log.tell_left_out();
    log.always(LogLevel::info, "after", {});
    read_lines(kLines - lost + 2);
    EXPECT_NE(text.find("\"after\""), std::string::npos) << "it is said once";
}

TEST_F(LogWriterTest, AReaderWhoNeverReadsAgainDoesNotKeepAProcessFromItsEnd) {
    {
        LogWriter writer(in());
        for (int i = 0; i < 3'000; ++i) writer.put(std::string(1000, 'x'));
        EXPECT_FALSE(writer.idle());
        EXPECT_GT(writer.lost(), 0U);
    }
    SUCCEED() << "its end did not wait for the reader";
}

TEST_F(LogWriterTest, LastWordsAreWrittenBeforeTheEnd) {
    SpdlogLog("SCHEDULER", {}, in()).always(LogLevel::error, "goodbye", {});
    ASSERT_EQ(::fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
    read_lines(1);
    EXPECT_NE(text.find("goodbye"), std::string::npos);
}

}  // namespace
}  // namespace lockstep::prod
