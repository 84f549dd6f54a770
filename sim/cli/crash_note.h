// A crash in the code under test still names the run that caused it: the signal's handler prints the replay command that
// the crashing thread had noted, completes the reports, and the process ends with the exit code of a failed harness.
#pragma once

#include <string>

namespace lockstep::sim::cli {

class UnfinishedReports;

/// For this thread, until noted anew. Kept in a buffer of fixed size: a handler must not touch the heap.
void note_run(const std::string& replay);

/// Handles SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT. Sanitizers keep theirs, whose reports say more; they call the same
/// message through `print_note`.
void install_crash_handlers();

/// The reports that a crash completes, of the whole process; null = none. They outlive this until it is told otherwise.
void keep_in_crash(UnfinishedReports* reports);

/// Writes the noted command to standard error; safe in a signal handler.
void print_note();

}  // namespace lockstep::sim::cli
