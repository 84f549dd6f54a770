// What an operator meets in the first hour: whether it is ready, what it says of mistakes, and what is in the way at start.
#include <fcntl.h>
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "engine/wire/messages.h"
#include "prod/ctl/test_output_schema.h"
#include "prod/integration/deployment_fixture.h"
#include "prod/version/build.h"

namespace lockstep::prod::testing {
namespace {

using namespace std::chrono_literals;

bool contains(const std::string& text, const std::string& what) { return text.find(what) != std::string::npos; }

/// The port in "admin listener port=4711".
int admin_port(Program& daemon) {
    const std::string words = "admin listener port=";
    if (!daemon.says(words)) return -1;
    const std::string output = daemon.output();
    return std::stoi(output.substr(output.find(words) + words.size()));
}

/// Of the first series that begins so; empty without one.
std::string value_of(int port, const std::string& series) {
    const std::string text = Deployment::http_get(port, "/metrics");
    const auto line = text.find("\n" + series);
    if (line == std::string::npos) return {};
    const auto value = text.find("} ", line) + 2;
    return text.substr(value, text.find_first_of("\r\n", value) - value);
}

std::string handlers_in_flight(int port) { return value_of(port, "cordum_scheduler_scheduler_active_goroutines{"); }

class OperatorTest : public DeploymentFixture {};

TEST_F(OperatorTest, ReadinessIsSaidBeforeTheStreamsExistAndWhileItDrains) {
    const fakes::testing::ReservedPort unused;
    Program alone =
        world->launch("lockstepd", {}, {{"NATS_URL", "nats://127.0.0.1:" + std::to_string(unused.number())}});
    const int early = admin_port(alone);
    ASSERT_GT(early, 0) << alone.output();
    EXPECT_TRUE(Deployment::until(
        [&] { return contains(Deployment::http_get(early, "/readyz"), "no connection to NATS"); }, 20s));
    EXPECT_TRUE(contains(Deployment::http_get(early, "/readyz"), "HTTP/1.1 503"));
    EXPECT_TRUE(contains(Deployment::http_get(early, "/health"), R"("ready":false)"));
    alone.kill();

    auto& scheduler = world->add_scheduler({{"LOCKSTEP_STORE_OP_TIMEOUT", "3s"}});
    const int port = admin_port(scheduler);
    EXPECT_TRUE(contains(Deployment::http_get(port, "/readyz"), "HTTP/1.1 200")) << scheduler.output();
    EXPECT_TRUE(contains(Deployment::http_get(port, "/health"), R"("ready":true)"));
    world->redis().freeze();  // what is in hand, and the release of what is held, keep it from ending
    cordum::agent::v1::BusPacket packet;
    packet.mutable_job_request()->set_job_id("in-hand");
    packet.mutable_job_request()->set_topic("job.default");
    world->publish_raw("sys.job.submit", packet.SerializeAsString());
    EXPECT_TRUE(Deployment::until([&] { return handlers_in_flight(port) == "1"; }, 20s));
    scheduler.signal(SIGTERM);
    EXPECT_TRUE(scheduler.says("draining"));
    EXPECT_TRUE(contains(Deployment::http_get(port, "/readyz"), R"({"ready":false,"reason":"draining"})"));
    world->redis().thaw();
    EXPECT_EQ(scheduler.wait(), 0);
}

TEST_F(OperatorTest, AReaderOfTheLogWhoStallsCostsLinesAndNoJobs) {
    const std::string log = (world->folder() / "log").string();
    ASSERT_EQ(::mkfifo(log.c_str(), 0600), 0);
    const int reader = ::open(log.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    const int filler = ::open(log.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    ASSERT_GE(filler, 0);
    while (::write(filler, "\n", 1) == 1) continue;
    ::close(filler);
    const fakes::testing::ReservedPort port;
    Program daemon = world->launch_shell("deaf", std::string("exec " LOCKSTEP_PROGRAM_FOLDER "/lockstepd 2> ") + log,
                                         {{"SCHEDULER_METRICS_ADDR", "127.0.0.1:" + std::to_string(port.number())}});
    const auto listens = [&] {
        const int socket = fakes::testing::connect_to_loopback(port.number());
        if (socket >= 0) ::close(socket);
        return socket >= 0;
    };
    ASSERT_TRUE(Deployment::until(listens, 30s));
    const auto get = [&](const char* path) { return Deployment::http_get(port.number(), path); };
    ASSERT_TRUE(Deployment::until([&] { return contains(get("/readyz"), "HTTP/1.1 200"); }, 30s)) << get("/readyz");
    world->add_worker("w1");
    const auto job = [&](const std::string& id) {
        return world->ctl({"submit", "--id", id, "--wait", "--wait-for", "20s"}).exit_code;
    };
    EXPECT_EQ(job("while-the-pipe-is-full"), 0);
    const auto lost = [&] { return value_of(port.number(), "lockstep_log_lines_lost_total{"); };
    EXPECT_EQ(lost(), "0") << "a queue has room for what is usual";
    EXPECT_TRUE(Deployment::until(
        [&] {
            // Each that it takes notice of has it say a kilobyte.
            const auto end = std::chrono::steady_clock::now() + 500ms;
            while (std::chrono::steady_clock::now() < end) daemon.signal(SIGUSR1);
            return lost() != "0";
        },
        30s));
    EXPECT_EQ(job("while-lines-are-lost"), 0);
    EXPECT_TRUE(contains(get("/livez?verbose"), "[+]loop ok")) << get("/livez?verbose");

    std::string read;
    std::array<char, 65536> part{};
    EXPECT_TRUE(Deployment::until(
        [&] {
            for (ssize_t got = 0; (got = ::read(reader, part.data(), part.size())) > 0;)
                read.append(part.data(), static_cast<std::size_t>(got));
            return contains(read, "WARN log lines lost lines=");
        },
        20s));
    EXPECT_TRUE(contains(read, "[SCHEDULER] INFO ready"));
    daemon.signal(SIGTERM);
    EXPECT_EQ(daemon.wait(), 0);
    ::close(reader);
}

// O6
TEST_F(OperatorTest, AServerThatStaysAwayEndsReadinessAndNotLife) {
    auto& strict = world->add_scheduler({{"LOCKSTEP_READINESS_GRACE", "200ms"}});
    auto& patient = world->add_scheduler({{"LOCKSTEP_READINESS_GRACE", "10m"}});
    const int port = admin_port(strict);
    const int other = admin_port(patient);
    world->redis().kill();
    EXPECT_TRUE(
        Deployment::until([&] { return contains(Deployment::http_get(port, "/readyz"), "HTTP/1.1 503"); }, 20s));
    EXPECT_TRUE(contains(Deployment::http_get(port, "/readyz?verbose"), "[-]redis failed: "));
    EXPECT_TRUE(contains(Deployment::http_get(port, "/livez"), "HTTP/1.1 200"));
    EXPECT_TRUE(contains(Deployment::http_get(other, "/readyz?verbose"), "[+]redis ok, within its grace: "));
    EXPECT_TRUE(contains(Deployment::http_get(other, "/readyz"), "HTTP/1.1 200"));
    const std::string address = "127.0.0.1:" + std::to_string(port);
    const auto probe = [&](std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), "healthcheck");
        Program asks = world->launch("lockstepd", std::move(arguments), {{"SCHEDULER_METRICS_ADDR", address}});
        return std::pair{asks.wait(), asks.output()};
    };
    EXPECT_EQ(probe({}).first, 0);
    const auto [code, said] = probe({"--ready"});
    EXPECT_EQ(code, 1);
    EXPECT_TRUE(contains(said, "/readyz at " + address + " (SCHEDULER_METRICS_ADDR) says 503: ")) << said;
    EXPECT_TRUE(contains(said, "redis: ")) << said;
    world->redis().start();
    EXPECT_TRUE(Deployment::until([&] { return contains(Deployment::http_get(port, "/readyz"), "HTTP/1.1 200"); }, 20s))
        << Deployment::http_get(port, "/readyz?verbose");
    EXPECT_EQ(probe({"--ready"}).first, 0);
    strict.kill();
    const auto [dead, why] = probe({});
    EXPECT_EQ(dead, 1);
    EXPECT_TRUE(contains(why, "does not answer")) << why;
}

/// Listens on a free port of loopback. Connections are taken by the system until somebody accepts them.
class ListeningSocket {
public:
    ListeningSocket() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        if (::bind(socket_, reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(socket_, 16) != 0 ||
            ::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size) != 0)
            throw std::runtime_error("no port for a server");
        address_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    }
    ListeningSocket(const ListeningSocket&) = delete;
    ListeningSocket& operator=(const ListeningSocket&) = delete;
    ~ListeningSocket() { ::close(socket_); }
    [[nodiscard]] int socket() const { return socket_; }
    [[nodiscard]] const std::string& address() const { return address_; }

private:
    int socket_;
    std::string address_;
};

/// A Redis that is loading its data, for as long as it lives: it says so to whatever it is asked.
class LoadingRedis {
public:
    LoadingRedis() : thread_([this] { serve(); }) {}
    LoadingRedis(const LoadingRedis&) = delete;
    LoadingRedis& operator=(const LoadingRedis&) = delete;
    ~LoadingRedis() {
        ::shutdown(listening_.socket(), SHUT_RDWR);
        thread_.join();
    }
    [[nodiscard]] std::string url() const { return "redis://" + listening_.address(); }

private:
    /// One client at a time: who is refused hangs up and comes again.
    void serve() const {
        for (int client = 0; (client = ::accept(listening_.socket(), nullptr, nullptr)) >= 0; ::close(client)) {
            std::array<char, 1024> asked;
            const std::string_view answer = "-LOADING Redis is loading the dataset in memory\r\n";
            if (::recv(client, asked.data(), asked.size(), 0) > 0)
                (void)::send(client, answer.data(), answer.size(), MSG_NOSIGNAL);
        }
    }

    ListeningSocket listening_;
    std::thread thread_;
};

// O11, O12: what only a process can show, from its first look on to its drain.
TEST_F(OperatorTest, MetricsSayWhatWaitsHowLongItTookAndHowTheProcessIs) {
    auto& scheduler = world->add_scheduler({{"LOCKSTEP_STORE_OP_TIMEOUT", "3s"}});
    const int port = admin_port(scheduler);
    ASSERT_TRUE(scheduler.says("ready"));
    EXPECT_EQ(value_of(port, "lockstep_ready{"), "1");
    EXPECT_EQ(value_of(port, "lockstep_build_info{"), "1");
    // K4: as `lockstepd --version` says.
    EXPECT_TRUE(contains(Deployment::http_get(port, "/metrics"), "version=\"" + build_name() + "\""));
    EXPECT_EQ(value_of(port, "lockstep_drain_seconds{"), "0");
    EXPECT_EQ(value_of(port, "lockstep_connected{"), "1") << Deployment::http_get(port, "/metrics");
    EXPECT_GT(std::stod(value_of(port, "process_resident_memory_bytes{")), 1e6);
    EXPECT_GT(std::stod(value_of(port, "process_open_fds{")), 3);
    EXPECT_TRUE(Deployment::until([&] { return value_of(port, "lockstep_consumer_waiting_messages{") == "0"; }, 20s));
    EXPECT_EQ(value_of(port, "lockstep_submit_to_answer_seconds_count{"), "0");
    EXPECT_EQ(value_of(port, "lockstep_dead_letters_total{"), "0");
    scheduler.signal(SIGUSR2);  // O15: level changed while it runs; no probe is logged even so
    EXPECT_TRUE(scheduler.says("signal: log level to=debug"));
    for (const char* path : {"/readyz", "/health", "/metrics"}) EXPECT_NE(Deployment::http_get(port, path), "");
    scheduler.signal(SIGUSR2);
    EXPECT_TRUE(scheduler.says("signal: log level to=info"));
    for (const char* path : {"/readyz", "/health", "/metrics", "GET"})
        EXPECT_FALSE(contains(scheduler.output(), path)) << scheduler.output();

    cordum::agent::v1::BusPacket packet;  // policy denies it, so it ends in a letter
    packet.mutable_job_request()->set_job_id("denied");
    packet.mutable_job_request()->set_topic("job.default");
    packet.mutable_job_request()->mutable_meta()->add_risk_tags("secrets");
    world->publish_raw("sys.job.submit", packet.SerializeAsString());
    EXPECT_TRUE(Deployment::until([&] { return value_of(port, "lockstep_dead_letters_total{") == "1"; }, 20s))
        << scheduler.output();
    EXPECT_TRUE(
        Deployment::until([&] { return value_of(port, "lockstep_submit_to_answer_seconds_count{") == "1"; }, 20s));

    world->redis().freeze();  // what is to be released keeps it from ending
    packet.mutable_job_request()->set_job_id("in-hand");
    world->publish_raw("sys.job.submit", packet.SerializeAsString());
    EXPECT_TRUE(Deployment::until([&] { return handlers_in_flight(port) == "1"; }, 20s));
    scheduler.signal(SIGTERM);
    EXPECT_TRUE(Deployment::until([&] { return std::stod("0" + value_of(port, "lockstep_drain_seconds{")) > 0; }, 20s));
    EXPECT_EQ(value_of(port, "lockstep_ready{"), "0");
    world->redis().thaw();
    EXPECT_EQ(scheduler.wait(), 0);
}

// O15
TEST_F(OperatorTest, ALineAboutAJobNamesTheTraceOfItsSubmission) {
    auto& scheduler = world->add_scheduler();
    cordum::agent::v1::BusPacket packet;
    packet.set_trace_id("trace-77");
    packet.mutable_job_request()->set_job_id("nowhere");
    packet.mutable_job_request()->set_topic("job.of-no-pool");
    world->publish_raw("sys.job.submit", packet.SerializeAsString());
    EXPECT_TRUE(scheduler.says("job not dispatched job_id=nowhere"));
    EXPECT_TRUE(scheduler.says("trace_id=trace-77")) << scheduler.output();
}

TEST_F(OperatorTest, ARedisThatIsLoadingItsDataIsWaitedForAndNamed) {
    const LoadingRedis loading;
    Program daemon = world->launch("lockstepd", {}, {{"REDIS_URL", loading.url()}});
    const int port = admin_port(daemon);
    ASSERT_GT(port, 0) << daemon.output();
    const std::string reason = R"({"ready":false,"reason":"starting: Redis is still loading its data"})";
    EXPECT_TRUE(Deployment::until([&] { return contains(Deployment::http_get(port, "/readyz"), reason); }, 20s))
        << Deployment::http_get(port, "/readyz");
    daemon.signal(SIGTERM);
    EXPECT_EQ(daemon.wait(), 1);
}

/// A kernel that takes connections and never says a word: whatever is in hand waits for it.
using SilentKernel = ListeningSocket;

/// What systemd hears.
class ServiceManager {
public:
    explicit ServiceManager(std::string path) : path_(std::move(path)) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        path_.copy(address.sun_path, sizeof address.sun_path - 1);
        if (::bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
            throw std::runtime_error("no socket for a service manager");
    }
    ServiceManager(const ServiceManager&) = delete;
    ServiceManager& operator=(const ServiceManager&) = delete;
    ~ServiceManager() { ::close(socket_); }
    [[nodiscard]] const std::string& path() const { return path_; }
    /// Everything so far.
    const std::string& heard() {
        std::array<char, 512> text;
        for (ssize_t size = 0; (size = ::recv(socket_, text.data(), text.size(), MSG_DONTWAIT)) > 0;)
            heard_.append(text.data(), static_cast<std::size_t>(size)).append("\n");
        return heard_;
    }

private:
    std::string path_;
    int socket_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    std::string heard_;
};

class DrainTest : public OperatorTest {
protected:
    /// A replica with one job in hand, which will stay there.
    Program& busy_replica(Program::Environment more) {
        more.insert({{"SAFETY_KERNEL_ADDR", kernel.address()},
                     {"LOCKSTEP_SAFETY_TIMEOUT", "60s"},
                     {"LOCKSTEP_JOB_LOCK_TTL", "60s"}});
        Program& replica = world->add_scheduler(std::move(more));
        const int port = admin_port(replica);
        cordum::agent::v1::BusPacket packet;
        packet.mutable_job_request()->set_job_id("held");
        packet.mutable_job_request()->set_topic("job.default");
        world->publish_raw("sys.job.submit", packet.SerializeAsString());
        EXPECT_TRUE(Deployment::until([&] { return handlers_in_flight(port) == "1"; }, 20s));
        return replica;
    }
    SilentKernel kernel;
};

// O7, O10
TEST_F(DrainTest, ADrainThatOverrunsHasAStatusOfItsOwnAndWhatWasInHandIsTold) {
    ServiceManager systemd((world->folder() / "notify").string());
    Program& replica = busy_replica(
        {{"LOCKSTEP_SHUTDOWN_GRACE", "300ms"}, {"NOTIFY_SOCKET", systemd.path()}, {"WATCHDOG_USEC", "1000000"}});
    EXPECT_TRUE(contains(systemd.heard(), "READY=1"));
    EXPECT_TRUE(contains(systemd.heard(), "WATCHDOG=1"));
    EXPECT_FALSE(contains(systemd.heard(), "EXTEND_TIMEOUT_USEC"));
    replica.signal(SIGUSR1);
    EXPECT_TRUE(replica.says("what runs ready=true")) << replica.output();
    EXPECT_TRUE(replica.says("scheduler_handlers=1")) << replica.output();
    EXPECT_TRUE(replica.says("in hand job=held subject=sys.job.submit")) << replica.output();
    EXPECT_TRUE(replica.says("what it depends on redis=connected")) << replica.output();
    EXPECT_TRUE(replica.says("queue durable=dur_cordum-scheduler__sys_job_submit waiting=0 in_hand_of_all=1"))
        << replica.output();
    replica.signal(SIGTERM);
    EXPECT_EQ(replica.wait(), 3);
    EXPECT_TRUE(contains(replica.output(), "the drain overran")) << replica.output();
    EXPECT_TRUE(contains(systemd.heard(), "STOPPING=1\nSTATUS=draining, 1 in flight"));
    EXPECT_TRUE(contains(systemd.heard(), "EXTEND_TIMEOUT_USEC=10000000"));
}

// O8
TEST_F(DrainTest, ASecondSignalForcesTheEnd) {
    Program& replica = busy_replica({{"LOCKSTEP_SHUTDOWN_GRACE", "60s"}});
    replica.signal(SIGTERM);
    EXPECT_TRUE(replica.says("draining"));
    replica.signal(SIGTERM);
    EXPECT_EQ(replica.wait(), 128 + SIGTERM);
    EXPECT_TRUE(contains(replica.output(), "second signal: ending at once"));
}

TEST_F(OperatorTest, ATakenAdminAddressIsRefusedAtStart) {
    const int taken = admin_port(world->add_scheduler());
    Program second = world->launch("lockstepd", {}, {{"SCHEDULER_METRICS_ADDR", "127.0.0.1:" + std::to_string(taken)}});
    EXPECT_EQ(second.wait(), 2);
    EXPECT_TRUE(contains(second.output(), "SCHEDULER_METRICS_ADDR")) << second.output();
    EXPECT_TRUE(contains(second.output(), "Address already in use"));
}

// D-18
TEST_F(OperatorTest, TheCheckSaysWhatAStartWouldSay) {
    Program misspelt =
        world->launch("lockstepd", {"--check"}, {{"NATS_UROL", "x"}, {"NATS_PORT", "tcp://10.0.0.1:4222"}});
    EXPECT_EQ(misspelt.wait(), 0);
    EXPECT_TRUE(contains(misspelt.output(), "did you mean NATS_URL?")) << misspelt.output();
    EXPECT_FALSE(contains(misspelt.output(), "NATS_PORT"));
    Program senseless = world->launch("lockstepd", {"--check"}, {{"OUTPUT_POLICY_FAIL_MODE", "closd"}});
    EXPECT_EQ(senseless.wait(), 2);
    EXPECT_TRUE(contains(senseless.output(), "OUTPUT_POLICY_FAIL_MODE: expected open or closed")) << senseless.output();
}

// O18
TEST_F(OperatorTest, ARedisThatMayThrowKeysAwayIsRefused) {
    world->redis_type({"CONFIG SET maxmemory 100mb", "CONFIG SET maxmemory-policy allkeys-lru"});
    Program refused = world->launch("lockstepd", {});
    EXPECT_EQ(refused.wait(), 2);
    EXPECT_TRUE(contains(refused.output(), "maxmemory-policy allkeys-lru")) << refused.output();
    EXPECT_TRUE(contains(refused.output(), "LOCKSTEP_REDIS_MAY_EVICT=true"));
    Program& warned = world->add_scheduler({{"LOCKSTEP_REDIS_MAY_EVICT", "true"}});
    EXPECT_TRUE(contains(warned.output(), "Redis may throw keys away (maxmemory-policy allkeys-lru)"));
}

// O1
TEST_F(OperatorTest, WhatIsInForceIsPrintedWithItsSource) {
    Program print = world->launch("lockstepd", {"config", "print", "--json"}, {{"NATS_TOKEN", "hunter2"}});
    EXPECT_EQ(print.wait(), 0);
    EXPECT_FALSE(contains(print.output(), "hunter2"));
    const auto printed = nlohmann::json::parse(print.output(), nullptr, false);
    ASSERT_TRUE(printed.is_object()) << print.output();
    const auto& settings = printed.at("settings");
    EXPECT_EQ(settings.at("LOCKSTEP_RUNNING_TIMEOUT").at("source"),
              "file " + world->environment.at("TIMEOUT_CONFIG_PATH"));
    EXPECT_EQ(settings.at("NATS_TOKEN").at("source"), "environment");
    EXPECT_EQ(settings.at("LOCKSTEP_BACKOFF_BASE").at("value"), "200ms");
    Program unusable = world->launch("lockstepd", {"config", "print"}, {{"NATS_JS_REPLICAS", "seven"}});
    EXPECT_EQ(unusable.wait(), 2);
    EXPECT_TRUE(contains(unusable.output(), "NATS_JS_REPLICAS: expected a whole number")) << unusable.output();
}

TEST_F(OperatorTest, ARefusalOfRedisIsNotTakenForAJobThatIsNotThere) {
    world->redis_type({"SET job:meta:odd text"});
    for (const char* command : {"approve", "reject", "status"}) {
        const auto told = world->ctl({command, "odd"});
        EXPECT_EQ(told.exit_code, 1) << command;
        EXPECT_TRUE(contains(told.text, "WRONGTYPE")) << command << ": " << told.text;
    }
    EXPECT_EQ(world->ctl({"approve", "unheard-of"}).exit_code, 3);
}

// What nobody has to be asked for: Redis and NATS tell it, whoever runs.
TEST_F(OperatorTest, WhyTellsWhatAJobWaitsForAndQueueCountsIt) {
    const auto cause = [&](const std::string& job) {
        return world->ctl_json({"why", job}).value("cause", std::string());
    };
    EXPECT_EQ(world->ctl({"why", "unheard-of"}).exit_code, 1) << "NATS has no stream yet";
    world->start_kernel();
    auto& scheduler = world->add_scheduler({{"WORKER_SNAPSHOT_INTERVAL", "300ms"}});
    EXPECT_EQ(world->ctl({"submit", "--id", "lonely"}).exit_code, 0);
    EXPECT_TRUE(Deployment::until([&] { return cause("lonely") == "no_workers"; }, 20s))
        << world->ctl({"why", "lonely"}).text;
    // Once there is a snapshot of them.
    EXPECT_TRUE(Deployment::until([&] { return contains(world->ctl({"why", "lonely"}).text, "0 workers"); }, 20s))
        << world->ctl({"why", "lonely"}).text;
    world->redis_type({"HSET job:meta:asks state APPROVAL_REQUIRED topic job.x updated_at 1700000000000000",
                       "ZADD job:index:approval_required 1700000000000000 asks"});
    EXPECT_EQ(cause("asks"), "approval");
    const auto queue = world->ctl_json({"queue", "--each"});
    EXPECT_EQ(queue.value("jobs_in_all", 0), 2);
    EXPECT_EQ(queue.at("groups").size(), 2U) << queue;
    EXPECT_EQ(queue.at("jobs").size(), 2U);
    EXPECT_TRUE(queue.at("messages").at("submissions").is_object()) << queue;
    EXPECT_EQ(world->ctl({"why", "unheard-of"}).exit_code, 3);

    scheduler.kill();
    EXPECT_EQ(world->ctl({"submit", "--publish-only", "--id", "nobody-there"}).exit_code, 0);
    const auto untaken = world->ctl_json({"why", "nobody-there"});
    EXPECT_EQ(untaken.value("cause", ""), "not_taken") << untaken;
    EXPECT_TRUE(untaken.value("since", "").ends_with("Z")) << untaken;
    EXPECT_EQ(world->ctl_json({"queue"}).at("messages").at("submissions").value("waiting", 0), 1);
    world->redis_type({"DEL sys:workers:snapshot"});
    EXPECT_EQ(cause("lonely"), "no_scheduler");
    world->nats().kill();
    EXPECT_TRUE(contains(world->ctl({"why", "lonely"}).text, "no_scheduler")) << "Redis alone tells it";
}

/// Where LOCKSTEP_KEEP_DOCUMENTS names a folder, for a new minor version of the schema: prod/ctl/kept_documents/VERSION.
void keep_document(const std::string& name, const nlohmann::json& document) {
    const char* const folder = std::getenv("LOCKSTEP_KEEP_DOCUMENTS");
    if (folder == nullptr) return;
    std::string file = name;
    std::ranges::replace(file, ' ', '_');
    std::ofstream(fmt::format("{}/{}.json", folder, file)) << document.dump() << '\n';
}

// C3, C4
TEST_F(OperatorTest, WhatIsPrintedForProgramsFitsThePublishedSchema) {
    world->add_scheduler({{"LOCKSTEP_ROLE", "scheduler,workflow"}});
    world->add_worker("w1");
    const auto fits = [&](const std::string& name, std::vector<std::string> command) {
        const auto printed = world->ctl_json(std::move(command));
        EXPECT_EQ(misfits(LOCKSTEP_OUTPUT_SCHEMA, name, printed), "") << name << ": " << printed;
        keep_document(name, printed);
    };
    fits("submit", {"submit", "--id", "seen"});
    EXPECT_TRUE(world->all_end(1, 20s));
    EXPECT_TRUE(Deployment::until([&] { return contains(world->redis_get("sys:workers:snapshot"), "w1"); }, 20s));
    world->redis_type({"SET cordum:scheduler:job:seen token PX 60000", "SET cordum:cb:safety:failures 3 PX 60000",
                       "SET lockstep:cb:safety:output:trip 1", "HSET job:meta:asks state APPROVAL_REQUIRED topic job.x",
                       "ZADD job:index:approval_required 1700000000000000 asks",
                       R"(SET dlq:entry:asks '{"job_id":"asks","created_at":"2026-01-01T00:00:00.5Z","attempts":3}')",
                       "ZADD dlq:index 1760000000 asks"});
    fits("why", {"why", "seen"});
    fits("queue", {"queue", "--each"});
    fits("doctor", {"doctor", "--all"});
    fits("list", {"list"});
    fits("workers", {"workers"});
    fits("dlq list", {"dlq", "list"});
    fits("dlq reasons", {"dlq", "reasons"});
    fits("dlq bulk", {"dlq", "purge", "--all", "--dry-run"});
    fits("cancel", {"cancel", "seen"});
    fits("locks", {"locks", "seen"});
    fits("circuit", {"circuit"});
    const auto locks = world->ctl_json({"locks", "seen"});
    EXPECT_EQ(locks.at(0).value("holder", ""), "token");
    EXPECT_TRUE(locks.at(0).at("until").is_string());
    const auto circuits = world->ctl_json({"circuit"});
    EXPECT_EQ(circuits.at(0).value("state", ""), "open");
    EXPECT_TRUE(circuits.at(0).at("until").is_string());
    EXPECT_EQ(circuits.at(1).value("state", ""), "half_open");
    EXPECT_TRUE(contains(world->ctl({"locks", "seen"}).text, "held by token until"));

    fits("status", {"status", "seen"});
    fits("status", {"status", "seen", "asks"});
    EXPECT_EQ(world->ctl_json({"status", "seen"}).value("attempts", 0), 1);
    fits("list of a state", {"list", "--state", "SUCCEEDED"});
    fits("submit many", {"submit", "--count", "3", "--id", "many"});
    fits("top", {"top"});
    EXPECT_TRUE(contains(world->ctl({"top"}).text, "pool default")) << world->ctl({"top"}).text;
    fits("consumers set", {"consumers", "set", "--max-deliver", "7", "--dry-run"});
    fits("consumers adopt", {"consumers", "adopt", "--dry-run"});
    fits("dlq delete", {"dlq", "delete", "asks"});
    fits("dlq clean", {"dlq", "clean"});
    world->redis_type({"DEL cordum:cb:safety:failures", "DEL lockstep:cb:safety:output:trip"});
    EXPECT_EQ(world->ctl({"submit", "--id", "gated", "--topic", "job.deploy"}).exit_code, 0);
    EXPECT_TRUE(
        Deployment::until([&] { return world->ctl_json({"why", "gated"}).value("cause", "") == "approval"; }, 20s));
    fits("approve", {"reject", "gated", "--reason", "not now"});
    fits("status", {"status", "gated"});

    const std::string flow = world->folder() / "flow.json";
    std::ofstream(flow) << R"({"id": "flow", "steps": {"ask": {"type": "approval"}}})";
    fits("workflow check", {"workflow", "check", flow});
    fits("workflow put", {"workflow", "put", flow});
    fits("workflow start", {"workflow", "start", "flow", "--run", "r1"});
    fits("workflow approve", {"workflow", "approve", "r1", "ask", "--reject", "--wait"});
    fits("workflow retry", {"workflow", "retry", "r1"});
    fits("workflow cancel", {"workflow", "cancel", "r1"});
    fits("workflow status", {"workflow", "status", "r1", "--wait"});
    fits("workflow start", {"workflow", "rerun", "r1"});
    fits("workflow list", {"workflow", "list", "--workflow", "flow"});
    fits("workflow counts", {"workflow", "list"});
    std::ofstream(flow) << R"({"id": "flow", "steps": {"ask": {"type": "aproval"}}})";
    fits("workflow check", {"workflow", "check", flow});
}

// C14, O18: each of these is broken once, and told with the way to mend it.
TEST_F(OperatorTest, TheDoctorTellsWhatIsWrongAndHowToMendIt) {
    const auto health = [&](const std::string& check) {
        std::string worst = "none";
        const auto told = world->ctl_json({"doctor", "--all"});
        for (const auto& finding : told.at("findings"))
            if (finding.value("check", "") == check && worst != "wrong") worst = finding.value("health", "");
        return worst;
    };
    EXPECT_EQ(health("nats.stream.CORDUM_SYS"), "wrong") << "nobody has made it yet";
    world->add_scheduler();
    EXPECT_TRUE(Deployment::until([&] { return world->ctl({"doctor"}).exit_code == 0; }, 20s))
        << world->ctl({"doctor"}).text;
    EXPECT_EQ(health("nats.stream.CORDUM_SYS"), "well");
    EXPECT_EQ(health("workers.alive"), "warn");

    world->redis_type({"CONFIG SET maxmemory 500mb", "CONFIG SET maxmemory-policy allkeys-lru",
                       "SET cordum:dlq:cleanup me", "SET dlq:index text"});
    const auto ill = world->ctl({"doctor"});
    EXPECT_EQ(ill.exit_code, 5);
    EXPECT_TRUE(contains(ill.text, "maxmemory-policy noeviction")) << ill.text;
    EXPECT_TRUE(contains(ill.text, "redis-cli DEL cordum:dlq:cleanup"));
    EXPECT_TRUE(contains(ill.text, "dlq:index is a string and should be a zset"));
    world->redis_type({"CONFIG SET maxmemory-policy noeviction", "DEL cordum:dlq:cleanup", "DEL dlq:index"});
    EXPECT_EQ(world->ctl({"doctor"}).exit_code, 0) << world->ctl({"doctor"}).text;
    EXPECT_EQ(world->redis_keys("lockstep:doctor:*"), 0);

    EXPECT_EQ(health("kernel.health"), "well");
    EXPECT_TRUE(contains(world->ctl({"doctor", "--all"}).text, "policy v1:"));
    world->stop_kernel();
    const auto alone = world->ctl({"doctor"});
    EXPECT_EQ(alone.exit_code, 5);
    EXPECT_TRUE(contains(alone.text, world->environment.at("SAFETY_KERNEL_ADDR") + " cannot be asked")) << alone.text;
    EXPECT_TRUE(contains(alone.text, "set SAFETY_KERNEL_ADDR")) << alone.text;
    world->start_kernel();
    EXPECT_EQ(health("kernel.reachable"), "well");

    EXPECT_EQ(world->ctl({"consumers", "set", "--ack-wait", "9s"}).exit_code, 0);
    EXPECT_EQ(health("nats.consumer.dur_cordum-scheduler__sys_job_submit"), "wrong");
    world->nats().kill();
    EXPECT_EQ(health("nats.reachable"), "wrong");
    EXPECT_EQ(health("redis.reachable"), "well") << "one server that is away hides nothing of the other";
}

// CONF-05: written where nobody else has written meanwhile, announced, and followed by a scheduler that does not look by itself.
TEST_F(OperatorTest, APoolIsDrainedAndResumedByItsName) {
    auto& scheduler =
        world->add_scheduler({{"SCHEDULER_CONFIG_RELOAD_INTERVAL", "1h"}, {"WORKER_SNAPSHOT_INTERVAL", "200ms"}});
    const auto release = world->folder() / "release";
    world->add_worker("held", {"--exec", "while [ ! -e " + release.string() + " ]; do sleep 0.1; done"});
    world->add_worker("loader", {"--pool", "etl"});
    EXPECT_EQ(world->ctl({"submit", "--id", "long"}).exit_code, 0);
    EXPECT_TRUE(Deployment::until([&] { return world->states()["RUNNING"] == 1; }, 20s));
    EXPECT_TRUE(Deployment::until([&] { return contains(world->redis_get("sys:workers:snapshot"), "loader"); }, 20s));

    const auto misspelt = world->ctl({"pool", "drain", "defualt"});
    EXPECT_EQ(misspelt.exit_code, 3);
    EXPECT_TRUE(contains(misspelt.text, R"(did you mean "default"?)")) << misspelt.text;

    const auto drained = world->ctl_json({"pool", "drain", "default"});
    EXPECT_EQ(misfits(LOCKSTEP_OUTPUT_SCHEMA, "pool", drained), "") << drained;
    EXPECT_EQ(drained.value("jobs_in_hand", 0), 1) << drained;
    EXPECT_EQ(drained.value("workers", 0), 1) << drained;
    EXPECT_EQ(drained.at("topics_without_pool"), nlohmann::json({"job.default"}));
    ASSERT_TRUE(scheduler.says("settings applied revision=2", 20s)) << scheduler.output();
    EXPECT_EQ(world->ctl({"pool", "drain", "default", "--wait", "--wait-for", "100ms"}).exit_code, 4)
        << "it is at work";
    EXPECT_EQ(world->ctl({"submit", "--id", "turned-away"}).exit_code, 0);
    EXPECT_TRUE(Deployment::until(
        [&] { return world->ctl_json({"why", "turned-away"}).value("cause", "") == "no_pool_mapping"; }, 20s))
        << world->ctl({"why", "turned-away"}).text;
    EXPECT_EQ(world->ctl({"submit", "--topic", "job.etl.load", "--wait"}).exit_code, 0) << "the other pool goes on";

    std::ofstream(release) << "go";
    const auto waited = world->ctl({"pool", "drain", "default", "--wait", "--wait-for", "20s"});
    EXPECT_EQ(waited.exit_code, 0) << waited.text;
    EXPECT_TRUE(contains(waited.text, "pool default was already draining")) << waited.text;
    EXPECT_TRUE(contains(waited.text, "it is empty: none of its 1 workers has a job")) << waited.text;
    EXPECT_EQ(world->ctl_json({"status", "long"}).value("state", ""), "SUCCEEDED");

    EXPECT_TRUE(contains(world->ctl({"pool", "resume", "default"}).text, "pool default is now active"));
    EXPECT_EQ(world->ctl({"status", "turned-away", "--wait", "--wait-for", "20s"}).exit_code, 0);
}

}  // namespace
}  // namespace lockstep::prod::testing
