#include "prod/observe/log_writer.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

namespace lockstep::prod {

struct LogWriter::State {
    explicit State(int out) : descriptor(out) {}

    void run();
    /// Nothing waits and nothing is being written. REQUIRES: `mutex` is held.
    [[nodiscard]] bool at_rest() const { return lines.empty() && !writing; }

    const int descriptor;
    mutable std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::string> lines;
    std::size_t bytes = 0;  // of `lines`
    std::uint64_t lost = 0;
    bool writing = false;
    bool closed = false;
    bool ended = false;
};

namespace {

/// False: the descriptor refuses it, and a part may have been written.
bool write_all(int descriptor, std::string_view text) {
    while (!text.empty()) {
        const ssize_t written = ::write(descriptor, text.data(), text.size());
        if (written >= 0) {
            text.remove_prefix(static_cast<std::size_t>(written));
        } else if (errno == EAGAIN) {  // another process that shares it has made it non-blocking
            pollfd room{descriptor, POLLOUT, 0};
            (void)::poll(&room, 1, -1);
        } else if (errno != EINTR) {
            return false;
        }
    }
    return true;
}

}  // namespace

void LogWriter::State::run() {
    std::unique_lock lock(mutex);
    while (true) {
        changed.wait(lock, [this] { return closed || !lines.empty(); });
        if (lines.empty()) break;
        const std::string line = std::move(lines.front());
        lines.pop_front();
        bytes -= line.size();
        writing = true;
        lock.unlock();
        const bool written = write_all(descriptor, line);
        lock.lock();
        writing = false;
        if (!written) ++lost;
        if (lines.empty()) changed.notify_all();
    }
    ended = true;
    changed.notify_all();
}

LogWriter::LogWriter(int descriptor) : state_(std::make_shared<State>(descriptor)) {
    // The thread inherits what is blocked: signals are other threads' to take, and a reader who has gone is an error of `write`.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread([state = state_] { state->run(); }).detach();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

LogWriter::~LogWriter() {
    std::unique_lock lock(state_->mutex);
    state_->closed = true;
    state_->changed.notify_all();
    state_->changed.wait_for(lock, kLastWords, [this] { return state_->ended; });
    state_->lost += std::exchange(state_->lines, {}).size();  // a stuck thread ends after the line that it has
}

void LogWriter::put(std::string line) {
    line += '\n';
    {
        const std::lock_guard lock(state_->mutex);
        if (state_->bytes + line.size() > kQueueBytesMax) {
            ++state_->lost;
            return;
        }
        state_->bytes += line.size();
        state_->lines.push_back(std::move(line));
    }
    state_->changed.notify_all();
}

void LogWriter::flush() {
    std::unique_lock lock(state_->mutex);
    state_->changed.wait_for(lock, kLastWords, [this] { return state_->at_rest(); });
}

bool LogWriter::idle() const {
    const std::lock_guard lock(state_->mutex);
    return state_->at_rest();
}

std::uint64_t LogWriter::lost() const {
    const std::lock_guard lock(state_->mutex);
    return state_->lost;
}

}  // namespace lockstep::prod
