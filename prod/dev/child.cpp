#include "prod/dev/child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <deque>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>

namespace lockstep::prod {

namespace {

/// Of a log: enough for its last lines, however long it has run.
constexpr std::streamoff kTail = 16'384;

[[noreturn]] void cannot(const std::string& what) { throw std::system_error(errno, std::generic_category(), what); }

std::vector<char*> pointers_to(std::vector<std::string>& words) {
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    return pointers;
}

/// In the new process: only calls that are safe between fork and exec.
[[noreturn]] void become(pid_t parent, int log, char* const* words, char* const* environment) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(127);
    ::setpgid(0, 0);
    // What we ignore or handle, and what a shell ignores for its background jobs, is the program's own business.
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGCHLD}) ::signal(number, SIG_DFL);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    const int nothing = ::open("/dev/null", O_RDONLY);
    ::dup2(nothing, STDIN_FILENO);
    ::dup2(log, STDOUT_FILENO);
    ::dup2(log, STDERR_FILENO);
    ::close_range(3, ~0U, 0);
    ::execve(words[0], words, environment);
    ::_exit(127);
}

}  // namespace

Child::Child(Start start) : start_(std::move(start)) {
    const int log = ::open(start_.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (log < 0) cannot(start_.log.string());
    const std::vector<char*> words = pointers_to(start_.words);
    const std::vector<char*> environment = pointers_to(start_.environment);
    // A signal between fork and exec must not reach our handlers in the new process.
    sigset_t all;
    sigset_t before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    const pid_t parent = ::getpid();
    pid_ = ::fork();
    if (pid_ == 0) become(parent, log, words.data(), environment.data());
    const int error = errno;
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    ::close(log);
    errno = error;
    if (pid_ < 0) cannot("fork");
}

Child::~Child() {
    if (pid_ <= 0) return;
    signal(SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
}

void Child::signal(int number) const {
    if (pid_ > 0) ::kill(pid_, number);
}

std::optional<int> Child::ended() {
    int status = 0;
    if (pid_ > 0 && ::waitpid(pid_, &status, WNOHANG) == pid_) {
        pid_ = -1;
        code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    return code_;
}

bool Child::said(std::string_view words) const {
    std::ifstream in(start_.log, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return text.view().find(words) != std::string_view::npos;
}

std::string Child::last_lines(std::size_t count) const {
    std::ifstream in(start_.log, std::ios::binary | std::ios::ate);
    const std::streamoff size = in.tellg();
    in.seekg(size > kTail ? size - kTail : 0);
    std::deque<std::string> lines;
    for (std::string line; std::getline(in, line);) {
        lines.push_back(std::move(line));
        if (lines.size() > count) lines.pop_front();
    }
    std::string text;
    for (const std::string& line : lines) text += "  " + line + "\n";
    return text;
}

}  // namespace lockstep::prod
