// Real servers for tests: a process of its own in a folder of its own, on a free port of the loopback interface, gone when
// its owner is. Used by the tests that compare a simulated server with the real one (label "servers").
//
// 1. The process is killed with SIGKILL when the object dies, and by the kernel when the test program does.
// 2. Nothing sleeps: readiness is a connection that was accepted, and a server that ends while we wait is noticed at once.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::fakes::testing {

/// A fresh folder below the system's folder for temporary files, removed with all that is in it.
class TemporaryFolder {
public:
    TemporaryFolder();
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    ~TemporaryFolder();
    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

private:
    std::filesystem::path path_;
};

/// A port of 127.0.0.1 that nobody gets by chance while this lives: not as a port of their own choice left to the system,
/// and not as the near end of a connection. Nobody listens on it but who is told its number.
class ReservedPort {
public:
    ReservedPort();
    ReservedPort(const ReservedPort&) = delete;
    ReservedPort& operator=(const ReservedPort&) = delete;
    ~ReservedPort();
    [[nodiscard]] int number() const { return number_; }

private:
    int descriptor_;
    int number_;
};

/// A connected TCP socket (the caller closes it), or -1 when refused.
[[nodiscard]] int connect_to_loopback(int port);

/// Where the program is installed; empty when it is not. Looks through PATH and the sbin folders.
[[nodiscard]] std::optional<std::string> find_program(std::string_view name);

class ServerProcess {
public:
    /// The command line for a port and a folder to keep files in; the first word is the program.
    using CommandLine = std::function<std::vector<std::string>(int port, const std::filesystem::path& folder)>;

    /// Starts the server and waits until it accepts connections. Throws std::runtime_error with the tail of its log when
    /// it ends or does not listen within `patience`.
    explicit ServerProcess(CommandLine command_line, std::chrono::seconds patience = std::chrono::seconds(20));
    ServerProcess(const ServerProcess&) = delete;
    ServerProcess& operator=(const ServerProcess&) = delete;
    ~ServerProcess();

    [[nodiscard]] int port() const { return port_.number(); }
    [[nodiscard]] const std::filesystem::path& folder() const { return folder_.path(); }
    [[nodiscard]] bool running() const { return pid_ > 0; }
    /// -1 when it does not run.
    [[nodiscard]] pid_t pid() const { return pid_; }
    /// What the server has written to its standard output and error.
    [[nodiscard]] std::string log() const;

    /// SIGKILL, as a power cut sees it (what it handed to the operating system stays).
    void kill();
    /// SIGTERM, and waits for the end.
    void stop();
    /// Starts it again on the same port and folder, and waits until it accepts connections. REQUIRES: not running.
    void start();
    /// SIGSTOP and SIGCONT: the server is there and says nothing.
    void freeze();
    void thaw();

private:
    void spawn();
    /// False when the process ended before it listened.
    [[nodiscard]] bool wait_until_listening();
    void signal_and_reap(int signal);

    CommandLine command_line_;
    std::chrono::seconds patience_;
    TemporaryFolder folder_;
    ReservedPort port_;
    pid_t pid_ = -1;
    int pid_descriptor_ = -1;  // readable once the process has ended
};

}  // namespace lockstep::fakes::testing
