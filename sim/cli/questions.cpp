#include "sim/cli/questions.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <string_view>
#include <utility>

namespace lockstep::sim::cli {

namespace {

std::atomic<int> asked = -1;
static_assert(std::atomic<int>::is_always_lock_free, "read by a signal handler");

extern "C" void on_question(int) {
    const int before = errno;
    const int pipe = asked.load();
    // Of a pipe that is full somebody has heard already.
    if (pipe >= 0) [[maybe_unused]]
        const ssize_t written = ::write(pipe, "?", 1);
    errno = before;
}

/// Not by the stream, which the threads of the command use. A terminal may show a line that is drawn over: it stays.
void write_answer(std::string text) {
    if (::isatty(STDERR_FILENO) != 0) text.insert(0, "\n");
    std::string_view rest = text;
    while (!rest.empty()) {
        const ssize_t written = ::write(STDERR_FILENO, rest.data(), rest.size());
        if (written <= 0) return;
        rest.remove_prefix(static_cast<std::size_t>(written));
    }
}

}  // namespace

Questions::Questions() {
    if (::pipe2(pipe_.data(), O_CLOEXEC) != 0) return;  // then nobody is answered, and the signal ends the process
    ::fcntl(pipe_[1], F_SETFL, O_NONBLOCK);
    asked.store(pipe_[1]);
    listener_ = std::thread([this] { listen(); });
    ::signal(SIGUSR1, on_question);
}

Questions::~Questions() {
    if (!listener_.joinable()) return;
    ::signal(SIGUSR1, SIG_IGN);
    asked.store(-1);
    ::close(pipe_[1]);
    listener_.join();
    ::close(pipe_[0]);
}

void Questions::answer_with(std::function<std::string()> say) {
    const std::scoped_lock lock(mutex_);
    say_ = std::move(say);
}

void Questions::listen() {
    char byte = 0;
    while (true) {
        const ssize_t heard = ::read(pipe_[0], &byte, 1);
        if (heard < 0 && errno == EINTR) continue;
        if (heard <= 0) return;
        const std::scoped_lock lock(mutex_);
        write_answer(say_ ? say_() : "lockstep: nothing runs\n");
    }
}

}  // namespace lockstep::sim::cli
