#include "fakes/testing/server_lines.h"

#include <stdexcept>

#include "fakes/testing/server_process.h"

namespace lockstep::fakes::testing {

namespace {

std::string installed(const std::string& name) {
    auto program = find_program(name);
    if (!program) throw std::runtime_error(name + " is not installed");
    return *std::move(program);
}

}  // namespace

std::vector<std::string> redis_server_line(int port, const std::filesystem::path& folder, AppendOnly append_only) {
    std::vector<std::string> words{
        installed("redis-server"), "--port",      std::to_string(port), "--bind", "127.0.0.1", "--save", "", "--dir",
        folder.string(),           "--appendonly"};
    words.emplace_back(append_only == AppendOnly::no ? "no" : "yes");
    if (append_only != AppendOnly::no) {
        words.insert(words.end(), {"--appendfsync", append_only == AppendOnly::always ? "always" : "everysec"});
    }
    return words;
}

std::vector<std::string> redis_replica_line(int port, const std::filesystem::path& folder, int primary) {
    auto words = redis_server_line(port, folder);
    words.insert(words.end(), {"--replicaof", "127.0.0.1 " + std::to_string(primary)});
    return words;
}

std::vector<std::string> nats_server_line(int port, const std::filesystem::path& folder) {
    return {installed("nats-server"), "-a", "127.0.0.1", "-p", std::to_string(port), "-js", "-sd", folder.string()};
}

}  // namespace lockstep::fakes::testing
