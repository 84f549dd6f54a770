#include "reports/usage/standard_streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <system_error>
#include <utility>

namespace lockstep::usage {

namespace {

bool is_closed(int descriptor) { return ::fcntl(descriptor, F_GETFD) < 0 && errno == EBADF; }

/// Takes the place of one of C's streams and never fails: fmt::print throws where a write does, and would end the program in the
/// middle of its work. The first failure is kept. Nothing is destroyed: threads of libraries may print while the program ends.
class LenientStream {
public:
    LenientStream(std::FILE*& stream, int descriptor, int buffering) : original_(stream), descriptor_(descriptor) {
        own_ = ::fopencookie(this, "w", {.read = nullptr, .write = write, .seek = nullptr, .close = nullptr});
        if (own_ == nullptr) return;
        std::setvbuf(own_, nullptr, buffering, BUFSIZ);
        stream = own_;
    }

    /// The errno of the first write that failed, whatever still stood in a buffer included; 0: none did.
    int failure() {
        if (own_ != nullptr) std::fflush(own_);
        // Whatever goes through the streams of C++, which keep the stream of C that they began with.
        if (std::fflush(original_) != 0 && failure_ == 0) failure_ = errno;
        if (std::ferror(original_) != 0 && failure_ == 0) failure_ = EIO;
        return failure_;
    }

private:
    static ssize_t write(void* self, const char* text, std::size_t size) {
        auto& stream = *static_cast<LenientStream*>(self);
        for (std::size_t done = 0; done < size && stream.failure_ == 0;) {
            const ssize_t written = ::write(stream.descriptor_, text + done, size - done);
            if (written >= 0)
                done += static_cast<std::size_t>(written);
            else if (errno != EINTR)
                stream.failure_ = errno;
        }
        return static_cast<ssize_t>(size);
    }

    std::FILE* const original_;
    const int descriptor_;
    std::FILE* own_ = nullptr;
    int failure_ = 0;
};

/// That of standard output, of which a process has one; null before `run_program`.
LenientStream* output = nullptr;

}  // namespace

void open_standard_streams() {
    // Opened in the direction that no program uses, so that the use fails. A free descriptor is the lowest one.
    for (const auto& [descriptor, mode] :
         {std::pair(STDIN_FILENO, O_WRONLY), std::pair(STDOUT_FILENO, O_RDONLY), std::pair(STDERR_FILENO, O_WRONLY)})
        if (is_closed(descriptor) && ::open("/dev/null", mode) != descriptor) std::_Exit(kOutputLost);
}

int run_program(const char* name, int argc, char** argv, int (*program)(int argc, char** argv)) {
    open_standard_streams();
    static LenientStream out(stdout, STDOUT_FILENO, ::isatty(STDOUT_FILENO) != 0 ? _IOLBF : _IOFBF);
    static LenientStream errors(stderr, STDERR_FILENO, _IONBF);
    output = &out;
    const int code = program(argc, argv);
    const int failure = output->failure();
    if (failure == 0) return code;
    std::cerr << name << ": standard output cannot be written (" << std::generic_category().message(failure)
              << "): what was printed there is not complete\n";
    return kOutputLost;
}

bool output_lost() { return output != nullptr && output->failure() != 0; }

}  // namespace lockstep::usage
