#include "sim/cli/crash_note.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string_view>

#include "sim/cli/cli.h"

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
extern "C" void on_crash(int signal) {
    write_text("\nlockstep: the harness was killed by ");
    // No strsignal: it may allocate.
    write_text(signal == SIGSEGV   ? "SIGSEGV"
               : signal == SIGABRT ? "SIGABRT"
               : signal == SIGFPE  ? "SIGFPE"
               : signal == SIGBUS  ? "SIGBUS"
                                   : "SIGILL");
    write_text(" while it ran this:\n");
    print_note();
    ::_exit(static_cast<int>(Exit::harness));
}
#endif

}  // namespace

void note_run(const std::string& replay) {
    const std::size_t length = std::min(replay.size(), note.size() - 1);
    std::copy_n(replay.data(), length, note.data());
    note[length] = '\0';
}

void print_note() {
    write_text("  replay: ");
    write_text(note.data());
    write_text("\n");
}

void install_crash_handlers() {
#if defined(LOCKSTEP_SANITIZED)
    __sanitizer_set_death_callback(print_note);
#else
    // A stack of its own: a stack overflow is one of the crashes. Only the main thread gets it; others die silently then.
    static const auto stack = std::make_unique<std::array<char, 64 * 1024>>();
    stack_t alternative{};
    alternative.ss_sp = stack->data();
    alternative.ss_size = stack->size();
    ::sigaltstack(&alternative, nullptr);
    struct sigaction action{};
    action.sa_handler = on_crash;
    action.sa_flags = static_cast<int>(SA_ONSTACK | SA_RESETHAND);
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) ::sigaction(signal, &action, nullptr);
#endif
}

}  // namespace lockstep::sim::cli
