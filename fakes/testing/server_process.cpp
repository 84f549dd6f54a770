#include "fakes/testing/server_process.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace lockstep::fakes::testing {

namespace {

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

sockaddr_in loopback(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

std::filesystem::path log_file(const std::filesystem::path& folder) { return folder / "server.log"; }

}  // namespace

TemporaryFolder::TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "lockstep-test-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) fail("mkdtemp");
    path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
    std::error_code ignored;  // a leftover in the temporary folder must not fail a test that has passed
    std::filesystem::remove_all(path_, ignored);
}

// Bound without the permission to share, so that the system finds a port that is nobody's; permitted afterwards, so that
// the server, which asks for the permission as all servers do, can bind it beside us. We never listen.
ReservedPort::ReservedPort() : descriptor_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), number_(0) {
    if (descriptor_ < 0) fail("socket");
    sockaddr_in address = loopback(0);
    socklen_t length = sizeof address;
    const int share = 1;
    if (::bind(descriptor_, reinterpret_cast<sockaddr*>(&address), length) != 0 ||
        ::getsockname(descriptor_, reinterpret_cast<sockaddr*>(&address), &length) != 0 ||
        ::setsockopt(descriptor_, SOL_SOCKET, SO_REUSEADDR, &share, sizeof share) != 0)
        fail("reserve a port");
    number_ = ntohs(address.sin_port);
}

ReservedPort::~ReservedPort() { ::close(descriptor_); }

int connect_to_loopback(int port) {
    const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0) fail("socket");
    sockaddr_in address = loopback(port);
    if (::connect(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
        ::close(descriptor);
        return -1;
    }
    // Linux may connect a socket to itself when the port is free and in the range that outgoing connections use.
    sockaddr_in own{};
    socklen_t length = sizeof own;
    ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&own), &length);
    if (own.sin_port == address.sin_port) {
        ::close(descriptor);
        return -1;
    }
    const int on = 1;
    ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return descriptor;
}

std::optional<std::string> find_program(std::string_view name) {
    const char* path = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe): nobody changes the environment
    std::stringstream folders(std::string(path != nullptr ? path : "") + ":/usr/local/sbin:/usr/sbin:/sbin");
    for (std::string folder; std::getline(folders, folder, ':');) {
        if (folder.empty()) continue;
        std::string candidate = folder + "/" + std::string(name);
        if (::access(candidate.c_str(), X_OK) == 0) return candidate;
    }
    return std::nullopt;
}

ServerProcess::ServerProcess(CommandLine command_line, std::chrono::seconds patience)
    : command_line_(std::move(command_line)), patience_(patience) {
    spawn();
    if (!wait_until_listening()) throw std::runtime_error("the server ended at once:\n" + log());
}

ServerProcess::~ServerProcess() { kill(); }

std::string ServerProcess::log() const {
    std::ifstream file(log_file(folder()));
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

void ServerProcess::spawn() {
    std::vector<std::string> words = command_line_(port(), folder());
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const int output = ::open(log_file(folder()).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (output < 0) fail("open the server's log");

    const pid_t parent = ::getpid();
    pid_ = ::fork();
    if (pid_ < 0) fail("fork");
    if (pid_ == 0) {  // only calls that are safe between fork and exec
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != parent) ::_exit(127);
        ::dup2(output, STDOUT_FILENO);
        ::dup2(output, STDERR_FILENO);
        ::execv(arguments[0], arguments.data());
        ::_exit(127);
    }
    ::close(output);
    pid_descriptor_ = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
    if (pid_descriptor_ < 0) fail("pidfd_open");
}

bool ServerProcess::wait_until_listening() {
    const auto give_up = std::chrono::steady_clock::now() + patience_;
    while (true) {
        const int connection = connect_to_loopback(port());
        if (connection >= 0) {
            ::close(connection);
            return true;
        }
        // The pause between two attempts ends early when the process does.
        pollfd ended{pid_descriptor_, POLLIN, 0};
        if (::poll(&ended, 1, 2) > 0) {
            signal_and_reap(SIGKILL);
            return false;
        }
        if (std::chrono::steady_clock::now() > give_up) {
            kill();
            throw std::runtime_error("the server does not listen:\n" + log());
        }
    }
}

void ServerProcess::signal_and_reap(int signal) {
    if (!running()) return;
    ::kill(pid_, signal);
    if (signal == SIGTERM) ::kill(pid_, SIGCONT);  // a frozen process could not hear it
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
    ::close(pid_descriptor_);
    pid_ = -1;
    pid_descriptor_ = -1;
}

void ServerProcess::kill() { signal_and_reap(SIGKILL); }

void ServerProcess::stop() { signal_and_reap(SIGTERM); }

void ServerProcess::start() {
    if (running()) throw std::logic_error("the server is running");
    spawn();
    if (!wait_until_listening()) throw std::runtime_error("the server ended at once:\n" + log());
}

void ServerProcess::freeze() {
    if (running()) ::kill(pid_, SIGSTOP);
}

void ServerProcess::thaw() {
    if (running()) ::kill(pid_, SIGCONT);
}

}  // namespace lockstep::fakes::testing
