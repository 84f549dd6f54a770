// The three standard streams of a program, from its first instruction to its exit code. Every program's `main` begins with
// `run_program`, or with `open_standard_streams` where it checks its own output at the end.
#pragma once

namespace lockstep::usage {

/// Exit code of a program whose standard output could not be written completely.
inline constexpr int kOutputLost = 2;

/// Makes sure that descriptors 0 to 2 are open, before the program opens a file or a socket, which would otherwise get one of
/// these numbers and then all that is printed. A closed standard input or output is replaced by one that cannot be read or
/// written, so that its use fails; a closed standard error by one that discards.
void open_standard_streams();

/// Runs `program`, the body of `main`, and returns the exit code of the process. Standard output and standard error never throw
/// meanwhile, whatever they are: the work goes on, and output that was lost is reported at the end, on standard error under
/// `name`, with `kOutputLost` instead of the code of `program`.
int run_program(const char* name, int argc, char** argv, int (*program)(int argc, char** argv));

/// Whether standard output has failed since `run_program` began: for what would print for ever.
[[nodiscard]] bool output_lost();

}  // namespace lockstep::usage
