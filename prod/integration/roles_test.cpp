// What each role can bring about with the permissions that prod/deploy/nats-server.conf gives it, as its page lists it
// (prod/deploy/permissions.md): two replicas and honest jobs in every state, while somebody with that role's log-in says
// everything that can be said.
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <fstream>

#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "fakes/testing/server_lines.h"
#include "prod/integration/deployment_fixture.h"
#include "prod/integration/nats_peer.h"

namespace lockstep::prod::testing {
namespace {

using namespace std::chrono_literals;
using engine::wire::serialise;
using nlohmann::json;

constexpr const char* kSubmits = "dur_cordum-scheduler__sys_job_submit";

fakes::testing::ServerProcess::CommandLine guarded_nats() {
    // As an operator would: every password from the environment of the server.
    for (const char* role : {"SCHEDULER", "GATEWAY", "WORKFLOW_ENGINE", "W1", "W2", "OBSERVER", "NOBODY"})
        ::setenv((std::string("NATS_PASSWORD_") + role).c_str(), "a-secret", 1);
    return [](int port, const std::filesystem::path& folder) {
        auto line = fakes::testing::nats_server_line(port, folder);
        line.insert(line.end(), {"-c", LOCKSTEP_DEPLOY_FOLDER "/nats-server.conf"});
        return line;
    };
}

Program::Environment log_in(const std::string& user) {
    return {{"NATS_USERNAME", user}, {"NATS_PASSWORD", "a-secret"}};
}

template <class Payload>
std::string packet(Payload payload) {
    return serialise(engine::wire::make_packet(std::move(payload), "a-trace", "somebody", {}));
}

cap::JobResult report(const std::string& job, cap::JobStatus status, const std::string& worker) {
    cap::JobResult result;
    result.set_job_id(job);
    result.set_status(status);
    result.set_worker_id(worker);
    result.set_result_ptr("redis://res:forged");
    return result;
}

/// Everything that the protocol knows to say about a job, in the name of `worker`.
std::vector<std::string> forgeries(const std::string& job, const std::string& worker) {
    cap::JobRequest changed;
    changed.set_job_id(job);
    changed.set_topic("job.default");
    changed.set_tenant_id("intruder");
    cap::JobRequest approved = changed;
    (*approved.mutable_labels())["approval_granted"] = "true";
    cap::JobCancel cancel;
    cancel.set_job_id(job);
    cap::JobProgress progress;
    progress.set_job_id(job);
    progress.set_status(cap::JOB_STATUS_SUCCEEDED);
    cap::SystemAlert alert;
    alert.set_message(job);
    std::vector<std::string> packets{packet(changed), packet(approved), packet(cancel), packet(progress),
                                     packet(alert)};
    for (const auto status : {cap::JOB_STATUS_SUCCEEDED, cap::JOB_STATUS_FAILED, cap::JOB_STATUS_FAILED_FATAL,
                              cap::JOB_STATUS_TIMEOUT, cap::JOB_STATUS_CANCELLED, cap::JOB_STATUS_DENIED})
        packets.push_back(packet(report(job, status, worker)));
    return packets;
}

/// Requests to JetStream that would take messages, durables or the whole stream away.
const std::vector<std::string> kAdministration{"$JS.API.STREAM.PURGE.CORDUM_SYS", "$JS.API.STREAM.DELETE.CORDUM_SYS",
                                               "$JS.API.STREAM.DELETE.CORDUM_JOBS",
                                               std::string("$JS.API.CONSUMER.DELETE.CORDUM_SYS.") + kSubmits,
                                               std::string("$JS.ACK.CORDUM_SYS.") + kSubmits + ".1.1.1.1.0"};

const std::vector<std::string> kSubjects{
    "sys.job.submit", "sys.job.result", "sys.job.cancel",     "sys.job.dlq",
    "sys.heartbeat",  "sys.handshake",  "sys.job.progress",   "worker.w1.jobs",
    "worker.w2.jobs", "job.default",    "sys.config.changed", std::string("_INBOX.lockstep.") + kSubmits};

class RolesTest : public ::testing::Test {
protected:
    void SetUp() override {
        if (!Deployment::possible()) GTEST_SKIP() << "redis-server or nats-server is not installed";
        world = std::make_unique<Deployment>(Durability::none, guarded_nats());
        world->environment.merge(log_in("gateway"));  // lockstepctl is one
        const auto pools = world->folder() / "pools.yaml";
        std::ofstream(pools)
            << "topics: {job.default: [default], job.deploy: [default], job.quick: [quick], job.none: [none]}\n"
               "pools: {default: {}, quick: {}, none: {}}\n";
        world->environment["POOL_CONFIG_PATH"] = pools;
        for (int i = 0; i < 2; ++i) world->add_scheduler(log_in("scheduler"));
        world->add_worker("w1", {"--service-time", "10m"}, log_in("w1"));
        submit("runs", {});
        submit("waits-for-a-human", {"--topic", "job.deploy"});
        submit("waits-for-a-worker", {"--topic", "job.none"});
        submit("denied", {"--risk-tag", "secrets"});
        submit("cancelled", {"--topic", "job.deploy"});
        ASSERT_EQ(world->ctl({"cancel", "cancelled"}).exit_code, 0);
        expect_states();
        before = records();
    }
    void TearDown() override {
        if (world && HasFailure()) std::fputs((world->logs() + world->nats().log()).c_str(), stderr);
    }

    void submit(const std::string& job, std::vector<std::string> more) {
        more.insert(more.begin(), {"submit", "--id", job, "--tenant", "honest"});
        ASSERT_EQ(world->ctl(std::move(more)).exit_code, 0) << job;
    }
    [[nodiscard]] std::string state(const std::string& job) { return status(job).value("state", "unknown"); }
    json status(const std::string& job) {
        json told = world->ctl_json({"status", job});
        if (told.is_array() && !told.empty()) told = json(told[0]);
        return told.is_object() ? told : json{{"state", "unknown"}};
    }
    void expect_states() {
        for (const auto& [job, expected] : expected_states)
            EXPECT_TRUE(Deployment::until([&] { return state(job) == expected; }, 20s)) << job << ": " << state(job);
    }
    /// Everything that is kept about the jobs that nobody is at work on, and the states of the others.
    std::map<std::string, json> records() {
        std::map<std::string, json> all;
        for (const auto& [job, expected] : expected_states) {
            json record = status(job);
            // Taken off by whoever takes the job and gives it back as it is.
            if (record.value("ls_in_hand", "none").empty()) record.erase("ls_in_hand");
            if (job == "waits-for-a-worker") record = json{{"state", record["state"]}, {"tenant", record["tenant"]}};
            all[job] = std::move(record);
        }
        return all;
    }
    [[nodiscard]] NatsPeer peer(const std::string& user) { return NatsPeer(world->nats().port(), user, "a-secret"); }

    /// Says everything about every job on every subject, in the name of `worker`; and once more what has been heard.
    static void say_everything(NatsPeer& peer, const std::string& worker, const std::vector<std::string>& heard = {}) {
        for (const auto& [job, ignored] : expected_states)
            for (const std::string& subject : kSubjects)
                for (const std::string& forged : forgeries(job, worker)) peer.publish(subject, forged);
        for (const std::string& subject : kSubjects) {
            for (const std::string& again : heard) peer.publish(subject, again);
            for (const std::string& request : kAdministration) peer.publish(subject, "{}", request);
        }
        for (const std::string& request : kAdministration) peer.publish(request, "");
        for (const char* subject : {"sys.job.cancel", "sys.job.submit", "sys.job.result"})
            peer.subscribe(subject, "cordum-scheduler");
        peer.subscribe(std::string("_INBOX.lockstep.") + kSubmits, "cordum-scheduler");
        peer.subscribe("worker.w1.jobs", "worker.w1.jobs");
        peer.settle();
    }
    /// Whatever was said before this has been dealt with, and jobs are handled as ever.
    void expect_business_as_usual() {
        world->add_worker("w2", {"--pool", "quick", "--service-time", "5ms"}, log_in("w2"));
        submit("probe", {"--count", "20", "--topic", "job.quick"});
        std::vector<std::string> ask{"status", "--wait", "--wait-for", "60s"};
        for (int i = 0; i < 20; ++i) ask.push_back("probe-" + std::to_string(i));
        const auto told = world->ctl(std::move(ask));
        EXPECT_EQ(told.exit_code, 0) << told.text;
        expect_stream_whole();
    }
    /// Nobody has taken anything away from the stream.
    void expect_stream_whole() {
        NatsPeer gateway = peer("gateway");
        gateway.subscribe("_INBOX.asked");
        gateway.publish("$JS.API.STREAM.INFO.CORDUM_SYS", "", "_INBOX.asked");
        ASSERT_TRUE(Deployment::until(
            [&] {
                gateway.settle();
                return !gateway.received().empty();
            },
            10s));
        const json info = json::parse(gateway.received().front());
        EXPECT_EQ(info["state"]["first_seq"], 1) << info.dump();
    }
    void expect_nothing_changed() {
        // A job that is being handled carries a mark meanwhile.
        (void)Deployment::until([&] { return records() == before; }, 10s);
        const auto after = records();
        for (const auto& [job, record] : before) EXPECT_EQ(after.at(job), record) << job;
        EXPECT_EQ(world->executions(), (std::map<std::string, int>{{"runs", 1}}));
    }

    static inline const std::map<std::string, std::string> expected_states{{"runs", "RUNNING"},
                                                                           {"waits-for-a-human", "APPROVAL_REQUIRED"},
                                                                           {"waits-for-a-worker", "PENDING"},
                                                                           {"denied", "DENIED"},
                                                                           {"cancelled", "CANCELLED"}};
    std::unique_ptr<Deployment> world;
    std::map<std::string, json> before;
};

TEST_F(RolesTest, NobodyChangesNothing) {
    NatsPeer nobody = peer("nobody");
    nobody.subscribe(">");
    say_everything(nobody, "w1");
    EXPECT_TRUE(nobody.received().empty());
    expect_nothing_changed();
    expect_business_as_usual();
}

TEST_F(RolesTest, WithoutALogInNobodyGetsIn) {
    EXPECT_THROW(NatsPeer(world->nats().port()), std::runtime_error);
    EXPECT_THROW(NatsPeer(world->nats().port(), "scheduler", "guessed"), std::runtime_error);
}

TEST_F(RolesTest, AnObserverHearsEverythingAndChangesNothing) {
    NatsPeer observer = peer("observer");
    observer.subscribe("sys.>");
    observer.settle();
    submit("overheard", {"--topic", "job.none"});
    observer.settle();
    ASSERT_FALSE(observer.received().empty());
    say_everything(observer, "w1", observer.received());
    expect_nothing_changed();
    expect_business_as_usual();
}

TEST_F(RolesTest, AWorkerCannotTouchWhatWasNotSentToIt) {
    NatsPeer worker = peer("w2");
    say_everything(worker, "w2");
    expect_nothing_changed();
    EXPECT_TRUE(worker.received().empty()) << "what is meant for others";
    expect_business_as_usual();
}

TEST_F(RolesTest, AWorkerReportsInTheNameOfAJobsOwnWorkerAndThatIsAll) {
    NatsPeer worker = peer("w2");
    for (const char* job : {"waits-for-a-human", "waits-for-a-worker", "denied", "cancelled", "never-heard-of"})
        for (const std::string& forged : forgeries(job, "w1")) worker.publish("sys.job.result", forged);
    worker.settle();
    expect_business_as_usual();
    for (const char* job : {"waits-for-a-human", "waits-for-a-worker", "denied", "cancelled"})
        EXPECT_EQ(state(job), expected_states.at(job)) << job;
    EXPECT_EQ(state("never-heard-of"), "unknown");
    EXPECT_EQ(state("runs"), "RUNNING");

    worker.publish("sys.job.result", packet(report("runs", cap::JOB_STATUS_SUCCEEDED, "w1")));
    worker.settle();
    EXPECT_TRUE(Deployment::until([&] { return state("runs") == "SUCCEEDED"; }, 10s));
}

TEST_F(RolesTest, AWorkflowEngineSubmitsAndCancelsAndNeitherReportsNorDispatches) {
    NatsPeer engine = peer("workflow-engine");
    for (const auto& [job, ignored] : expected_states)
        for (const char* subject : {"sys.job.result", "worker.w1.jobs", "job.default", "sys.heartbeat"})
            for (const std::string& forged : forgeries(job, "w1")) engine.publish(subject, forged);
    for (const std::string& request : kAdministration) engine.publish(request, "");
    engine.settle();
    expect_nothing_changed();
    cap::JobCancel cancel;
    cancel.set_job_id("runs");
    engine.publish("sys.job.cancel", packet(cancel));
    engine.settle();
    EXPECT_TRUE(Deployment::until([&] { return state("runs") == "CANCELLED"; }, 10s));
    expect_business_as_usual();
}

TEST_F(RolesTest, AWorkflowEngineOfOursRunsWithThePartOfOneOnceItsDurableIsThere) {
    world->environment["WORKFLOW_ENGINE_SCAN_INTERVAL"] = "500ms";
    auto maker = log_in("scheduler");
    maker["LOCKSTEP_ROLE"] = "scheduler,workflow";
    world->add_scheduler(maker).signal(SIGTERM);  // makes the durable, as an administrator could
    auto engine = log_in("workflow-engine");
    engine["LOCKSTEP_ROLE"] = "workflow";
    world->add_scheduler(engine);
    Program& worker = world->add_worker("w2", {"--pool", "quick", "--service-time", "5ms"}, log_in("w2"));
    const auto file = world->folder() / "trip.json";
    std::ofstream(file) << R"({"id": "trip", "steps": {
        "book": {"topic": "job.quick", "for_each": "input.to"}, "tell": {"type": "notify", "depends_on": ["book"]},
        "agree": {"type": "approval", "depends_on": ["tell"]}, "pay": {"topic": "job.quick", "depends_on": ["agree"]}}})";
    EXPECT_EQ(world->ctl({"workflow", "put", file.string()}).exit_code, 0);
    // More jobs than are sent without a look at the schedulers' backlog.
    const std::string input = json{{"to", std::vector<int>(40, 1)}}.dump();
    EXPECT_EQ(world->ctl({"workflow", "start", "trip", "--run", "trip-1", "--input", input}).exit_code, 0);
    EXPECT_EQ(world->ctl({"workflow", "approve", "trip-1", "agree", "--wait", "--wait-for", "20s"}).exit_code, 0);
    const auto ended = world->ctl({"workflow", "status", "trip-1", "--wait", "--wait-for", "30s"});
    EXPECT_EQ(ended.exit_code, 0) << ended.text;
    worker.signal(SIGTERM);
    EXPECT_EQ(worker.wait(20s), 0);
    EXPECT_EQ(worker.output().find("given up"), std::string::npos)
        << "its results are acknowledged in its account";
    for (const char* user : {"scheduler", "gateway", "workflow-engine"})
        EXPECT_EQ(world->nats().log().find(std::string("Violation - User \"") + user), std::string::npos)
            << world->nats().log();
}

TEST_F(RolesTest, AWorkflowEngineOfOursGivesUpResultsThatCannotBeDecodedWithThePartOfOne) {
    auto maker = log_in("scheduler");
    maker["LOCKSTEP_ROLE"] = "scheduler,workflow";
    world->add_scheduler(maker).signal(SIGTERM);
    auto role = log_in("workflow-engine");
    role["LOCKSTEP_ROLE"] = "workflow";
    const Program& engine = world->add_scheduler(role);
    NatsPeer worker = peer("w1");
    worker.publish("sys.job.result", "\xff no packet");
    worker.settle();
    EXPECT_TRUE(
        Deployment::until([&] { return engine.output().find("message not decodable") != std::string::npos; }, 20s))
        << engine.output();
    NatsPeer administrator = peer("scheduler");
    administrator.subscribe("_INBOX.asked");
    const auto is_given_up = [&] {
        administrator.publish("$JS.API.CONSUMER.INFO.CORDUM_SYS.dur_cordum-workflow-engine__sys_job_result", "",
                              "_INBOX.asked");
        administrator.settle();
        if (administrator.received().empty()) return false;
        const json info = json::parse(administrator.received().back());
        return info.value("num_pending", -1) == 0 && info.value("num_ack_pending", -1) == 0;
    };
    EXPECT_TRUE(Deployment::until(is_given_up, 20s)) << engine.output();
    // What could not be applied in all its deliveries is told of.
    NatsPeer same_part = peer("workflow-engine");
    same_part.publish("sys.job.dlq", packet(report("poison:CORDUM_SYS:1", cap::JOB_STATUS_FAILED, "")));
    same_part.settle();
    EXPECT_TRUE(same_part.refusals().empty()) << same_part.refusals().front();
    EXPECT_EQ(world->nats().log().find("Violation - User \"workflow-engine"), std::string::npos) << world->nats().log();
}

TEST_F(RolesTest, AGatewayNeitherDispatchesNorSpeaksForWorkersThatDoNotHaveTheJob) {
    NatsPeer gateway = peer("gateway");
    for (const auto& [job, ignored] : expected_states) {
        for (const char* subject :
             {"worker.w1.jobs", "worker.w2.jobs", "job.default", "sys.heartbeat", "sys.handshake"})
            for (const std::string& forged : forgeries(job, "w1")) gateway.publish(subject, forged);
        for (const std::string& forged : forgeries(job, "api-gateway")) gateway.publish("sys.job.result", forged);
    }
    for (const std::string& request : kAdministration) gateway.publish(request, "");
    gateway.settle();
    expect_nothing_changed();
    expect_business_as_usual();
}

TEST_F(RolesTest, ASchedulerNeedsNoMoreThanItHas) {
    expect_business_as_usual();
    EXPECT_EQ(world->nats().log().find("Violation - User \"scheduler\""), std::string::npos) << world->nats().log();
}

}  // namespace
}  // namespace lockstep::prod::testing
