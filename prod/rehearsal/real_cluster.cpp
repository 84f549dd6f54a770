#include "prod/rehearsal/real_cluster.h"

#include <fmt/core.h>
#include <signal.h>
#include <unistd.h>

#include <charconv>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "engine/config/tunables.h"
#include "engine/wire/json_text.h"
#include "fakes/testing/server_lines.h"
#include "prod/rehearsal/worker_script.h"

namespace lockstep::prod::rehearsal {

namespace {

using fakes::NodeId;
using fakes::testing::find_program;
using fakes::testing::ServerProcess;
using sim::NodeRole;
using sim::Topology;
using testing::Program;

constexpr std::size_t kLastWords = 2000;

ServerProcess::CommandLine redis_line(sim::RedisPersistence persistence) {
    using fakes::testing::AppendOnly;
    const auto append_only = persistence == sim::RedisPersistence::none       ? AppendOnly::no
                             : persistence == sim::RedisPersistence::everysec ? AppendOnly::every_second
                                                                              : AppendOnly::always;
    return [append_only](int port, const std::filesystem::path& folder) {
        return fakes::testing::redis_server_line(port, folder, append_only);
    };
}

void write_file(const std::filesystem::path& file, const std::string& text) {
    std::ofstream(file, std::ios::binary) << text;
}

/// A scenario tells its output policy apart; in the kernel's file it is a part of the document.
std::string policy_text(const sim::Documents& documents) {
    auto policy = engine::wire::sound_json(documents.policy);
    if (!documents.output_policy.empty()) {
        auto output = engine::wire::sound_json(documents.output_policy);
        if (output.contains("rules")) {
            policy["output_rules"] = output["rules"];
            output.erase("rules");
        }
        policy["output_policy"] = std::move(output);
    }
    return engine::wire::json_text(policy, 2);
}

std::string upper(std::string_view text) {
    std::string out(text);
    for (char& c : out)
        if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    return out;
}

/// Only what the scenario changed: a tunable that is given counts as pinned.
Program::Environment tunables_of(const sim::Cluster& cluster) {
    Program::Environment environment;
    const engine::Tunables defaults;
    for (const engine::TunableInfo& info : engine::tunable_table()) {
        const std::string text = engine::tunable_text(cluster.config, info);
        const bool pinned = (cluster.pinned.input_fail_mode && info.name == "policy_check_fail_mode") ||
                            (cluster.pinned.output_fail_mode && info.name == "output_policy_fail_mode");
        if (pinned || text != engine::tunable_text(defaults, info))
            environment.emplace("LOCKSTEP_" + upper(info.name), text);
    }
    return environment;
}

/// The inode of the TCP socket whose near end has this port on 127.0.0.1; empty when there is none.
std::string inode_of_port(unsigned port) {
    std::ifstream table("/proc/net/tcp");
    const std::string address = fmt::format("0100007F:{:04X}", port);
    std::string line;
    while (std::getline(table, line)) {
        std::istringstream fields(line);
        std::string slot, local, remote, state, queues, timer, retransmits, user, timeout, inode;
        fields >> slot >> local >> remote >> state >> queues >> timer >> retransmits >> user >> timeout >> inode;
        if (local == address && inode != "0") return inode;
    }
    return {};
}

bool has_socket(pid_t pid, const std::string& inode) {
    const std::string wanted = "socket:[" + inode + "]";
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(fmt::format("/proc/{}/fd", pid), error)) {
        std::error_code gone;
        if (std::filesystem::read_symlink(entry.path(), gone) == wanted) return true;
    }
    return false;
}

}  // namespace

const int RealCluster::kStop = SIGSTOP;
const int RealCluster::kContinue = SIGCONT;

std::vector<std::string> RealCluster::missing_servers() {
    std::vector<std::string> missing;
    for (const char* name : {"redis-server", "nats-server"}) {
        if (!find_program(name)) missing.emplace_back(name);
    }
    return missing;
}

RealCluster::RealCluster(const sim::Scenario& scenario, const Topology& topology, std::filesystem::path programs)
    : scenario_(scenario),
      topology_(topology),
      programs_folder_(std::move(programs)),
      redis_(redis_line(scenario.cluster.redis_persistence)),
      nats_(fakes::testing::nats_server_line) {
    write_documents();
    environment_ = tunables_of(scenario.cluster);
    environment_.insert({{"REDIS_URL", fmt::format("redis://127.0.0.1:{}", redis_.port())},
                         {"NATS_URL", nats_url()},
                         {"SAFETY_KERNEL_ADDR", fmt::format("127.0.0.1:{}", kernel_port_.number())},
                         {"SAFETY_POLICY_PATH", folder_.path() / "safety.yaml"},
                         {"POOL_CONFIG_PATH", folder_.path() / "pools.yaml"},
                         {"SCHEDULER_METRICS_ADDR", "127.0.0.1:0"},
                         {"WORKFLOW_ENGINE_HTTP_ADDR", "127.0.0.1:0"}});
    // A path to nothing stands for "no such document"; the default would be one that happens to lie here.
    environment_.emplace("TIMEOUT_CONFIG_PATH", folder_.path() / "timeouts.yaml");
}

std::string RealCluster::nats_url() const { return fmt::format("nats://127.0.0.1:{}", nats_.port()); }

void RealCluster::write_documents() {
    const sim::Documents& documents = scenario_.cluster.documents;
    // JSON is YAML.
    write_file(folder_.path() / "safety.yaml", policy_text(documents));
    write_file(folder_.path() / "pools.yaml", documents.pools);
    if (!documents.timeouts.empty()) write_file(folder_.path() / "timeouts.yaml", documents.timeouts);
}

std::vector<std::string> RealCluster::worker_arguments(const Topology::Entry& entry, int launch) const {
    const sim::WorkerGroup& group = scenario_.cluster.workers.at(static_cast<std::size_t>(entry.worker_group));
    std::vector<std::string> words{"--id",           entry.name,
                                   "--pool",         group.pool,
                                   "--max-parallel", std::to_string(group.max_parallel_jobs),
                                   "--heartbeat",    engine::format_duration(group.heartbeat),
                                   "--record",       (folder_.path() / "executions").string()};
    if (only_succeeds(group)) {
        words.insert(words.end(), {"--service-time", engine::format_duration(group.service_time.a)});
    } else {
        const auto counter = folder_.path() / fmt::format("{}-{}.job", entry.name, launch);
        words.insert(words.end(), {"--exec", worker_script(group, counter.string())});
    }
    for (const std::string& capability : group.capabilities) words.insert(words.end(), {"--capability", capability});
    for (const auto& [key, value] : group.labels) words.insert(words.end(), {"--label", key + "=" + value});
    if (!group.region.empty()) words.insert(words.end(), {"--region", group.region});
    return words;
}

void RealCluster::launch(NodeId node) {
    const Topology::Entry& entry = topology_.node(node);
    std::string name;
    std::vector<std::string> words;
    Program::Environment environment = environment_;
    ++launched_;
    switch (entry.role) {
        case NodeRole::kernel:
            name = "lockstep-kernel";
            words = {"--listen", fmt::format("127.0.0.1:{}", kernel_port_.number())};
            break;
        case NodeRole::scheduler:
            name = "lockstepd";
            environment["CORDUM_INSTANCE_ID"] = entry.name;
            if (scenario_.cluster.schedulers_run_workflows) environment["LOCKSTEP_ROLE"] = "scheduler,workflow";
            break;
        case NodeRole::workflow:
            name = "lockstepd";
            environment["CORDUM_INSTANCE_ID"] = entry.name;
            environment["LOCKSTEP_ROLE"] = "workflow";
            break;
        case NodeRole::worker:
            name = "lockstep-worker";
            words = worker_arguments(entry, launched_);
            break;
        default: throw std::logic_error(fmt::format("{} is no program of ours", entry.name));
    }
    words.insert(words.begin(), (programs_folder_ / name).string());
    const auto output = folder_.path() / fmt::format("{}-{}.log", entry.name, launched_);
    programs_[node] = std::make_unique<Program>(std::move(words), std::move(environment), output);
}

void RealCluster::start_programs() {
    const auto wait_for = [this](NodeId node, const char* words) {
        if (!program(node)->says(words))
            throw std::runtime_error(fmt::format("{} does not start:\n{}", topology_.name(node), last_words(node)));
    };
    launch(Topology::kKernel);
    wait_for(Topology::kKernel, "serving policy");
    for (const NodeRole role : {NodeRole::scheduler, NodeRole::workflow, NodeRole::worker}) {
        for (const NodeId node : topology_.of_role(role)) launch(node);
        for (const NodeId node : topology_.of_role(role))
            wait_for(node, role == NodeRole::worker ? " ready" : " ready instance=");
    }
}

ServerProcess* RealCluster::server(NodeId node) {
    if (node == Topology::kRedis) return &redis_;
    return node == Topology::kNats ? &nats_ : nullptr;
}

const ServerProcess* RealCluster::server(NodeId node) const {
    if (node == Topology::kRedis) return &redis_;
    return node == Topology::kNats ? &nats_ : nullptr;
}

Program* RealCluster::program(NodeId node) const {
    const auto found = programs_.find(node);
    return found == programs_.end() ? nullptr : found->second.get();
}

bool RealCluster::running(NodeId node) const {
    if (const ServerProcess* process = server(node)) return process->running();
    const Program* process = program(node);
    return process != nullptr && process->pid() > 0;
}

bool RealCluster::kill(NodeId node) {
    if (!running(node)) return false;
    frozen_.erase(node);
    if (ServerProcess* process = server(node))
        process->kill();
    else
        program(node)->kill();
    return true;
}

bool RealCluster::ask_to_end(NodeId node) {
    Program* process = program(node);
    if (process == nullptr || !running(node)) return false;
    process->signal(SIGTERM);
    return true;
}

bool RealCluster::ended(NodeId node) {
    Program* process = program(node);
    if (process != nullptr) (void)process->wait(std::chrono::milliseconds(0));
    return !running(node);
}

void RealCluster::start(NodeId node) {
    if (running(node)) return;
    if (ServerProcess* process = server(node))
        process->start();
    else
        launch(node);
}

bool RealCluster::freeze(NodeId node) {
    if (!running(node) || !frozen_.insert(node).second) return false;
    if (ServerProcess* process = server(node))
        process->freeze();
    else
        program(node)->signal(SIGSTOP);
    return true;
}

bool RealCluster::thaw(NodeId node) {
    if (frozen_.erase(node) == 0) return false;
    if (ServerProcess* process = server(node))
        process->thaw();
    else
        program(node)->signal(SIGCONT);
    return true;
}

void RealCluster::thaw_all() {
    while (!frozen_.empty()) thaw(*frozen_.begin());
}

void RealCluster::signal_programs(int number) const {
    for (const auto& [node, process] : programs_) {
        if (!frozen_.contains(node)) process->signal(number);
    }
}

NodeId RealCluster::owner_of(std::string_view address) const {
    unsigned port = 0;
    const std::string_view digits = address.substr(address.rfind(':') + 1);
    if (std::from_chars(digits.data(), digits.data() + digits.size(), port).ec != std::errc{}) return {};
    const std::string inode = inode_of_port(port);
    if (inode.empty()) return {};
    for (const auto& [node, process] : programs_) {
        if (process->pid() > 0 && has_socket(process->pid(), inode)) return node;
    }
    return has_socket(getpid(), inode) ? Topology::kGateway : NodeId{};
}

std::vector<std::string> RealCluster::new_executions() {
    std::ifstream file(folder_.path() / "executions", std::ios::binary);
    file.seekg(static_cast<std::streamoff>(executions_read_));
    std::vector<std::string> lines;
    // A line without its end is still being written.
    for (std::string line; std::getline(file, line) && !file.eof();) {
        executions_read_ += line.size() + 1;
        lines.push_back(std::move(line));
    }
    return lines;
}

std::string RealCluster::last_words(NodeId node) const {
    const Program* process = program(node);
    if (process == nullptr) return {};
    std::string text = process->output();
    return text.size() > kLastWords ? text.substr(text.size() - kLastWords) : text;
}

}  // namespace lockstep::prod::rehearsal
