// What each alert makes of the series that a real lockstepd exports: a scrape is recorded, a story changes some of its values, and promtool
// says what fires. So no story can be about a series that there is not, or that is there only once something has happened.
// Exit code 77: promtool or a server is not installed.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "engine/wire/messages.h"
#include "fakes/testing/server_lines.h"
#include "prod/integration/deployment.h"
#include "prod/monitoring/alerts.h"
#include "prod/observe/series.h"
#include "prod/tls/test_authority.h"

namespace lockstep::prod::testing {
namespace {

using namespace std::chrono_literals;

/// From `name{labels}` to its value.
using Scrape = std::map<std::string, std::string>;

/// How promtool writes a course of values, a minute each.
std::string constant(const std::string& value) { return value + "+0x60"; }
std::string step(int by, const std::string& first = "0") { return fmt::format("{}+0x10 {}+0x50", first, by); }
/// Nothing before the minute in which the event happens: the series appears with it.
std::string appears_at(int value) { return fmt::format("_x11 {}+0x50", value); }

/// A deployment whose safety kernel is away, whose policy fails open, and whose bus refuses dead letters.
class Recording {
public:
    Recording() : world_(Durability::none, bus_without_letters), authority_(world_.folder(), "authority") {
        world_.stop_kernel();
        Program& daemon = world_.add_scheduler({{"CORDUM_INSTANCE_ID", "a"},
                                                {"LOCKSTEP_REPLICAS", "2"},
                                                {"POLICY_CHECK_FAIL_MODE", "open"},
                                                {"LOCKSTEP_MAX_SCHEDULING_RETRIES", "2"},
                                                {"SAFETY_KERNEL_TLS_CA", authority_.certificate_file()}});
        const std::string words = "admin listener port=";
        if (!daemon.says(words)) return;
        const std::string output = daemon.output();
        port_ = std::stoi(output.substr(output.find(words) + words.size()));
        // The first look at the queues has been.
        (void)Deployment::until([&] { return before("lockstep_redis_memory_used_bytes{pod=\"a\"}") != "0"; }, 20s);
        idle = scrape();
        submit();
        (void)Deployment::until(
            [&] { return before("cordum_scheduler_dlq_emit_failures_total{pod=\"a\",topic=\"job.default\"}") != "0"; },
            60s);
        after = scrape();
    }

    Scrape idle;   // before the first job
    Scrape after;  // a job has passed without a decision, and its dead letter was not published
    [[nodiscard]] std::string logs() const { return world_.logs(); }

private:
    static std::vector<std::string> bus_without_letters(int port, const std::filesystem::path& folder) {
        const auto file = folder / "no-letters.conf";
        std::ofstream(file)
            << "authorization { users: [{user: a, password: b, permissions: {publish: {allow: [\">\"], deny: "
               "[\"sys.job.dlq\"]}}}] }\nno_auth_user: a\n";
        auto line = fakes::testing::nats_server_line(port, folder);
        line.insert(line.end(), {"-c", file.string()});
        return line;
    }
    void submit() {
        cordum::agent::v1::BusPacket packet;
        packet.mutable_job_request()->set_job_id("first");
        packet.mutable_job_request()->set_topic("job.default");
        world_.publish_raw("sys.job.submit", packet.SerializeAsString());
    }
    [[nodiscard]] std::string before(const std::string& series) const {
        const Scrape now = scrape();
        const auto found = now.find(series);
        return found == now.end() ? "0" : found->second;
    }
    [[nodiscard]] Scrape scrape() const {
        Scrape all;
        std::istringstream lines(Deployment::http_get(port_, "/metrics"));
        for (std::string line; std::getline(lines, line);) {
            const auto end = line.rfind("} ");
            if (line.starts_with('#') || end == std::string::npos) continue;
            all.emplace(line.substr(0, end + 1), line.substr(end + 2, line.find_first_of("\r", end) - end - 2));
        }
        return all;
    }

    Deployment world_;
    TestAuthority authority_;
    int port_ = -1;
};

/// What changes in one story. The series is looked for in the recording by its name and the labels that are given.
struct Change {
    std::string series;
    std::vector<std::string> labels;  // such as topic="job.default"; all of them
    std::string values;
    std::string pod = "a";
    /// It has a label whose values nobody can know, so that it is there only once it has counted.
    bool appears = false;
};

struct Story {
    std::string title;
    std::vector<Change> changes;
    std::set<std::string> fires;
    int minutes = 20;
    std::vector<std::string> pods{"a", "b"};
};

std::string in_quotes(const std::string& text) { return "'" + text + "'"; }

/// The text of a file for `promtool test rules`.
class StoryBook {
public:
    explicit StoryBook(const Scrape& recorded) : recorded_(recorded) {
        text_ =
            fmt::format("rule_files: [{}/prod/deploy/prometheus/lockstep.rules.yml]\nevaluation_interval: 1m\ntests:\n",
                        LOCKSTEP_ROOT);
    }

    void add(const Story& story) {
        std::map<std::string, std::string> series;
        for (const std::string& pod : story.pods) {
            for (const auto& [name, value] : recorded_)
                if (is_asked_for(name)) series[of_pod(name, pod)] = constant(value);
            // promtool's clock begins at zero, and so does this process.
            series[of_pod("process_start_time_seconds{pod=\"a\"}", pod)] = constant("0");
            series[of_pod("up{pod=\"a\"}", pod)] = constant("1");
        }
        for (const Change& change : story.changes) apply(change, series, story.title);
        write(story, series);
    }

    /// Says what promtool does; empty when every story goes as it is told.
    [[nodiscard]] std::string play(const std::filesystem::path& folder) const {
        const auto file = folder / "stories.yml";
        const auto told = folder / "told";
        std::ofstream(file) << text_;
        const std::string command = fmt::format("promtool test rules {} >{} 2>&1", file.string(), told.string());
        if (std::system(command.c_str()) == 0) return {};
        std::ifstream in(told);
        return {std::istreambuf_iterator<char>(in), {}};
    }

private:
    static bool is_asked_for(const std::string& series) {
        static const std::string rules = alert_rules();
        return rules.find(series.substr(0, series.find('{'))) != std::string::npos;
    }
    /// As Prometheus stores it that scrapes the pod.
    static std::string of_pod(std::string series, const std::string& pod) {
        const std::string recorded = "pod=\"a\"";
        series.replace(series.find(recorded), recorded.size(),
                       fmt::format("pod=\"{0}\",job=\"lockstep\",instance=\"{0}:9090\"", pod));
        return series;
    }
    void apply(const Change& change, std::map<std::string, std::string>& series, const std::string& title) const {
        bool found = false;
        for (const auto& [name, value] : recorded_) {
            const bool meant = name.starts_with(change.series + "{") &&
                               std::ranges::all_of(change.labels, [&](const std::string& label) {
                                   return name.find(label) != std::string::npos;
                               });
            if (!meant) continue;
            found = true;
            if (change.values.empty())
                series.erase(of_pod(name, change.pod));
            else
                series[of_pod(name, change.pod)] = change.values;
        }
        if (change.appears) {
            std::string name = change.series + "{pod=\"a\"";
            for (const std::string& label : change.labels) name += "," + label;
            series[of_pod(name + "}", change.pod)] = change.values;
        } else if (change.series == "up") {
            series[of_pod("up{pod=\"a\"}", change.pod)] = change.values;
        } else {
            EXPECT_TRUE(found) << title << ": lockstepd exports no " << change.series << " with these labels";
        }
    }
    void write(const Story& story, const std::map<std::string, std::string>& series) {
        text_ += fmt::format("  - name: {}\n    interval: 1m\n    input_series:\n", in_quotes(story.title));
        for (const auto& [name, values] : series)
            text_ += fmt::format("      - {{series: {}, values: {}}}\n", in_quotes(name), in_quotes(values));
        text_ += fmt::format(
            "    promql_expr_test:\n      - expr: count by (alertname) (ALERTS{{alertstate=\"firing\"}} > 0) * 0\n"
            "        eval_time: {}m\n        exp_samples:\n",
            story.minutes);
        for (const std::string& alert : story.fires)
            text_ += fmt::format("          - {{labels: '{{alertname=\"{}\"}}', value: 0}}\n", alert);
        if (story.fires.empty()) text_.insert(text_.size() - 1, " []");
    }

    const Scrape& recorded_;
    std::string text_;
};

class AlertStories : public ::testing::Test {
protected:
    static void SetUpTestSuite() { recording = std::make_unique<Recording>(); }
    static void TearDownTestSuite() { recording.reset(); }

    void play(const std::vector<Story>& stories) {
        StoryBook book(recording->idle);
        for (const Story& story : stories) book.add(story);
        EXPECT_EQ(book.play(folder.path()), "");
        if (HasFailure()) std::fputs(recording->logs().c_str(), stderr);
    }

    static std::unique_ptr<Recording> recording;
    fakes::testing::TemporaryFolder folder;
};
std::unique_ptr<Recording> AlertStories::recording;

const std::string kTopic = "topic=\"job.default\"";
std::string of(engine::Metric metric) { return std::string(engine::info(metric).name); }
std::string of(DaemonMetric metric) { return std::string(info(metric).name); }

/// A counter that counts `by` at the eleventh minute, and with it the alert that fires by that.
struct Event {
    std::string series;
    std::vector<std::string> labels;
    int by;
    std::string alert;
    bool appears = false;
};

std::vector<Event> events() {
    using engine::Metric;
    return {{of(Metric::input_fail_open), {kTopic}, 1, "LockstepInputFailOpen"},
            {of(Metric::output_quarantine_failed), {kTopic}, 1, "LockstepQuarantineFailed"},
            {of(Metric::dlq_emit_failures), {kTopic}, 1, "LockstepDeadLettersNotWritten"},
            {of(Metric::job_lock_abandoned), {}, 1, "LockstepLockAbandoned"},
            {of(Metric::saga_compensation_failed), {}, 1, "LockstepCompensationFailed"},
            {of(Metric::saga_unmarshal_errors), {}, 1, "LockstepCompensationFailed"},
            {of(Metric::results_refused), {"reason=\"unknown_job_known_worker\""}, 1, "LockstepResultsOfUnknownJobs"},
            {of(DaemonMetric::lease_margin) + "_bucket", {"le=\"0.2\""}, 1, "LockstepLeaseMarginLow"},
            {of(DaemonMetric::queue_watch_failures), {"server=\"redis\""}, 30, "LockstepQueueWatchBlind"},
            {of(DaemonMetric::dead_letters), {}, 11, "LockstepDeadLetterRate"},
            {of(Metric::stale_worker_retry), {kTopic, "worker=\"w1\""}, 40, "LockstepStaleWorkers", true}};
}

TEST_F(AlertStories, NothingFiresWhileTheDeploymentIsIdleOrWorks) {
    using engine::Metric;
    play({{.title = "idle", .changes = {}, .fires = {}, .minutes = 40},
          {.title = "a hundred jobs a minute, and what happened before",
           .changes = {{of(Metric::jobs_received), {kTopic}, "0+100x60"},
                       {of(Metric::jobs_first_received), {kTopic}, "0+100x60"},
                       {of(Metric::jobs_dispatched), {kTopic}, "0+100x60"},
                       {of(DaemonMetric::jobs), {"PENDING"}, constant("7")},
                       {of(DaemonMetric::oldest_job_age), {"PENDING"}, constant("20")},
                       {of(DaemonMetric::oldest_job_age), {"APPROVAL_REQUIRED"}, constant("3000")},
                       {of(DaemonMetric::consumer_oldest_age), {}, constant("30")},
                       {of(DaemonMetric::lease_margin) + "_bucket", {"le=\"0.7\""}, "0+9x60"},
                       {of(DaemonMetric::dead_letters), {}, "0+1x60"},
                       {of(Metric::state_read_fail_closed_streak), {kTopic}, constant("2"), "a", true},
                       {of(Metric::stale_worker_retry), {kTopic, "worker=\"w1\""}, "0+1x60", "a", true},
                       {of(Metric::input_fail_open), {kTopic}, constant("5")},
                       {of(Metric::output_quarantine_failed), {kTopic}, constant("5")}},
           .fires = {},
           .minutes = 40},
          {.title = "a replica restarts, with its name",
           .changes = {{of(DaemonMetric::ready), {}, "1+0x5 0+0x3 1+0x50", "b"},
                       {of(Metric::input_fail_open), {kTopic}, "5+0x5 _x3 0+0x50", "b"}},
           .fires = {},
           .minutes = 11}});
}

TEST_F(AlertStories, TheFirstEventOfACounterFires) {
    std::vector<Story> stories;
    for (const Event& event : events()) {
        stories.push_back({.title = event.alert + ": from zero",
                           .changes = {{event.series, event.labels, step(event.by), "a", event.appears}},
                           .fires = {event.alert}});
        stories.push_back({.title = event.alert + ": the series appears with the event",
                           .changes = {{event.series, event.labels, appears_at(event.by), "a", event.appears}},
                           .fires = {event.alert}});
        stories.push_back({.title = event.alert + ": the replica appears with the event",
                           .changes = {{event.series, event.labels, appears_at(event.by), "b", event.appears},
                                       {of(DaemonMetric::ready), {}, "_x11 1+0x50", "b"},
                                       {of(DaemonMetric::process_start_time), {}, "_x11 620+0x50", "b"}},
                           .fires = {event.alert}});
    }
    play(stories);
}

TEST_F(AlertStories, OldCountsAreNoEventsOnlyBecauseAPrometheusIsNew) {
    std::vector<Story> stories;
    for (const Event& event : events()) {
        Story story{
            .title = event.alert + ": watched from the thirtieth minute on", .changes = {}, .fires = {}, .minutes = 35};
        for (const std::string pod : {"a", "b"}) {
            story.changes.push_back(
                {event.series, event.labels, fmt::format("_x30 {}+0x30", event.by), pod, event.appears});
            story.changes.push_back({of(DaemonMetric::ready), {}, "_x30 1+0x30", pod});
            story.changes.push_back({of(DaemonMetric::process_start_time), {}, "_x30 0+0x30", pod});
        }
        stories.push_back(std::move(story));
    }
    play(stories);
}

TEST_F(AlertStories, SymptomsFire) {
    using engine::Metric;
    const std::string ready = of(DaemonMetric::ready);
    const std::string age = of(DaemonMetric::oldest_job_age);
    play({{.title = "nobody is there", .changes = {}, .fires = {"LockstepNobodyReady"}, .minutes = 2, .pods = {}},
          {.title = "no replica takes jobs",
           .changes = {{ready, {}, constant("0"), "a"}, {ready, {}, constant("0"), "b"}},
           .fires = {"LockstepNobodyReady", "LockstepNotReady"}},
          {.title = "one replica takes no jobs",
           .changes = {{ready, {}, constant("0"), "b"}},
           .fires = {"LockstepNotReady"}},
          {.title = "a replica that is scraped by name is gone",
           .changes = {{"up", {}, "1+0x5 0+0x55", "b"},
                       {ready, {}, "1+0x5", "b"},
                       {of(DaemonMetric::build_info), {}, "1+0x5", "b"},
                       {of(DaemonMetric::replicas_expected), {}, constant("0"), "a"},
                       {of(DaemonMetric::replicas_expected), {}, "0+0x5", "b"}},
           .fires = {"LockstepReplicaMissing"}},
          {.title = "one of two replicas was never there",
           .changes = {},
           .fires = {"LockstepReplicaMissing"},
           .pods = {"a"}},
          {.title = "there are as many replicas as nobody has asked for",
           .changes = {{of(DaemonMetric::replicas_expected), {}, constant("0"), "a"}},
           .fires = {},
           .pods = {"a"}},
          {.title = "a job is pending for longer than orphans may be",
           .changes = {{age, {"PENDING"}, "0+60x60"}, {of(DaemonMetric::jobs), {"PENDING"}, constant("1")}},
           .fires = {"LockstepOldestPendingAge"}},
          {.title = "a job has waited for an approval for two hours",
           .changes = {{age, {"APPROVAL_REQUIRED"}, constant("7200")},
                       {of(DaemonMetric::jobs), {"APPROVAL_REQUIRED"}, constant("1")}},
           .fires = {"LockstepApprovalsWait"}},
          {.title = "a job has waited for a free slot for two hours",
           .changes = {{of(DaemonMetric::capacity_oldest_wait), {}, constant("7200")},
                       {of(DaemonMetric::jobs), {"PENDING"}, constant("1")}},
           .fires = {"LockstepJobsWaitForCapacity"}},
          {.title = "a durable does not come on",
           .changes = {{of(DaemonMetric::consumer_oldest_age), {}, "0+60x60"}},
           .fires = {"LockstepConsumerBehind"}},
          {.title = "a tenth of the jobs ends in letters",
           .changes = {{of(DaemonMetric::dead_letters), {}, "0+10x60"},
                       {of(Metric::jobs_received), {kTopic}, "0+100x60"}},
           .fires = {"LockstepDeadLetterRate"}},
          {.title = "states are not readable",
           .changes = {{of(Metric::state_read_fail_closed_streak), {kTopic}, "0+2x60", "a", true}},
           .fires = {"LockstepStateReadFailClosed"}},
          {.title = "the kernel does not answer",
           .changes = {{of(Metric::safety_unavailable), {kTopic}, "0+1x60"}},
           .fires = {"LockstepPolicyUnavailable"}},
          {.title = "the service has settings that nobody can read",
           .changes = {{of(Metric::settings_refused), {"source=\"files\""}, constant("1")}},
           .fires = {"LockstepSettingsRefused"}},
          {.title = "Redis is nearly full",
           .changes = {{of(DaemonMetric::redis_memory_used), {}, constant("90")},
                       {of(DaemonMetric::redis_memory_limit), {}, constant("100")}},
           .fires = {"LockstepRedisMemory"}},
          {.title = "what Redis may use is not known",
           .changes = {{of(DaemonMetric::redis_memory_used), {}, constant("90")},
                       {of(DaemonMetric::redis_memory_limit), {}, constant("0"), "a"},
                       {of(DaemonMetric::redis_memory_limit), {}, constant("0"), "b"}},
           .fires = {}},
          {.title = "a certificate expires in thirteen days",
           .changes = {{of(DaemonMetric::certificate_not_after), {"SAFETY_KERNEL_TLS_CA"}, constant("1123200")}},
           .fires = {"LockstepCertificateExpires"}},
          {.title = "a certificate holds for fifteen days",
           .changes = {{of(DaemonMetric::certificate_not_after), {"SAFETY_KERNEL_TLS_CA"}, constant("1296000")}},
           .fires = {}},
          {.title = "nobody reads the log",
           .changes = {{of(DaemonMetric::log_lines_lost), {}, step(3)}},
           .fires = {"LockstepLogLinesLost"}},
          {.title = "descriptors run out",
           .changes = {{of(DaemonMetric::process_open_fds), {}, constant("900")},
                       {of(DaemonMetric::process_max_fds), {}, constant("1000")}},
           .fires = {"LockstepFewFileDescriptors"}},
          {.title = "those of other programs do not count",
           .changes = {{of(DaemonMetric::process_open_fds), {}, constant("900")},
                       {of(DaemonMetric::process_max_fds), {}, constant("1000")},
                       {of(DaemonMetric::build_info), {}, ""}},
           .fires = {}}});
}

TEST_F(AlertStories, JobsThatComeInAndWaitFireAndThoseThatWaitForAPersonOrForCapacityDoNot) {
    using engine::Metric;
    const Change come_in{of(Metric::jobs_first_received), {kTopic}, step(3)};
    const Change go_round{of(Metric::jobs_received), {kTopic}, "0+100x60"};
    const auto in = [](const char* state, int count) {
        return Change{of(DaemonMetric::jobs), {state}, constant(std::to_string(count))};
    };
    const std::string alert = "LockstepNothingDispatched";
    play({{.title = "three jobs come in and none goes out", .changes = {come_in, in("PENDING", 3)}, .fires = {alert}},
          {.title = "the series of what goes out is not there at all",
           .changes = {come_in,
                       in("PENDING", 3),
                       {of(Metric::jobs_dispatched), {}, "", "a"},
                       {of(Metric::jobs_dispatched), {}, "", "b"}},
           .fires = {alert}},
          {.title = "they wait for a person", .changes = {come_in, in("APPROVAL_REQUIRED", 3)}, .fires = {}},
          {.title = "they wait for capacity",
           .changes = {come_in,
                       in("PENDING", 3),
                       {of(DaemonMetric::capacity_waiting), {"pool=\"cpu\""}, constant("1"), "a", true},
                       {of(DaemonMetric::capacity_waiting), {"pool=\"cpu,gpu\""}, constant("2"), "a", true}},
           .fires = {}},
          {.title = "one of them does not wait for capacity",
           .changes = {come_in,
                       in("PENDING", 3),
                       {of(DaemonMetric::capacity_waiting), {"pool=\"cpu\""}, constant("2"), "a", true}},
           .fires = {alert}},
          {.title = "they were denied", .changes = {come_in}, .fires = {}},
          {.title = "only old jobs go round", .changes = {go_round, in("PENDING", 3)}, .fires = {}},
          {.title = "one of three goes out",
           .changes = {come_in, in("PENDING", 2), {of(Metric::jobs_dispatched), {kTopic}, "0+0x17 1+0x40"}},
           .fires = {}}});
}

// Both scrapes are the program's own: nothing in them was written by hand.
TEST_F(AlertStories, WhatLockstepdExportsBeforeAndAfterAFirstEventFires) {
    Story story{.title = "a job passes without a decision, and its letter is not published",
                .changes = {},
                .fires = {"LockstepDeadLettersNotWritten", "LockstepInputFailOpen"},
                .minutes = 13,
                .pods = {"a", "b"}};
    for (const auto& [series, value] : recording->after) {
        const auto before = recording->idle.find(series);
        if (before == recording->idle.end() || before->second == value) continue;
        const std::string name = series.substr(0, series.find('{'));
        if (!name.starts_with("cordum_scheduler_") || name.find("_total") == std::string::npos) continue;
        const std::string labels =
            series.substr(series.find("pod=\"a\"") + 7, series.size() - series.find("pod=\"a\"") - 8);
        story.changes.push_back({name, {labels}, fmt::format("{}+0x10 {}+0x50", before->second, value)});
    }
    play({story});
}

TEST_F(AlertStories, TheRunbookIsAUrlWhoseBaseAnExternalLabelSays) {
    const auto book = [&](const std::string& labels, const std::string& url) {
        const auto file = folder.path() / "runbook.yml";
        std::ofstream(file) << fmt::format(
            "rule_files: [{}/prod/deploy/prometheus/lockstep.rules.yml]\ntests:\n  - interval: 1m\n    "
            "external_labels: {}\n"
            "    input_series: []\n    alert_rule_test:\n      - eval_time: 5m\n        alertname: "
            "LockstepNobodyReady\n"
            "        exp_alerts:\n          - exp_labels: {{severity: critical}}\n            exp_annotations:\n"
            "              summary: no replica takes jobs\n              runbook_url: {}\n",
            LOCKSTEP_ROOT, labels, url);
        return std::system(fmt::format("promtool test rules {} >/dev/null", file.string()).c_str());
    };
    EXPECT_EQ(book("{}", std::string(kRunbookPage) + "#lockstepnobodyready"), 0);
    EXPECT_EQ(book(fmt::format("{{{}: \"https://wiki.example/alerts\"}}", kRunbookLabel),
                   "https://wiki.example/alerts#lockstepnobodyready"),
              0);
}

TEST_F(AlertStories, PromtoolFindsNothingWrongWithTheRules) {
    const std::string rules = std::string(LOCKSTEP_ROOT) + "/prod/deploy/prometheus/lockstep.rules.yml";
    EXPECT_EQ(std::system(("promtool check rules --lint-fatal " + rules + " >/dev/null").c_str()), 0);
}

}  // namespace
}  // namespace lockstep::prod::testing

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    if (!lockstep::fakes::testing::find_program("promtool") || !lockstep::prod::testing::Deployment::possible()) {
        std::puts("promtool (Debian: prometheus), redis-server or nats-server is not installed");
        return 77;
    }
    return RUN_ALL_TESTS();
}
