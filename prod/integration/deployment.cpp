#include "prod/integration/deployment.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "fakes/testing/server_lines.h"

namespace lockstep::prod::testing {

namespace {

using fakes::testing::AppendOnly;
using fakes::testing::ServerProcess;

ServerProcess::CommandLine redis_line(Durability durability) {
    const auto append_only = durability == Durability::none ? AppendOnly::no : AppendOnly::always;
    return [append_only](int port, const std::filesystem::path& folder) {
        return fakes::testing::redis_server_line(port, folder, append_only);
    };
}

std::string read(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

const std::vector<std::string> kEndStates{"SUCCEEDED", "FAILED", "CANCELLED",
                                          "TIMEOUT",   "DENIED", "OUTPUT_QUARANTINED"};

/// A plain TCP conversation with a server that speaks text.
class Conversation {
public:
    explicit Conversation(int port) : socket_(fakes::testing::connect_to_loopback(port)) {
        if (socket_ < 0) throw std::runtime_error("nobody listens on port " + std::to_string(port));
    }
    Conversation(const Conversation&) = delete;
    Conversation& operator=(const Conversation&) = delete;
    ~Conversation() { ::close(socket_); }

    void say(std::string_view text) {
        while (!text.empty()) {
            const auto sent = ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
            if (sent <= 0) throw std::runtime_error("the server hung up");
            text.remove_prefix(static_cast<std::size_t>(sent));
        }
    }
    std::string hear_until(std::string_view end) {
        std::string heard;
        char byte = 0;
        while (!heard.ends_with(end) && ::recv(socket_, &byte, 1, 0) == 1) heard += byte;
        return heard;
    }

private:
    int socket_;
};

}  // namespace

bool Deployment::possible() {
    return fakes::testing::find_program("redis-server") && fakes::testing::find_program("nats-server");
}

Deployment::Deployment(Durability durability) : Deployment(durability, fakes::testing::nats_server_line) {}

Deployment::Deployment(Durability durability, ServerProcess::CommandLine nats)
    : redis_(std::make_unique<ServerProcess>(redis_line(durability))),
      nats_(std::make_unique<ServerProcess>(std::move(nats))) {
    const std::filesystem::path files = LOCKSTEP_DEPLOY_FOLDER;
    std::ofstream(folder_.path() / "timeouts.yaml")
        << "reconciler: {dispatch_timeout_seconds: 6, running_timeout_seconds: 60, scan_interval_seconds: 1}\n";
    environment = {{"REDIS_URL", "redis://127.0.0.1:" + std::to_string(redis_->port())},
                   {"NATS_URL", "nats://127.0.0.1:" + std::to_string(nats_->port())},
                   {"SAFETY_KERNEL_ADDR", "127.0.0.1:" + std::to_string(kernel_port_.number())},
                   {"SAFETY_POLICY_PATH", files / "safety.yaml"},
                   {"POOL_CONFIG_PATH", files / "pools.yaml"},
                   {"TIMEOUT_CONFIG_PATH", folder_.path() / "timeouts.yaml"},
                   {"SCHEDULER_METRICS_ADDR", "127.0.0.1:0"},
                   {"WORKFLOW_ENGINE_HTTP_ADDR", "127.0.0.1:0"},
                   {"NATS_JS_ACK_WAIT", "4s"},
                   {"LOCKSTEP_JOB_LOCK_TTL", "3s"},
                   {"LOCKSTEP_BACKOFF_BASE", "200ms"},
                   {"LOCKSTEP_BACKOFF_MAX", "1s"},
                   {"LOCKSTEP_BACKOFF_JITTER", "100ms"},
                   {"LOCKSTEP_RETRY_DELAY_NO_WORKERS", "300ms"},
                   {"LOCKSTEP_SAFETY_UNAVAILABLE_DELAY", "500ms"},
                   {"LOCKSTEP_CIRCUIT_OPEN_FOR", "1s"},
                   {"LOCKSTEP_PENDING_AGE", "8s"},
                   {"LOCKSTEP_REPLAYER_INTERVAL", "1s"},
                   {"LOCKSTEP_SNAPSHOT_INTERVAL", "500ms"}};
    start_kernel();
}

Program Deployment::launch(const std::string& program, std::vector<std::string> arguments, Program::Environment more) {
    std::vector<std::string> line{programs / program};
    for (auto& argument : arguments) line.push_back(std::move(argument));
    return start(program, std::move(line), std::move(more));
}

Program Deployment::launch_shell(const std::string& name, const std::string& command, Program::Environment more) {
    return start(name, {"/bin/sh", "-c", command}, std::move(more));
}

Program Deployment::start(const std::string& name, std::vector<std::string> line, Program::Environment more) {
    for (const auto& entry : environment) more.insert(entry);
    const auto output = folder_.path() / (name + "-" + std::to_string(++launched_) + ".log");
    return {std::move(line), std::move(more), output};
}

void Deployment::start_kernel() {
    kernel_ = std::make_unique<Program>(
        launch("lockstep-kernel", {"--listen", "127.0.0.1:" + std::to_string(kernel_port_.number())}));
    if (!kernel_->says("serving policy")) throw std::runtime_error("the kernel does not start: " + kernel_->output());
}

Program& Deployment::add_scheduler(Program::Environment more) {
    programs_.push_back(launch("lockstepd", {}, std::move(more)));
    if (!programs_.back().says(" ready instance="))
        throw std::runtime_error("lockstepd does not start: " + programs_.back().output());
    return programs_.back();
}

Program& Deployment::add_worker(const std::string& id, std::vector<std::string> more, Program::Environment own) {
    std::vector<std::string> arguments{"--id", id, "--record", (folder_.path() / "executions").string()};
    if (std::ranges::find(more, "--heartbeat") == more.end())
        arguments.insert(arguments.end(), {"--heartbeat", "200ms"});
    if (std::ranges::find(more, "--max-parallel") == more.end())
        arguments.insert(arguments.end(), {"--max-parallel", "64"});
    for (auto& argument : more) arguments.push_back(std::move(argument));
    programs_.push_back(launch("lockstep-worker", std::move(arguments), std::move(own)));
    if (!programs_.back().says(" ready"))
        throw std::runtime_error("a worker does not start: " + programs_.back().output());
    return programs_.back();
}

Deployment::Told Deployment::ctl(std::vector<std::string> arguments) {
    Program program = launch("lockstepctl", std::move(arguments));
    const auto code = program.wait(std::chrono::seconds(60));
    return {code.value_or(-1), program.output()};
}

nlohmann::json Deployment::ctl_json(std::vector<std::string> arguments) {
    arguments.emplace_back("--json");
    return nlohmann::json::parse(ctl(std::move(arguments)).text, nullptr, false);
}

void Deployment::publish_raw(const std::string& subject, const std::string& payload) {
    Conversation nats(nats_->port());
    nats.say("CONNECT {\"verbose\":false}\r\nPUB " + subject + " " + std::to_string(payload.size()) + "\r\n" + payload +
             "\r\nPING\r\n");
    nats.hear_until("PONG\r\n");
}

std::string Deployment::redis_get(const std::string& key) {
    Conversation redis(redis_->port());
    redis.say("GET " + key + "\r\n");
    const int size = std::stoi(redis.hear_until("\r\n").substr(1));
    if (size < 0) return {};
    std::string text;
    while (static_cast<int>(text.size()) < size + 2) text += redis.hear_until("\n");
    text.resize(static_cast<std::size_t>(size));
    return text;
}

void Deployment::redis_set(const std::string& key, const std::string& value) {
    Conversation redis(redis_->port());
    std::string command = "*3\r\n";
    for (const std::string& word : {std::string("SET"), key, value})
        command += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
    redis.say(command);
    redis.hear_until("\r\n");
}

int Deployment::redis_keys(const std::string& glob) {
    Conversation redis(redis_->port());
    redis.say("KEYS " + glob + "\r\n");
    const std::string header = redis.hear_until("\r\n");
    return std::stoi(header.substr(header.find('*') + 1));
}

void Deployment::redis_type(const std::vector<std::string>& commands) {
    Conversation redis(redis_->port());
    for (const std::string& command : commands) redis.say(command + "\r\n");
    redis.say("PING\r\n");
    redis.hear_until("+PONG\r\n");
}

std::map<std::string, long> Deployment::redis_calls() {
    Conversation redis(redis_->port());
    redis.say("INFO commandstats\r\nPING\r\n");
    std::istringstream lines(redis.hear_until("+PONG\r\n"));
    std::map<std::string, long> calls;
    const std::string prefix = "cmdstat_";
    for (std::string line; std::getline(lines, line);) {
        const auto end = line.find(":calls=");
        if (!line.starts_with(prefix) || end == std::string::npos) continue;
        calls[line.substr(prefix.size(), end - prefix.size())] = std::stol(line.substr(end + 7));
    }
    return calls;
}

std::string Deployment::http_get(int port, const std::string& path) {
    Conversation server(port);
    server.say("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
    return server.hear_until("this never comes, the server hangs up");
}

std::map<std::string, int> Deployment::states() {
    const auto told = ctl_json({"list"});
    return told.is_object() ? told.get<std::map<std::string, int>>() : std::map<std::string, int>();
}

bool Deployment::all_end(int count, std::chrono::seconds limit) {
    return until(
        [&] {
            auto by_state = states();
            int ended = 0;
            for (const auto& state : kEndStates) ended += by_state[state];
            return ended >= count;
        },
        limit);
}

std::map<std::string, int> Deployment::executions() const {
    std::istringstream lines(read(folder_.path() / "executions"));
    std::map<std::string, int> count;
    for (std::string line; std::getline(lines, line);) ++count[line.substr(0, line.find(' '))];
    return count;
}

std::string Deployment::logs() const {
    std::string all;
    for (const auto& program : programs_) {
        const std::string text = program.output();
        all += text.substr(text.size() > 4000 ? text.size() - 4000 : 0) + "----\n";
    }
    return all;
}

bool Deployment::until(const std::function<bool()>& done, std::chrono::milliseconds limit) {
    // Most looks start a program, so a long wait looks less often: each pause is half as long again as the last one.
    constexpr std::chrono::milliseconds kPauseMost{500};
    std::chrono::milliseconds pause{10};
    const auto end = std::chrono::steady_clock::now() + limit;
    while (!done()) {
        if (std::chrono::steady_clock::now() > end) return false;
        std::this_thread::sleep_for(pause);
        pause = std::min(pause * 3 / 2, kPauseMost);
    }
    return true;
}

}  // namespace lockstep::prod::testing
