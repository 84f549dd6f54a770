#include "prod/integration/program.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>
#include <utility>

namespace lockstep::prod::testing {

namespace {

constexpr auto kLook = std::chrono::milliseconds(5);

}  // namespace

Program::Program(std::vector<std::string> command_line, Environment environment, std::filesystem::path output)
    : output_(std::move(output)) {
    if (const char* path = std::getenv("PATH")) environment.emplace("PATH", path);
    std::vector<std::string> entries;
    for (const auto& [name, value] : environment) entries.push_back(name + "=" + value);
    std::vector<char*> words;
    for (auto& word : command_line) words.push_back(word.data());
    words.push_back(nullptr);
    std::vector<char*> variables;
    for (auto& entry : entries) variables.push_back(entry.data());
    variables.push_back(nullptr);
    const int file = open(output_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    pid_ = fork();
    if (pid_ == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(file, STDOUT_FILENO);
        dup2(file, STDERR_FILENO);
        execve(words[0], words.data(), variables.data());
        _exit(127);
    }
    close(file);
}

Program::Program(Program&& other) noexcept : pid_(std::exchange(other.pid_, -1)), output_(std::move(other.output_)) {}

Program::~Program() {
    if (pid_ > 0) kill();
}

void Program::signal(int number) const {
    if (pid_ > 0) ::kill(pid_, number);
}

std::optional<int> Program::wait(std::chrono::milliseconds patience) {
    const auto limit = std::chrono::steady_clock::now() + patience;
    while (pid_ > 0) {
        int status = 0;
        if (waitpid(pid_, &status, WNOHANG) == pid_) {
            pid_ = -1;
            return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        }
        if (std::chrono::steady_clock::now() > limit) return std::nullopt;
        std::this_thread::sleep_for(kLook);
    }
    return std::nullopt;
}

std::string Program::output() const {
    std::ifstream in(output_, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

bool Program::says(const std::string& text, std::chrono::milliseconds patience) {
    const auto limit = std::chrono::steady_clock::now() + patience;
    while (output().find(text) == std::string::npos) {
        if (std::chrono::steady_clock::now() > limit) return false;
        std::this_thread::sleep_for(kLook);
    }
    return true;
}

}  // namespace lockstep::prod::testing
