// A job store on a server, and the words in which its tests speak.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/store/dead_letter_store.h"
#include "engine/store/job_store.h"
#include "engine/store/sweep_store.h"
#include "engine/testing/recorders.h"
#include "engine/testing/virtual_loop.h"
#include "engine/wire/messages.h"
#include "fakes/engine_test/store_server.h"

namespace lockstep::fakes::engine_test {

using engine::Commit;
using engine::Committed;
using engine::Duration;
using engine::JobFacts;
using engine::JobLease;
using engine::JobState;
using engine::RedisCommand;
using engine::RedisValue;
using namespace std::chrono_literals;

class StoreTest : public ::testing::Test {
protected:
    using Texts = std::vector<std::string>;
    using Lease = std::unique_ptr<JobLease>;

    void SetUp() override {
        if (!server) GTEST_SKIP() << "redis-server is not installed";
    }

    [[nodiscard]] Lease lease_for(const std::string& job, const std::string& token = "token") {
        return std::make_unique<JobLease>(lease_ports(), engine::JobId(job), engine::Token(token));
    }
    [[nodiscard]] engine::LeasePorts lease_ports() {
        return {clock, server->port(), metrics, log, loop, tunables, scripts, book, mechanisms, releases};
    }
    [[nodiscard]] static cap::JobRequest request_for(const std::string& job, const std::string& tenant = "acme");

    /// Takes the job up and expects to get the lock.
    JobFacts take_up(JobLease& lease, const cap::JobRequest& request, const std::string& trace = {});
    /// The same for a fresh job: its lease.
    [[nodiscard]] Lease taken_up(const std::string& job, const std::string& token = "token");
    [[nodiscard]] bool busy(JobLease& lease, const cap::JobRequest& request);
    Committed commit(JobLease& lease, Commit what);
    Committed walk(JobLease& lease, std::vector<JobState> states);
    /// Writes the state as an older writer would have: hash, mirror and index.
    void force_state(const std::string& job, std::string_view state);
    /// Makes a job's last change as old as this.
    void make_older(const std::string& job, JobState state, Duration by);

    RedisValue run(const RedisCommand& command) { return server->run(command); }
    [[nodiscard]] std::string text(const RedisCommand& command) { return std::string(run(command).text()); }
    [[nodiscard]] Texts texts(const RedisCommand& command);
    [[nodiscard]] bool exists(const std::string& key) { return *run({"EXISTS", key}).integer() == 1; }
    [[nodiscard]] std::string field(const std::string& job, const std::string& name) {
        return text({"HGET", "job:meta:" + job, name});
    }
    [[nodiscard]] std::map<std::string, std::string> hash(const std::string& key);
    [[nodiscard]] Texts history(const std::string& job);
    /// The states in whose index the job is.
    [[nodiscard]] Texts listed(const std::string& job);
    [[nodiscard]] Duration ttl(const std::string& key) {
        return std::chrono::milliseconds(*run({"PTTL", key}).integer());
    }
    [[nodiscard]] std::int64_t server_micros();
    /// Everything that the server holds, in one text per key.
    [[nodiscard]] std::map<std::string, std::string> content();

    std::unique_ptr<StoreServer> server = connect_store_server();
    engine::Tunables tunables;
    engine::testing::VirtualLoop loop;
    engine::testing::VirtualClock clock{loop};
    engine::testing::MetricRecorder metrics;
    engine::testing::LogRecorder log;
    engine::StoreScripts scripts;
    engine::Mechanisms mechanisms;
    engine::LeaseBook book;
    engine::Scope releases{loop};
    std::unique_ptr<engine::JobStore> store =
        server ? std::make_unique<engine::JobStore>(server->port(), clock, tunables, scripts) : nullptr;
    std::unique_ptr<engine::SweepStore> sweeps =
        server ? std::make_unique<engine::SweepStore>(server->port(), clock, tunables, scripts, store->news())
               : nullptr;
    std::unique_ptr<engine::DeadLetterStore> letters =
        server ? std::make_unique<engine::DeadLetterStore>(server->port(), clock, tunables, scripts) : nullptr;
};

}  // namespace lockstep::fakes::engine_test
