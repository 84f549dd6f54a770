#include <gtest/gtest.h>
#include <httplib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <nlohmann/json.hpp>
#include <random>
#include <regex>

#include "engine/config/tunables.h"
#include "engine/store/job_state.h"
#include "engine/wire/messages.h"
#include "engine/wire/subjects.h"
#include "fakes/testing/server_process.h"
#include "prod/observe/admin_http.h"
#include "prod/observe/prometheus_metrics.h"
#include "prod/observe/series.h"
#include "prod/observe/spdlog_log.h"
#include "prod/observe/trace_names.h"

namespace lockstep::prod {
namespace {

using engine::LogLevel;
using engine::Metric;

class LogTest : public testing::Test {
protected:
    SpdlogLog log(bool json, std::string level = "info") {
        return {"SCHEDULER", {.level = std::move(level), .json = json}, [this](const std::string& line) {
                    lines.push_back(line);
                }};
    }
    std::vector<std::string> lines;
};

/// A text line without its time.
std::string told(const std::string& line) { return line.substr(std::min(line.size(), line.find(' ') + 1)); }
std::vector<std::string> told(const std::vector<std::string>& lines) {
    std::vector<std::string> out;
    for (const auto& line : lines) out.push_back(told(line));
    return out;
}

TEST_F(LogTest, BeginsATextLineWithItsTimeInUtcToTheMillisecond) {
    auto out = log(false);
    out.event(LogLevel::info, "dispatched");
    EXPECT_TRUE(std::regex_match(lines.at(0),
                                 std::regex(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z \[SCHEDULER\] INFO dispatched)")))
        << lines[0];
}

TEST_F(LogTest, WritesTextAsWords) {
    auto out = log(false);
    out.event(LogLevel::info, "dispatched", {{"job", "J1"}, {"attempt", 3}, {"share", 0.5}, {"late", true}});
    EXPECT_EQ(told(lines),
              std::vector<std::string>{"[SCHEDULER] INFO dispatched job=J1 attempt=3 share=0.5 late=true"});
}

TEST_F(LogTest, QuotesWhatWouldNotReadAsOneWord) {
    auto out = log(false);
    out.event(LogLevel::warn, "odd", {{"a", "two words"}, {"b", ""}, {"c", "line\nbreak"}, {"d", "x=\"y\""}});
    EXPECT_EQ(told(lines[0]), R"([SCHEDULER] WARN odd a="two words" b="" c="line\nbreak" d="x=\"y\"")");
}

TEST_F(LogTest, EscapesCharactersThatNobodySees) {
    const std::string id = "a\u202eb\u009bc";
    auto plain = log(false);
    plain.event(LogLevel::warn, "odd\u2066", {{"job", id}, {"b", "two\u202e words"}});
    EXPECT_EQ(told(lines.at(0)), R"([SCHEDULER] WARN odd\u2066 job=a\u202eb\u009bc b="two\u202e words")");
    auto json = log(true);
    json.event(LogLevel::warn, "odd", {{"job", id}});
    EXPECT_NE(lines.at(1).find(R"("job":"a\u202eb\u009bc")"), std::string::npos) << lines[1];
    EXPECT_EQ(nlohmann::json::parse(lines[1])["job"], id);
}

TEST_F(LogTest, OfALongTextWritesTheBeginningAndHowLongItWas) {
    const std::string text = std::string(SpdlogLog::kFieldBytesMax - 1, 'x') + "\u00e9" + std::string(4 << 20, 'y');
    auto json = log(true);
    json.event(LogLevel::warn, "odd", {{"detail", text}, {"n", 7}});
    const auto parsed = nlohmann::json::parse(lines.at(0));
    EXPECT_EQ(parsed["detail"].get<std::string>(),
              std::string(SpdlogLog::kFieldBytesMax - 1, 'x') + "... (cut: 4198401 bytes)")
        << "and no half of a character";
    EXPECT_EQ(parsed["n"], 7);
    auto plain = log(false);
    plain.event(LogLevel::warn, "odd", {{"detail", text}, {"whole", std::string(SpdlogLog::kFieldBytesMax, 'z')}});
    EXPECT_LT(lines.at(1).size(), 2 * SpdlogLog::kFieldBytesMax + 200);
    EXPECT_NE(lines[1].find(" whole=" + std::string(SpdlogLog::kFieldBytesMax, 'z')), std::string::npos);
}

TEST_F(LogTest, WritesJsonThatParses) {
    auto out = log(true);
    out.event(LogLevel::error, "say \"hi\" {}", {{"detail", "\xff\n"}, {"n", 7}});
    const auto parsed = nlohmann::json::parse(lines.at(0));
    EXPECT_EQ(parsed["msg"], "say \"hi\" {}");
    EXPECT_EQ(parsed["level"], "error");
    EXPECT_EQ(parsed["component"], "SCHEDULER");
    EXPECT_EQ(parsed["n"], 7);
    EXPECT_EQ(std::string(parsed["ts"]).size(), std::string("2026-01-01T00:00:00.000000Z").size());
}

// O15
TEST_F(LogTest, WritesOneObjectOrOneLineWhateverTheTextHolds) {
    std::mt19937_64 random(1);
    const auto text = [&] {
        std::string bytes(random() % 40, '\0');
        for (char& byte : bytes) byte = static_cast<char>(random());
        return bytes;
    };
    auto json = log(true, "debug");
    auto plain = log(false, "debug");
    for (int i = 0; i < 3'000; ++i) {
        const std::string message = text();
        const std::string key = text();
        const std::string value = text();
        lines.clear();
        json.always(LogLevel::warn, message, {{key, value}, {"line", "a\r\n\"b\"\\\u2028"}, {"n", i}});
        plain.always(LogLevel::warn, message, {{"key", value}});
        ASSERT_EQ(lines.size(), 2U);
        const auto parsed = nlohmann::json::parse(lines[0], nullptr, false);
        ASSERT_TRUE(parsed.is_object()) << lines[0];
        EXPECT_EQ(parsed["n"], i);
        for (const auto& line : lines) EXPECT_EQ(line.find_first_of("\r\n"), std::string::npos) << line;
    }
}

// O15
TEST_F(LogTest, AFieldTakesNoOthersPlace) {
    auto out = log(true);
    out.event(LogLevel::warn, "odd", {{"level", "mine"}, {"msg", "mine"}, {"ts", "mine"}, {"n", 1}, {"n", 2}});
    const auto parsed = nlohmann::json::parse(lines.at(0));
    EXPECT_EQ(parsed["level"], "warn");
    EXPECT_EQ(parsed["level_"], "mine");
    EXPECT_EQ(parsed["msg"], "odd");
    EXPECT_EQ(parsed["msg_"], "mine");
    EXPECT_EQ(parsed["ts_"], "mine");
    EXPECT_EQ(parsed["n"], 1);
    EXPECT_EQ(parsed["n_"], 2);
}

// O15
TEST_F(LogTest, ALineAboutAJobNamesItsTrace) {
    cordum::agent::v1::BusPacket packet;
    packet.set_trace_id("trace-7");
    packet.mutable_job_request()->set_job_id("J1");
    TraceNames traces;
    traces.learn(packet.SerializeAsString());
    auto out = log(true);
    out.trace_by(traces);
    out.event(LogLevel::info, "dispatched", {{"job_id", "J1"}});
    out.event(LogLevel::info, "dispatched", {{"job_id", "J2"}});
    out.event(LogLevel::info, "dispatched", {{"job_id", "J1"}, {"trace_id", "its own"}});
    EXPECT_EQ(nlohmann::json::parse(lines.at(0))["trace_id"], "trace-7");
    EXPECT_FALSE(nlohmann::json::parse(lines.at(1)).contains("trace_id"));
    EXPECT_EQ(nlohmann::json::parse(lines.at(2))["trace_id"], "its own");
}

TEST(TraceNames, LearnsFromRequestsResultsAndCancels) {
    TraceNames traces;
    for (const char* kind : {"request", "result", "cancel"}) {
        cordum::agent::v1::BusPacket packet;
        packet.set_trace_id(std::string("trace of ") + kind);
        packet.set_sender_id("somebody");
        packet.mutable_created_at()->set_seconds(1'700'000'000);
        if (kind[2] == 'q') {
            packet.mutable_job_request()->set_job_id(kind);
            packet.mutable_job_request()->set_topic("job.etl");
        } else if (kind[0] == 'r') {
            packet.mutable_job_result()->set_job_id(kind);
        } else {
            packet.mutable_job_cancel()->set_job_id(kind);
        }
        packet.set_signature("x");
        traces.learn(packet.SerializeAsString());
        EXPECT_EQ(traces.of(kind), std::string("trace of ") + kind);
    }
}

TEST(TraceNames, BytesThatAreNoPacketTeachNothing) {
    cordum::agent::v1::BusPacket packet;
    packet.set_trace_id("trace-7");
    packet.mutable_job_request()->set_job_id("J1");
    const std::string whole = packet.SerializeAsString();
    TraceNames traces;
    for (std::size_t cut = 0; cut < whole.size(); ++cut) traces.learn(whole.substr(0, cut));
    traces.learn("\xff\xff\xff\xff\xff\xff");
    traces.learn(std::string("\x52\xff\xff\xff\xff\x0f", 6));
    EXPECT_EQ(traces.of("J1"), "");
    packet.mutable_job_request()->set_job_id(std::string(TraceNames::kIdMax + 1, 'x'));
    traces.learn(packet.SerializeAsString());
    EXPECT_EQ(traces.of(packet.job_request().job_id()), "");
}

TEST(TraceNames, ForgetsTheJobThatItHasHeardOfLeastLately) {
    TraceNames traces;
    cordum::agent::v1::BusPacket packet;
    packet.set_trace_id("t");
    const auto hear_of = [&](std::size_t job) {
        packet.mutable_job_request()->set_job_id(std::to_string(job));
        traces.learn(packet.SerializeAsString());
    };
    for (std::size_t job = 0; job < TraceNames::kTracesMax; ++job) hear_of(job);
    hear_of(0);
    hear_of(TraceNames::kTracesMax);
    EXPECT_EQ(traces.of("0"), "t");
    EXPECT_EQ(traces.of("1"), "");
    EXPECT_EQ(traces.of("2"), "t");
}

TEST_F(LogTest, ItsLevelChangesWhileItRuns) {
    auto out = log(false, "warn");
    out.event(LogLevel::debug, "unheard");
    out.set_level(LogLevel::debug);
    out.event(LogLevel::debug, "heard");
    out.set_level(LogLevel::warn);
    out.event(LogLevel::info, "unheard");
    EXPECT_EQ(told(lines), std::vector<std::string>{"[SCHEDULER] DEBUG heard"});
}

TEST_F(LogTest, RedactsSecretsInBothForms) {
    for (const bool json : {false, true}) {
        auto out = log(json);
        out.event(LogLevel::info, "x",
                  {{"nats_password", "hunter2"}, {"API_KEY", "hunter2"}, {"Authorization", "hunter2"}});
        EXPECT_EQ(lines.back().find("hunter2"), std::string::npos);
        EXPECT_NE(lines.back().find("[REDACTED]"), std::string::npos);
    }
}

TEST_F(LogTest, KeepsQuietBelowItsLevel) {
    auto out = log(false, "warn");
    out.event(LogLevel::info, "x");
    EXPECT_TRUE(lines.empty());
    EXPECT_FALSE(out.enabled(LogLevel::info));
    EXPECT_TRUE(out.enabled(LogLevel::error));
}

class LogFloodTest : public testing::Test {
protected:
    SpdlogLog log() {
        return {"SCHEDULER",
                {.level = "debug", .json = false},
                [this](const std::string& line) { lines.push_back(line); },
                [this] { return now; }};
    }
    static void flood(engine::Log& log, LogLevel level, const char* message, int count) {
        for (int i = 0; i < count; ++i) log.event(level, message, {{"n", i}});
    }
    static int limit_of(LogLevel level) { return static_cast<int>(LineLimit::allowance(level).lines); }
    static engine::Duration window_of(LogLevel level) { return LineLimit::allowance(level).window; }

    engine::MonoTime now{std::chrono::hours(1)};
    std::vector<std::string> lines;
};

TEST_F(LogFloodTest, LeavesOutLinesOfAKindBeyondTheLimitAndTellsHowMany) {
    for (const LogLevel level : {LogLevel::debug, LogLevel::info, LogLevel::warn, LogLevel::error}) {
        auto out = log();
        lines.clear();
        const int limit = limit_of(level);
        flood(out, level, "no connection", limit + 4711);
        EXPECT_EQ(lines.size(), static_cast<std::size_t>(limit));
        now += window_of(level);
        flood(out, level, "no connection", 1);
        ASSERT_EQ(lines.size(), static_cast<std::size_t>(limit) + 2);
        EXPECT_TRUE(lines[lines.size() - 2].ends_with("no connection left_out=4711 left_out_of=" +
                                                      engine::format_duration(window_of(level))))
            << lines[lines.size() - 2];
        EXPECT_TRUE(lines.back().ends_with("no connection n=0"));
    }
}

TEST_F(LogFloodTest, NeverLeavesOutTheFirstOfAKind) {
    auto out = log();
    flood(out, LogLevel::warn, "no connection", limit_of(LogLevel::warn) + 1);
    lines.clear();
    flood(out, LogLevel::error, "no connection", 1);
    flood(out, LogLevel::warn, "another", 1);
    EXPECT_EQ(told(lines),
              (std::vector<std::string>{"[SCHEDULER] ERROR no connection n=0", "[SCHEDULER] WARN another n=0"}));
}

// What each of many jobs says of it comes in a few kinds.
TEST_F(LogFloodTest, AShortOutageIsAFewLines) {
    auto out = log();
    for (int i = 0; i < 40; ++i) {
        flood(out, LogLevel::error, "state read failed, failing closed", 3);
        flood(out, LogLevel::warn, "no connection to Redis", 1);
        now += std::chrono::milliseconds(100);
        out.tell_left_out();
    }
    now += std::chrono::seconds(10);
    out.tell_left_out();
    EXPECT_EQ(lines.size(), 12U) << "the first five of both kinds and their sums";
    EXPECT_TRUE(lines.back().ends_with("state read failed, failing closed left_out=115 left_out_of=10s"))
        << lines.back();
}

TEST_F(LogFloodTest, WhatIsSaidOnceIsNeverLeftOut) {
    auto out = log();
    for (int i = 0; i < 20; ++i) out.always(LogLevel::warn, "configuration", {{"n", i}});
    EXPECT_EQ(lines.size(), 20U);
}

TEST_F(LogFloodTest, TellsOfAFloodThatHasEndedOnceItsWindowIsOver) {
    auto out = log();
    flood(out, LogLevel::warn, "no connection", limit_of(LogLevel::warn) + 3);
    lines.clear();
    now += window_of(LogLevel::warn) - std::chrono::milliseconds(1);
    out.tell_left_out();
    EXPECT_TRUE(lines.empty());
    now += std::chrono::milliseconds(1);
    out.tell_left_out();
    out.tell_left_out();
    EXPECT_EQ(told(lines), std::vector<std::string>{"[SCHEDULER] WARN no connection left_out=3 left_out_of=10s"});
    flood(out, LogLevel::warn, "no connection", 1);
    EXPECT_EQ(told(lines.back()), "[SCHEDULER] WARN no connection n=0");
}

TEST_F(LogFloodTest, TellsAtTheEndWhatIsStillUntold) {
    {
        auto out = log();
        flood(out, LogLevel::info, "dispatched", limit_of(LogLevel::info) + 2);
        lines.clear();
    }
    EXPECT_EQ(told(lines), std::vector<std::string>{"[SCHEDULER] INFO dispatched left_out=2 left_out_of=1s"});
}

TEST_F(LogFloodTest, WritesEverythingBelowTheLimit) {
    auto out = log();
    for (int second = 0; second < 5; ++second) {
        flood(out, LogLevel::info, "dispatched", limit_of(LogLevel::info));
        now += std::chrono::seconds(1);
        out.tell_left_out();
    }
    EXPECT_EQ(lines.size(), static_cast<std::size_t>(5 * limit_of(LogLevel::info)));
}

bool has_line(const std::string& text, const std::string& line) { return text.find(line + "\n") != std::string::npos; }

TEST(PrometheusMetrics, ExposesCountersGaugesAndHistogramsWithThePod) {
    PrometheusMetrics prometheus("host-1");
    prometheus.know_topic("job.etl");
    engine::Metrics& metrics = prometheus;
    metrics.add(Metric::jobs_received, {"job.etl"});
    metrics.add(Metric::jobs_received, {"job.etl"}, 2);
    metrics.set(Metric::stale_jobs, 4, {"RUNNING"});
    metrics.observe(Metric::job_lock_wait, 0.004);
    metrics.observe(Metric::job_lock_wait, -1);
    const std::string text = prometheus.text();
    EXPECT_TRUE(has_line(text, R"(cordum_scheduler_jobs_received_total{pod="host-1",topic="job.etl"} 3)")) << text;
    EXPECT_TRUE(has_line(text, R"(cordum_scheduler_scheduler_stale_jobs{pod="host-1",state="RUNNING"} 4)"));
    EXPECT_TRUE(has_line(text, R"(cordum_scheduler_scheduler_job_lock_wait_seconds_count{pod="host-1"} 1)"));
    EXPECT_TRUE(
        has_line(text, R"(cordum_scheduler_scheduler_job_lock_wait_seconds_bucket{pod="host-1",le="0.005"} 1)"));
}

TEST(PrometheusMetrics, ShowsMetricsWithoutLabelsFromTheStart) {
    const PrometheusMetrics metrics("p");
    EXPECT_TRUE(has_line(metrics.text(), R"(cordum_scheduler_saga_recorded_total{pod="p"} 0)"));
}

// O13: the first event of a series that appears with it is no increase to Prometheus.
TEST(PrometheusMetrics, ShowsCountersAtZeroForEveryLabelValueThatCanBeKnown) {
    PrometheusMetrics metrics("p");
    const auto shows = [&](const std::string& line) { return has_line(metrics.text(), line); };
    EXPECT_TRUE(shows(R"(cordum_scheduler_input_fail_open_total{pod="p",topic="other"} 0)")) << metrics.text();
    EXPECT_TRUE(shows(R"(lockstep_queue_watch_failures_total{pod="p",server="nats"} 0)"));
    EXPECT_TRUE(shows(R"(cordum_scheduler_heartbeats_refused_total{pod="p",reason="size"} 0)"));
    EXPECT_FALSE(shows(R"(cordum_scheduler_input_fail_open_total{pod="p",topic="job.etl"} 0)"));
    metrics.know_topic("job.etl");
    EXPECT_TRUE(shows(R"(cordum_scheduler_input_fail_open_total{pod="p",topic="job.etl"} 0)"));
    EXPECT_TRUE(
        shows(R"(cordum_scheduler_jobs_completed_total{pod="p",status="JOB_STATUS_DENIED",topic="job.etl"} 0)"));
    for (const engine::MetricInfo* series : all_series()) {
        const bool unknowable = std::ranges::any_of(
            series->labels, [&](std::string_view label) { return known_label_values(*series, label).empty(); });
        if (series->type != engine::MetricType::counter || unknowable) continue;
        EXPECT_NE(metrics.text().find("\n" + std::string(series->name) + "{"), std::string::npos) << series->name;
    }
    static_cast<engine::Metrics&>(metrics).add(Metric::input_fail_open, {"job.etl"});
    EXPECT_TRUE(shows(R"(cordum_scheduler_input_fail_open_total{pod="p",topic="job.etl"} 1)"));
}

// O13
TEST(PrometheusMetrics, LabelValuesThatAreKnownAreTheProgramsOwn) {
    for (const auto state : known_label_values(engine::info(Metric::index_members_pruned), "state"))
        EXPECT_TRUE(engine::parse_job_state(state)) << state;
    for (const auto subject : known_label_values(engine::info(Metric::undecodable_messages), "subject"))
        EXPECT_TRUE(subject == engine::wire::kSubjectSubmit || subject == engine::wire::kSubjectResult) << subject;
    for (const auto status : known_label_values(engine::info(Metric::jobs_completed), "status")) {
        cap::JobStatus parsed{};
        const bool named = cap::JobStatus_Parse(std::string(status), &parsed);
        EXPECT_TRUE(named ? engine::state_of_result(parsed).has_value() : status == "OUTPUT_QUARANTINED") << status;
    }
}

// O11
TEST(PrometheusMetrics, ManyTopicsLeaveRoomForWhatCannotBeKnown) {
    PrometheusMetrics metrics("p");
    for (int i = 0; i < 5'000; ++i) metrics.know_topic("job.t" + std::to_string(i));
    const std::string text = metrics.text();
    std::size_t completed = 0;
    for (auto at = text.find("\ncordum_scheduler_jobs_completed_total{"); at != std::string::npos;
         at = text.find("\ncordum_scheduler_jobs_completed_total{", at + 1))
        ++completed;
    EXPECT_EQ(completed, PrometheusMetrics::kSeriesAtZeroMax);
}

// O11
TEST(PrometheusMetrics, TenThousandWorkersAreOneSeriesMoreThanAHundred) {
    PrometheusMetrics prometheus("p");
    engine::Metrics& metrics = prometheus;
    for (std::size_t i = 0; i < 10'000; ++i)
        metrics.add(Metric::stale_worker_retry, {"job.etl", "worker-" + std::to_string(i)});
    metrics.add(Metric::stale_worker_retry, {"job.etl", "worker-0"});
    const std::string text = prometheus.text();
    EXPECT_TRUE(
        has_line(text, R"(cordum_scheduler_stale_worker_retry_total{pod="p",topic="other",worker="other"} 9900)"));
    EXPECT_TRUE(
        has_line(text, R"(cordum_scheduler_stale_worker_retry_total{pod="p",topic="other",worker="worker-0"} 2)"));
    const std::regex series(R"(cordum_scheduler_stale_worker_retry_total\{)");
    EXPECT_EQ(std::distance(std::sregex_iterator(text.begin(), text.end(), series), {}), kWorkerLabelsMax + 1);
}

TEST(PrometheusMetrics, EverySeriesHasAHelpAUnitInItsNameAndABoundForEachLabel) {
    for (const engine::MetricInfo* series : all_series()) {
        EXPECT_FALSE(series->help.empty()) << series->name;
        EXPECT_EQ(series->type == engine::MetricType::counter, series->name.ends_with("_total")) << series->name;
        for (const auto label : series->labels) EXPECT_FALSE(label_bound(label).empty()) << label;
    }
}

TEST(PrometheusMetrics, TellsOnlyTopicsApartThatThePoolsHaveNamed) {
    PrometheusMetrics prometheus("p");
    prometheus.know_topic("job.etl");
    engine::Metrics& metrics = prometheus;
    for (int i = 0; i < 100; ++i) {
        metrics.add(Metric::jobs_received, {"job.made-up." + std::to_string(i)});
        metrics.observe(Metric::dispatch_latency, 1, {"job.made-up." + std::to_string(i)});
    }
    metrics.add(Metric::jobs_received, {"job.etl"});
    metrics.add(Metric::jobs_received, {"job.cordum.approval-gate"});
    const std::string text = prometheus.text();
    EXPECT_TRUE(has_line(text, R"(cordum_scheduler_jobs_received_total{pod="p",topic="other"} 100)")) << text;
    EXPECT_TRUE(has_line(text, R"(cordum_scheduler_jobs_received_total{pod="p",topic="job.etl"} 1)"));
    EXPECT_TRUE(has_line(text, R"(cordum_scheduler_jobs_received_total{pod="p",topic="job.cordum.approval-gate"} 1)"));
    EXPECT_EQ(text.find("made-up"), std::string::npos);
}

TEST(PrometheusMetrics, BoundsTheLengthOfALabel) {
    PrometheusMetrics prometheus("p");
    engine::Metrics& metrics = prometheus;
    for (int i = 0; i < 10; ++i)
        metrics.add(Metric::stale_worker_retry, {"job.etl", std::string(100'000, 'x') + std::to_string(i)});
    EXPECT_LT(prometheus.text().size(), 50'000U);
    EXPECT_TRUE(
        has_line(prometheus.text(), R"(cordum_scheduler_stale_worker_retry_total{pod="p",topic="other",worker=")" +
                                        std::string(200, 'x') + R"("} 10)"));
}

// METR-03, METR-04, METR-05
TEST(AdminHttp, ServesMetricsAndHealth) {
    Health health;
    auto admin = AdminHttp::start("127.0.0.1:0",
                                  {.metrics = [] { return std::string("a 1\n"); }, .health = [&] { return health; }});
    ASSERT_TRUE(admin) << admin.error();
    httplib::Client client("127.0.0.1", (*admin)->port());
    EXPECT_EQ(client.Get("/metrics")->body, "a 1\n");
    auto sick = client.Get("/health");
    EXPECT_EQ(sick->status, 503);
    EXPECT_EQ(sick->body,
              R"({"nats":{"error":"disconnected","status":"error"},"ready":false,"redis":{"error":"not initialized",)"
              R"("status":"error"},"safety":{"error":"not configured","status":"warn"},"status":"degraded"})");
    health = {.redis_error = "", .nats_error = "", .safety_warning = "", .not_ready = ""};
    auto well = client.Get("/health");
    EXPECT_EQ(well->status, 200);
    EXPECT_EQ(well->get_header_value("Content-Type"), "application/json");
    EXPECT_EQ(
        well->body,
        R"({"nats":{"status":"ok"},"ready":true,"redis":{"status":"ok"},"safety":{"status":"ok"},"status":"ok"})");
    EXPECT_EQ(client.Get("/health?verbose=1")->status, 200);
    EXPECT_EQ(client.Get("/other")->status, 404);
    EXPECT_EQ(client.Post("/health")->status, 405);
    const auto head = client.Head("/metrics");
    ASSERT_TRUE(head);
    EXPECT_EQ(head->get_header_value("Content-Length"), "4");
}

TEST(AdminHttp, SaysByAStatusOfItsOwnWhetherJobsAreTaken) {
    Health health{.redis_error = "", .nats_error = "", .safety_warning = "", .not_ready = "draining"};
    auto admin =
        AdminHttp::start("127.0.0.1:0", {.metrics = [] { return std::string(); }, .health = [&] { return health; }});
    ASSERT_TRUE(admin) << admin.error();
    httplib::Client client("127.0.0.1", (*admin)->port());
    const auto draining = client.Get("/readyz");
    EXPECT_EQ(draining->status, 503);
    EXPECT_EQ(draining->body, R"({"ready":false,"reason":"draining"})");
    EXPECT_EQ(client.Get("/health")->status, 200) << "its servers are well";
    health.not_ready.clear();
    health.nats_error = "disconnected";
    EXPECT_EQ(client.Get("/readyz")->body, R"({"ready":false,"reason":"nats: disconnected"})");
    health.nats_error.clear();
    const auto ready = client.Get("/readyz");
    EXPECT_EQ(ready->status, 200);
    EXPECT_EQ(ready->body, R"({"ready":true})");
}

// More of them than there are places: those that have asked for nothing make room.
// O6
TEST(AdminHttp, SaysThatTheProcessLivesWithoutAskingAnybody) {
    std::atomic<int> asked = 0;
    const auto admin = AdminHttp::start("127.0.0.1:0", {.metrics = [] { return std::string(); },
                                                        .health =
                                                            [&] {
                                                                ++asked;
                                                                return Health{};
                                                            }});
    ASSERT_TRUE(admin) << admin.error();
    httplib::Client client("127.0.0.1", (*admin)->port());
    for (const char* path : {"/livez", "/healthz"}) {
        const auto alive = client.Get(path);
        ASSERT_TRUE(alive) << path;
        EXPECT_EQ(alive->status, 200) << path;
        EXPECT_EQ(alive->body, "ok") << path;
    }
    EXPECT_EQ(client.Get("/livez?verbose")->body, "[+]process ok\n[+]loop ok\nlivez check passed\n");
    EXPECT_EQ(asked, 0);
    EXPECT_EQ(client.Get("/readyz?verbose")->status, 503);
    EXPECT_EQ(asked, 1);
}

TEST(AdminHttp, SaysThatTheProcessIsDeadWhileItsLoopStandsStillAndNoServerIsAsked) {
    std::promise<void> let_go;
    const std::shared_future<void> stuck = let_go.get_future().share();
    std::atomic<bool> stalled = true;
    const auto admin =
        AdminHttp::start("127.0.0.1:0", {.metrics = [] { return std::string(); },
                                         .health =
                                             [&] {
                                                 stuck.wait();  // as it does when the loop has no time for it
                                                 return Health{};
                                             },
                                         .stall = [&] { return stalled ? std::string("it hangs") : std::string(); }});
    ASSERT_TRUE(admin) << admin.error();
    const int asks_health = fakes::testing::connect_to_loopback((*admin)->port());
    const std::string request = "GET /health HTTP/1.1\r\n\r\n";
    ASSERT_GT(::send(asks_health, request.data(), request.size(), MSG_NOSIGNAL), 0);
    httplib::Client client("127.0.0.1", (*admin)->port());
    const auto dead = client.Get("/livez");
    ASSERT_TRUE(dead);
    EXPECT_EQ(dead->status, 503);
    EXPECT_EQ(dead->body, "it hangs");
    const auto checks = client.Get("/healthz?verbose");
    EXPECT_EQ(checks->status, 503);
    EXPECT_EQ(checks->body, "[+]process ok\n[-]loop failed: it hangs\nlivez check failed\n");
    stalled = false;
    EXPECT_EQ(client.Get("/livez")->status, 200) << "it turns again";
    let_go.set_value();
    ::close(asks_health);
}

// O6
TEST(AdminHttp, ListsWhatReadinessTakesOnRequest) {
    Health health{.redis_error = "gone", .nats_error = "", .not_ready = "", .redis_excused = true};
    const auto admin =
        AdminHttp::start("127.0.0.1:0", {.metrics = [] { return std::string(); }, .health = [&] { return health; }});
    ASSERT_TRUE(admin) << admin.error();
    httplib::Client client("127.0.0.1", (*admin)->port());
    EXPECT_EQ(client.Get("/readyz")->status, 200) << "away for a moment only";
    EXPECT_EQ(client.Get("/readyz?verbose")->body,
              "[+]serving ok\n[+]redis ok, within its grace: gone\n[+]nats ok\nreadyz check passed\n");
    EXPECT_EQ(client.Get("/health")->status, 503) << "which says how the servers are now";
    health.redis_excused = false;
    EXPECT_EQ(client.Get("/readyz?pretty&verbose=1")->body,
              "[+]serving ok\n[-]redis failed: gone\n[+]nats ok\nreadyz check failed\n");
    EXPECT_EQ(client.Get("/readyz?verbosely")->body, R"({"ready":false,"reason":"redis: gone"})");
}

TEST(AdminHttp, InItsPlainFormSaysOkOnceTheWorkIsDoneWhateverItsConnections) {
    Health health;
    auto admin = AdminHttp::start(
        "127.0.0.1:0",
        {.metrics = [] { return std::string(); }, .health = [&] { return health; }, .plain_health = true});
    ASSERT_TRUE(admin) << admin.error();
    httplib::Client client("127.0.0.1", (*admin)->port());
    const auto early = client.Get("/health");
    EXPECT_EQ(early->status, 503);
    EXPECT_EQ(early->body, "starting");
    health.not_ready.clear();
    const auto later = client.Get("/health");
    EXPECT_EQ(later->status, 200);
    EXPECT_EQ(later->body, "ok");
    EXPECT_EQ(later->get_header_value("Content-Type"), "text/plain");
    EXPECT_EQ(client.Get("/readyz")->status, 503) << "it has no connection";
}

TEST(AdminHttp, ManySlowClientsKeepAProbeWaitingForNothing) {
    auto admin = AdminHttp::start("127.0.0.1:0",
                                  {.metrics = [] { return std::string("a 1\n"); }, .health = [] { return Health{}; }});
    ASSERT_TRUE(admin) << admin.error();
    const int port = (*admin)->port();
    std::vector<int> slow;
    const std::string begin = "GET /health HTTP/1.1\r\nX: ";
    for (int i = 0; i < 300; ++i) {
        slow.push_back(fakes::testing::connect_to_loopback(port));
        if (i % 2 == 0) (void)::send(slow.back(), begin.data(), begin.size(), MSG_NOSIGNAL);
    }
    httplib::Client client("127.0.0.1", port);
    client.set_read_timeout(std::chrono::seconds(3));  // less than a slow client may take
    for (const char* path : {"/health", "/readyz", "/metrics"}) EXPECT_TRUE(client.Get(path)) << path;
    for (const int socket : slow) ::close(socket);
}

// A source that is stuck is one's own affair: the others answer, and what waits for it costs no more than one question.
TEST(AdminHttp, AskersOfTheSameWaitTogetherAndNobodyElseDoes) {
    std::promise<void> let_go;
    const std::shared_future<void> stuck = let_go.get_future().share();
    std::atomic<int> asked = 0;
    auto admin = AdminHttp::start("127.0.0.1:0", {.metrics = [] { return std::string("a 1\n"); },
                                                  .health =
                                                      [&] {
                                                          if (++asked == 1) stuck.wait();
                                                          return Health{};
                                                      }});
    ASSERT_TRUE(admin) << admin.error();
    const int port = (*admin)->port();
    std::vector<int> waiting;
    const std::string request = "GET /health HTTP/1.1\r\n\r\n";
    for (int i = 0; i < 20; ++i) {
        waiting.push_back(fakes::testing::connect_to_loopback(port));
        ASSERT_GT(::send(waiting.back(), request.data(), request.size(), MSG_NOSIGNAL), 0);
    }
    httplib::Client client("127.0.0.1", port);
    EXPECT_TRUE(client.Get("/metrics"));
    let_go.set_value();
    for (const int socket : waiting) {
        std::string answer(12, '\0');
        EXPECT_EQ(::recv(socket, answer.data(), answer.size(), MSG_WAITALL), 12);
        EXPECT_EQ(answer, "HTTP/1.1 503");
        ::close(socket);
    }
    EXPECT_LT(asked, 20);
}

// What a client does to one connection stays between it and that connection.
TEST(AdminHttp, SilentConnectionsAndEndlessHeadersKeepNobodyWaiting) {
    auto admin = AdminHttp::start("localhost:0",
                                  {.metrics = [] { return std::string("a 1\n"); }, .health = [] { return Health{}; }});
    ASSERT_TRUE(admin) << admin.error();
    const int port = (*admin)->port();
    std::vector<int> silent;
    for (int i = 0; i < 8; ++i) silent.push_back(fakes::testing::connect_to_loopback(port));
    const int endless = fakes::testing::connect_to_loopback(port);
    const std::string begin = "GET /health HTTP/1.1\r\nX: ";
    ASSERT_GT(::send(endless, begin.data(), begin.size(), MSG_NOSIGNAL), 0);
    const std::string filler(64 * 1024, 'x');
    for (int i = 0; i < 4; ++i) (void)::send(endless, filler.data(), filler.size(), MSG_NOSIGNAL);
    std::string answer(12, '\0');
    ASSERT_EQ(::recv(endless, answer.data(), answer.size(), MSG_WAITALL), 12) << "answered before the header ends";
    EXPECT_NE(answer.find(" 4"), std::string::npos) << answer;
    httplib::Client client("127.0.0.1", port);
    client.set_keep_alive(true);
    EXPECT_TRUE(client.Get("/metrics"));
    admin->reset();  // must not wait for anybody's next request
    for (const int socket : silent) ::close(socket);
    ::close(endless);
}

TEST(AdminHttp, SaysWhyItCannotListen) {
    auto first = AdminHttp::start("127.0.0.1:0", {});
    ASSERT_TRUE(first);
    const auto second = AdminHttp::start("127.0.0.1:" + std::to_string((*first)->port()), {});
    ASSERT_FALSE(second);
    EXPECT_NE(second.error().find("Address already in use"), std::string::npos) << second.error();
    EXPECT_FALSE(AdminHttp::start("nonsense", {}));
}

}  // namespace
}  // namespace lockstep::prod
