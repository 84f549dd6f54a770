#include "prod/ordeal/nats_group.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <utility>

#include "fakes/testing/server_lines.h"

namespace lockstep::prod::ordeal {

namespace {

using fakes::testing::ServerProcess;

constexpr std::array kStreams{"CORDUM_SYS", "CORDUM_JOBS"};

std::string name_of_member(std::size_t number) { return fmt::format("nats-{}", number); }

}  // namespace

NatsGroup::NatsGroup() {
    for (std::size_t i = 0; i < kMembers; ++i) members_.at(i) = std::make_unique<ServerProcess>(member(i));
    asking_ = std::make_unique<BusClient>(url());
}

ServerProcess::CommandLine NatsGroup::member(std::size_t number) const {
    return [this, number](int port, const std::filesystem::path& folder) {
        const std::string file = (folder / "nats.conf").string();
        std::ofstream out(file);
        out << fmt::format("server_name: {}\ncluster {{ name: ordeal, listen: \"127.0.0.1:{}\", routes: [\n",
                           name_of_member(number), routes_.at(number).number());
        for (const auto& route : routes_) out << fmt::format("  nats://127.0.0.1:{}\n", route.number());
        out << "] }\n";
        auto line = fakes::testing::nats_server_line(port, folder);
        line.insert(line.end(), {"-c", file});
        return line;
    };
}

std::string NatsGroup::url() const {
    std::string hosts;
    for (const auto& one : members_)
        hosts += fmt::format("{}nats://127.0.0.1:{}", hosts.empty() ? "" : ",", one->port());
    return hosts;
}

bool NatsGroup::take_leader(const std::string& stream, bool freeze, std::string& target) {
    if (taken_ != nullptr || !missing().empty()) return false;
    const auto peers = asking_->peers(stream);
    if (!peers) return false;
    for (std::size_t i = 0; i < kMembers; ++i)
        if (name_of_member(i) == peers->leader) taken_ = members_.at(i).get();
    if (taken_ == nullptr) return false;
    led_ = stream;
    leader_ = target = peers->leader;
    freeze ? taken_->freeze() : taken_->kill();
    return true;
}

bool NatsGroup::replaced() {
    const auto peers = asking_->peers(led_);
    return peers && !peers->leader.empty() && peers->leader != leader_;
}

void NatsGroup::give_back() {
    ServerProcess& server = *std::exchange(taken_, nullptr);
    server.running() ? server.thaw() : server.start();
}

std::string NatsGroup::missing() {
    for (const char* stream : kStreams) {
        const auto peers = asking_->peers(stream);
        if (!peers || peers->leader.empty()) return fmt::format("the stream {} has no leader", stream);
        if (peers->current + 1 < static_cast<int>(kMembers))
            return fmt::format("of the stream {} only {} servers have all that {} has", stream, peers->current,
                               peers->leader);
    }
    return {};
}

void NatsGroup::copy_logs(const std::filesystem::path& folder) const {
    for (std::size_t i = 0; i < kMembers; ++i)
        std::filesystem::copy_file(members_.at(i)->folder() / "server.log", folder / (name_of_member(i) + ".log"),
                                   std::filesystem::copy_options::overwrite_existing);
}

}  // namespace lockstep::prod::ordeal
