#include "sim/cli/crash_note.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <string_view>

#include "sim/cli/cli.h"
#include "sim/cli/unfinished_reports.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define LOCKSTEP_SANITIZED 1
#include <sanitizer/common_interface_defs.h>
#endif
#endif

namespace lockstep::sim::cli {

namespace {

// Per thread and of fixed size: the handler runs on the thread that crashed and can trust nothing else.
thread_local std::array<char, 4096> note{};

void write_text(std::string_view text) {
    while (!text.empty()) {
        const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
        if (written <= 0) return;
        text.remove_prefix(static_cast<std::size_t>(written));
    }
}

#if !defined(LOCKSTEP_SANITIZED)
std::atomic<bool> handlers_installed = false;
#endif
std::atomic<UnfinishedReports*> kept_reports = nullptr;
static_assert(std::atomic<UnfinishedReports*>::is_always_lock_free, "read by a signal handler");

/// Once, should two threads crash.
void complete_reports(const char* by) {
    const UnfinishedReports* reports = kept_reports.exchange(nullptr);
    if (reports != nullptr) reports->crashed(by);
}

#if defined(LOCKSTEP_SANITIZED)
void on_death() {
    print_note();
    complete_reports("a sanitizer, whose report is in the log");
}
#else
/// A stack of its own for the handler of this thread: a stack overflow is one of the crashes.
struct HandlerStack {
    HandlerStack() {
        stack_t alternative{};
        alternative.ss_sp = bytes->data();
        alternative.ss_size = bytes->size();
        ::sigaltstack(&alternative, nullptr);
    }
    ~HandlerStack() {
        stack_t none{};
        none.ss_flags = SS_DISABLE;
        ::sigaltstack(&none, nullptr);
    }
    HandlerStack(const HandlerStack&) = delete;
    HandlerStack& operator=(const HandlerStack&) = delete;

    const std::unique_ptr<std::array<char, 64 * 1024>> bytes = std::make_unique<std::array<char, 64 * 1024>>();
};

void give_this_thread_a_stack() { [[maybe_unused]] static thread_local const HandlerStack stack; }

extern "C" void on_crash(int signal) {
    // No strsignal: it may allocate.
    const char* name = signal == SIGSEGV   ? "SIGSEGV"
                       : signal == SIGABRT ? "SIGABRT"
                       : signal == SIGFPE  ? "SIGFPE"
                       : signal == SIGBUS  ? "SIGBUS"
                                           : "SIGILL";
    write_text("\nlockstep: the harness was killed by ");
    write_text(name);
    write_text(" while it ran this:\n");
    print_note();
    complete_reports(name);
    ::_exit(static_cast<int>(Exit::harness));
}
#endif

}  // namespace

void note_run(const std::string& replay) {
#if !defined(LOCKSTEP_SANITIZED)
    if (handlers_installed.load()) give_this_thread_a_stack();  // whoever notes a run makes it on this thread
#endif
    const std::size_t length = std::min(replay.size(), note.size() - 1);
    std::copy_n(replay.data(), length, note.data());
    note[length] = '\0';
}

void keep_in_crash(UnfinishedReports* reports) { kept_reports.store(reports); }

void print_note() {
    write_text("  replay: ");
    write_text(note.data());
    write_text("\n");
}

void install_crash_handlers() {
#if defined(LOCKSTEP_SANITIZED)
    __sanitizer_set_death_callback(on_death);
#else
    handlers_installed.store(true);
    give_this_thread_a_stack();
    struct sigaction action{};
    action.sa_handler = on_crash;
    action.sa_flags = static_cast<int>(SA_ONSTACK | SA_RESETHAND);
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) ::sigaction(signal, &action, nullptr);
#endif
}

}  // namespace lockstep::sim::cli
