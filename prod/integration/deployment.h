// A whole deployment on loopback ports: Redis, NATS, the reference kernel, schedulers and workers, each a process. Tests
// read like what an operator sees: submit, wait, kill, count.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "fakes/testing/server_process.h"
#include "prod/integration/program.h"

namespace lockstep::prod::testing {

/// Whether what Redis has answered survives a kill (a sync per write), or not.
enum class Durability : std::uint8_t { every_write, none };

class Deployment {
public:
    explicit Deployment(Durability durability = Durability::every_write);
    /// With a nats-server of another command line.
    Deployment(Durability durability, fakes::testing::ServerProcess::CommandLine nats);

    [[nodiscard]] static bool possible();

    fakes::testing::ServerProcess& redis() { return *redis_; }
    fakes::testing::ServerProcess& nats() { return *nats_; }

    /// Short times, so that what a crash leaves behind is found within seconds.
    Program::Environment environment;
    /// Where the programs are that are started from now on: those of this build, unless a test says otherwise.
    std::filesystem::path programs = LOCKSTEP_PROGRAM_FOLDER;

    void start_kernel();
    void stop_kernel() { kernel_.reset(); }
    [[nodiscard]] const Program& kernel() const { return *kernel_; }
    /// Waits until it is ready. A deque keeps references to earlier ones.
    Program& add_scheduler(Program::Environment more = {});
    Program& add_worker(const std::string& id, std::vector<std::string> more = {"--service-time", "5ms"},
                        Program::Environment own = {});
    /// Any program of ours, with the deployment's addresses in its environment.
    Program launch(const std::string& program, std::vector<std::string> arguments, Program::Environment more = {});

    /// A command line of /bin/sh, with the same environment; `name` is that of its log.
    Program launch_shell(const std::string& name, const std::string& command, Program::Environment more = {});

    struct Told {
        int exit_code = -1;
        std::string text;
    };
    Told ctl(std::vector<std::string> arguments);
    /// What lockstepctl prints with --json; a discarded value when that is no JSON.
    nlohmann::json ctl_json(std::vector<std::string> arguments);

    /// Publishes bytes as they are, as somebody with a NATS client could.
    void publish_raw(const std::string& subject, const std::string& payload);
    /// The text that `GET` answers; empty when there is none.
    std::string redis_get(const std::string& key);
    void redis_set(const std::string& key, const std::string& value);
    /// How many keys match the glob.
    int redis_keys(const std::string& glob);
    /// Commands as one would type them, a line each.
    void redis_type(const std::vector<std::string>& commands);
    /// How often Redis has been called so far, by command.
    std::map<std::string, long> redis_calls();

    /// Status line, headers and body that an HTTP server on this machine answers to GET.
    [[nodiscard]] static std::string http_get(int port, const std::string& path);

    /// Jobs by state.
    std::map<std::string, int> states();
    /// Whether `count` jobs have ended in time.
    bool all_end(int count, std::chrono::seconds limit);
    /// How often each job was started by a worker.
    std::map<std::string, int> executions() const;
    [[nodiscard]] std::string logs() const;
    [[nodiscard]] std::filesystem::path folder() const { return folder_.path(); }

    [[nodiscard]] static bool until(const std::function<bool()>& done, std::chrono::milliseconds limit);

private:
    Program start(const std::string& name, std::vector<std::string> line, Program::Environment more);

    fakes::testing::TemporaryFolder folder_;
    std::unique_ptr<fakes::testing::ServerProcess> redis_;
    std::unique_ptr<fakes::testing::ServerProcess> nats_;
    fakes::testing::ReservedPort kernel_port_;
    std::unique_ptr<Program> kernel_;
    std::deque<Program> programs_;
    int launched_ = 0;
};

}  // namespace lockstep::prod::testing
