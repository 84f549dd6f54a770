// Two cells, each a Redis, a NATS, a scheduler and a worker, behind a front with a NATS of its own.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>
#include <set>
#include <sstream>

#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "engine/wire/subjects.h"
#include "fakes/testing/server_lines.h"
#include "prod/front/durables.h"
#include "prod/integration/deployment.h"
#include "prod/integration/nats_peer.h"

namespace lockstep::prod::testing {
namespace {

using namespace std::chrono_literals;
using fakes::testing::ServerProcess;

constexpr std::size_t kCellPayloadMax = 64 * 1024;

std::string content_of(const std::string& file) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
}

/// A nats-server in which the front may do what that file of prod/deploy grants, and everybody else everything.
ServerProcess::CommandLine nats_with_front(const std::string& file, const std::string& permissions,
                                           std::size_t max_payload = 1024 * 1024) {
    return [file, permissions, max_payload](int port, const std::filesystem::path& folder) {
        std::ifstream allowed(std::string(LOCKSTEP_DEPLOY_FOLDER "/") + file);
        std::ofstream(folder / "nats.conf")
            << allowed.rdbuf() << "authorization: {users: [{user: everyone, password: x}, "
            << "{user: front, password: a-secret, permissions: $" << permissions << "}]}\nno_auth_user: everyone\n"
            << "max_payload: " << max_payload << "\n";
        auto line = fakes::testing::nats_server_line(port, folder);
        line.insert(line.end(), {"-c", (folder / "nats.conf").string()});
        return line;
    };
}

class CellsTest : public ::testing::Test {
protected:
    void SetUp() override {
        if (!Deployment::possible()) GTEST_SKIP() << "redis-server or nats-server is not installed";
        nats = std::make_unique<ServerProcess>(nats_with_front("nats-front-at-home.conf", "FRONT_AT_HOME"));
        for (const char* cell : {"east", "west"}) {
            cells[cell] = std::make_unique<Deployment>(
                Durability::none, nats_with_front("nats-front-in-cell.conf", "FRONT_IN_CELL", kCellPayloadMax));
            cells[cell]->add_scheduler();
            cells[cell]->add_worker(std::string("worker-") + cell);
        }
        std::ofstream(at("east").folder() / "password") << "a-secret\n";
        std::ofstream out(file());
        out << "tenants: {acme: east, globex: west}\ncells:\n";
        for (const auto& [name, cell] : cells)
            out << fmt::format("  {}: {{nats: \"{}\", username: front, password_file: {}}}\n", name,
                               cell->environment["NATS_URL"], (at("east").folder() / "password").string());
        out.close();
        // The last two are hashed: one to each cell.
        tenants = {{"acme", "east"}, {"globex", "west"}, {"default", cell_of("default")}, {"hooli", cell_of("hooli")}};
    }
    void TearDown() override {
        if (!HasFailure()) return;
        for (const auto& [name, cell] : cells) std::fputs(cell->logs().c_str(), stderr);
        for (const auto& one : fronts) std::fputs(one.output().c_str(), stderr);
    }

    Deployment& at(const std::string& cell) { return *cells.at(cell); }
    [[nodiscard]] std::string file() { return at("east").folder() / "cells.yaml"; }
    [[nodiscard]] std::string front_url() const { return fmt::format("nats://127.0.0.1:{}", nats->port()); }
    Program run_front(std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), {"--cells", file(), "--listen", "127.0.0.1:0", "--ack-wait", "2s"});
        return at("east").launch(
            "lockstep-front", std::move(arguments),
            {{"NATS_URL", front_url()}, {"NATS_USERNAME", "front"}, {"NATS_PASSWORD", "a-secret"}});
    }
    Program& start_front() {
        fronts.push_back(run_front({}));
        EXPECT_TRUE(fronts.back().says(" ready cells=2")) << fronts.back().output();
        return fronts.back();
    }
    std::string cell_of(const std::string& tenant) {
        Program asked = run_front({"--cell-of", tenant});
        EXPECT_EQ(asked.wait(20s), 0) << asked.output();
        std::string said = asked.output();
        while (said.ends_with('\n')) said.pop_back();
        return said;
    }
    /// As the gateway of a tenant does: the input into the Redis of its cell, the submission to the front.
    void submit(const std::string& tenant, const std::string& job, const std::string& topic = "job.default",
                std::vector<std::string> more = {}) {
        std::vector<std::string> words{
            "submit", "--publish-only", "--tenant", tenant,      "--id",
            job,      "--topic",        topic,      "--payload", R"({"for":")" + job + R"("})"};
        for (auto& word : more) words.push_back(std::move(word));
        Program ctl = at(tenants.at(tenant)).launch("lockstepctl", std::move(words), {{"NATS_URL", front_url()}});
        ASSERT_EQ(ctl.wait(60s), 0) << ctl.output();
        cell_of_job[job] = tenants.at(tenant);
    }
    void submit_for_each(int count) {
        for (const auto& [tenant, cell] : tenants)
            for (int i = 0; i < count; ++i) submit(tenant, fmt::format("{}-{}", tenant, number++));
    }
    std::string state(const std::string& cell, const std::string& job) {
        return at(cell).redis_get("job:state:" + job);
    }
    bool all_succeed(const std::string& cell) {
        return Deployment::until(
            [&] {
                return std::ranges::all_of(cell_of_job, [&](const auto& job) {
                    return job.second != cell || state(cell, job.first) == "SUCCEEDED";
                });
            },
            20s);
    }
    int jobs_of(const std::string& cell) {
        return static_cast<int>(
            std::ranges::count(cell_of_job, cell, &std::pair<const std::string, std::string>::second));
    }
    /// Each ran once, in the cell of its tenant, and no other cell has heard of it.
    void expect_each_in_its_cell_once() {
        for (const auto& [name, cell] : cells) {
            const auto executions = cell->executions();
            EXPECT_EQ(static_cast<int>(executions.size()), jobs_of(name)) << name;
            for (const auto& [job, count] : executions) EXPECT_EQ(count, 1) << job;
            for (const auto& [job, home] : cell_of_job)
                EXPECT_EQ(state(name, job), home == name ? "SUCCEEDED" : "") << job << " in " << name;
        }
    }
    static std::string http_get(const Program& front, const std::string& path) {
        const std::string words = "admin listener port=";
        const std::string log = front.output();
        return Deployment::http_get(std::stoi(log.substr(log.find(words) + words.size())), path);
    }
    /// The value of a series of /metrics, named up to the end of its labels but for `pod`; -1: there is none.
    static int figure(const Program& front, const std::string& name, const std::string& labels) {
        std::istringstream page(http_get(front, "/metrics"));
        for (std::string line; std::getline(page, line);)
            if (line.starts_with(name + "{") && line.find(labels + "}") != std::string::npos)
                return std::stoi(line.substr(line.rfind(' ') + 1));
        return -1;
    }
    static std::string of_cell(const std::string& cell) { return "cell=\"" + cell + "\""; }
    bool heard_from_worker(const std::string& cell) {
        NatsPeer listener(at(cell).nats().port());
        listener.subscribe(engine::wire::kSubjectHeartbeat);
        return Deployment::until(
            [&] {
                listener.settle();
                return !listener.received().empty();
            },
            20s);
    }
    static bool reaches(const Program& front, const std::string& name, const std::string& labels, int value) {
        return Deployment::until([&] { return figure(front, name, labels) == value; }, 10s);
    }
    /// The jobs that results on a subject are about, once there are as many as `count`; fewer when they do not come.
    static std::multiset<std::string> results(NatsPeer& listener, std::size_t count) {
        std::multiset<std::string> jobs;
        (void)Deployment::until(
            [&] {
                listener.settle();
                jobs.clear();
                for (const auto& payload : listener.received())
                    if (const auto packet = engine::wire::decode(payload)) jobs.insert(packet->job_result().job_id());
                return jobs.size() >= count;
            },
            30s);
        return jobs;
    }

    std::unique_ptr<ServerProcess> nats;
    std::map<std::string, std::unique_ptr<Deployment>> cells;
    std::map<std::string, std::string> tenants;
    std::deque<Program> fronts;
    std::map<std::string, std::string> cell_of_job;
    int number = 0;
};

TEST_F(CellsTest, EachTenantsJobsRunInItsCellAndResultsComeBack) {
    Program& front = start_front();
    NatsPeer submitter(nats->port());
    submitter.subscribe("sys.job.result");
    NatsPeer letters(nats->port());
    letters.subscribe("sys.job.dlq");
    letters.settle();
    submitter.settle();
    submit_for_each(3);
    EXPECT_TRUE(all_succeed("east"));
    EXPECT_TRUE(all_succeed("west"));
    expect_each_in_its_cell_once();
    std::multiset<std::string> expected;
    for (const auto& job : cell_of_job) expected.insert(job.first);
    EXPECT_EQ(results(submitter, expected.size()), expected) << "each result once";
    EXPECT_GE(figure(front, "lockstep_loop_stall_seconds_count", ""), 0);
    for (const char* cell : {"east", "west"}) {
        EXPECT_TRUE(reaches(front, "lockstep_front_routed_total", of_cell(cell), jobs_of(cell))) << cell;
        EXPECT_TRUE(reaches(front, "lockstep_front_returned_total", of_cell(cell) + R"(,subject="sys.job.result")",
                            jobs_of(cell)))
            << cell;
        EXPECT_TRUE(reaches(front, "lockstep_front_waiting", of_cell(cell), 0)) << cell;
    }

    // Policy denies it: the dead letter is the answer.
    submit("globex", "denied", "job.default", {"--risk-tag", "secrets"});
    EXPECT_EQ(results(letters, 1), std::multiset<std::string>{"denied"});
    EXPECT_EQ(state("west", "denied"), "DENIED");

    // What is no packet, and a submission of two tenants, meet the rules of a scheduler and not those of the front.
    NatsPeer stranger(nats->port());
    stranger.publish("sys.job.submit", "\xff no packet");
    cap::JobRequest two;
    two.set_job_id("two-tenants");
    two.set_topic("job.default");
    two.set_tenant_id("acme");
    (*two.mutable_env())["tenant_id"] = "globex";
    stranger.publish("sys.job.submit",
                     engine::wire::serialise(engine::wire::make_packet(std::move(two), "t", "gateway", {})));
    stranger.settle();
    EXPECT_TRUE(Deployment::until([&] { return at(tenants.at("default")).redis_keys("dlq:entry:poison*") == 1; }, 10s));
    EXPECT_TRUE(Deployment::until([&] { return at("east").logs().find("two-tenants") != std::string::npos; }, 10s));
    EXPECT_EQ(state("east", "two-tenants"), "") << "dropped, as by a scheduler without a front (D-06)";

    // It waits for an approval in west; east passes over it.
    submit("globex", "cancelled", "job.deploy");
    ASSERT_TRUE(Deployment::until([&] { return state("west", "cancelled") == "APPROVAL_REQUIRED"; }, 10s));
    cap::JobCancel cancel;
    cancel.set_job_id("cancelled");
    stranger.publish("sys.job.cancel",
                     engine::wire::serialise(engine::wire::make_packet(std::move(cancel), "t", "gateway", {})));
    stranger.settle();
    EXPECT_TRUE(Deployment::until([&] { return state("west", "cancelled") == "CANCELLED"; }, 10s));
    EXPECT_EQ(state("east", "cancelled"), "");

    front.signal(SIGTERM);
    EXPECT_EQ(front.wait(20s), 0);
}

// What one cell loses holds up nobody else and costs nothing but time.
TEST_F(CellsTest, ACellThatIsAwayHoldsUpItsOwnTenantsOnlyAndNothingRunsTwice) {
    Program* front = &start_front();
    submit_for_each(1);
    EXPECT_TRUE(all_succeed("east"));
    EXPECT_TRUE(all_succeed("west"));
    at("west").nats().kill();
    submit_for_each(3);
    EXPECT_TRUE(all_succeed("east")) << "the other cell's tenants go on";
    EXPECT_TRUE(reaches(*front, "lockstep_front_routed_total", of_cell("east"), jobs_of("east")));
    const int held_up = jobs_of("west") - figure(*front, "lockstep_front_routed_total", of_cell("west"));
    EXPECT_TRUE(reaches(*front, "lockstep_front_waiting", of_cell("west"), held_up)) << held_up;
    EXPECT_EQ(figure(*front, "lockstep_front_cell_connected", of_cell("west")), 0);

    const std::string ready = http_get(*front, "/readyz?verbose");
    EXPECT_NE(ready.find(" 200 "), std::string::npos) << ready;
    EXPECT_EQ(ready.find("redis"), std::string::npos) << "it has none: " << ready;

    // The front dies beside it, and its successor begins without the cell.
    front->kill();
    front = &start_front();
    submit_for_each(1);
    EXPECT_TRUE(all_succeed("east"));
    // What a worker is sent before it is back goes by it: the front holds still until the worker is heard again.
    front->signal(SIGSTOP);
    at("west").nats().start();
    EXPECT_TRUE(heard_from_worker("west"));
    front->signal(SIGCONT);
    EXPECT_TRUE(all_succeed("west"));
    EXPECT_TRUE(reaches(*front, "lockstep_front_waiting", of_cell("west"), 0));
    EXPECT_EQ(figure(*front, "lockstep_front_cell_connected", of_cell("west")), 1);
    expect_each_in_its_cell_once();
}

TEST_F(CellsTest, ManySubmissionsThatTheCellNeverTakesStopNoOthers) {
    Program& front = start_front();
    NatsPeer letters(nats->port());
    letters.subscribe("sys.job.dlq");
    letters.settle();
    constexpr int kLarge = 260;  // more than a line has in hand
    NatsPeer stranger(nats->port());
    for (int i = 0; i < kLarge; ++i) {
        cap::JobRequest large;
        large.set_job_id(fmt::format("large-{}", i));
        large.set_topic("job.default");
        large.set_tenant_id("acme");
        (*large.mutable_env())["filler"] = std::string(kCellPayloadMax, 'x');
        stranger.publish("sys.job.submit",
                         engine::wire::serialise(engine::wire::make_packet(std::move(large), "t", "gateway", {})));
    }
    stranger.settle();
    submit("acme", "small");
    EXPECT_TRUE(all_succeed("east"));
    EXPECT_EQ(results(letters, kLarge).size(), static_cast<std::size_t>(kLarge));
    EXPECT_TRUE(
        reaches(front, "lockstep_front_set_aside_total", of_cell("east") + R"(,subject="sys.job.submit")", kLarge));
    EXPECT_TRUE(reaches(front, "lockstep_front_waiting", of_cell("east"), 0));
}

TEST_F(CellsTest, FrontsByDifferentFilesAndAFrontThatIsACellAreRefused) {
    Program& front = start_front();
    const std::string before = content_of(file());
    std::ofstream(file()) << before << "  north: {nats: \"nats://localhost:1\", dedicated: true}\n";
    Program other = run_front({});
    EXPECT_EQ(other.wait(30s), 2);
    EXPECT_NE(other.output().find("goes by another file, with the cells east, west"), std::string::npos)
        << other.output();
    // A front whose cell is the first one's own NATS.
    std::ofstream(file()) << fmt::format("cells: {{circle: {{nats: \"nats://localhost:{}\"}}}}\n", nats->port());
    ServerProcess home(fakes::testing::nats_server_line);
    Program outer = at("east").launch("lockstep-front", {"--cells", file(), "--listen", "127.0.0.1:0"},
                                      {{"NATS_URL", fmt::format("nats://127.0.0.1:{}", home.port())}});
    EXPECT_TRUE(outer.says("its NATS is that of a front")) << outer.output();
    outer.signal(SIGTERM);
    EXPECT_EQ(outer.wait(20s), 0);
    front.signal(SIGTERM);
    EXPECT_EQ(front.wait(20s), 0) << "it was not disturbed";
}

TEST_F(CellsTest, ACellWhoseNatsBecomesThatOfAFrontIsLeftAloneMeanwhile) {
    Program& front = start_front();
    ASSERT_TRUE(front.says("cell in use cell=east", 30s)) << front.output();
    NatsPeer beside(at("east").nats().port());
    const std::string durable = front_durable(engine::wire::kSubjectSubmit);
    beside.publish("$JS.API.CONSUMER.DURABLE.CREATE.CORDUM_SYS." + durable,
                   fmt::format(R"({{"stream_name":"CORDUM_SYS","config":{{"durable_name":"{}","ack_policy":"explicit",)"
                               R"("deliver_policy":"new","filter_subject":"sys.job.submit"}}}})",
                               durable));
    EXPECT_TRUE(front.says("its NATS is that of a front", 30s)) << front.output();
    submit("acme", "held-back");
    EXPECT_TRUE(reaches(front, "lockstep_front_waiting", of_cell("east"), 1));
    EXPECT_EQ(state("east", "held-back"), "");
    beside.publish("$JS.API.CONSUMER.DELETE.CORDUM_SYS." + durable, "");
    EXPECT_TRUE(all_succeed("east"));
    expect_each_in_its_cell_once();
}

TEST_F(CellsTest, AFrontThatWouldRunJobsTwiceOrInACircleIsRefused) {
    Program beside = at("east").launch("lockstep-front", {"--cells", file(), "--listen", "127.0.0.1:0"}, {});
    EXPECT_EQ(beside.wait(20s), 2);
    EXPECT_NE(beside.output().find("schedulers take submissions from this NATS themselves"), std::string::npos)
        << beside.output();
    std::ofstream(file()) << fmt::format("cells: {{loop: {{nats: \"nats://localhost:{}\"}}}}\n", nats->port());
    Program circle = run_front({});
    EXPECT_TRUE(circle.says("its stream CORDUM_SYS is that of the front")) << circle.output();
    circle.signal(SIGTERM);
    EXPECT_EQ(circle.wait(20s), 0);
}

}  // namespace
}  // namespace lockstep::prod::testing
