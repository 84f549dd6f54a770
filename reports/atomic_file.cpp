#include "reports/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace lockstep::reports {

namespace {

namespace fs = std::filesystem;
using Written = tl::expected<void, std::string>;

tl::unexpected<std::string> failed(const fs::path& path, int error) {
    return tl::make_unexpected(
        fmt::format("cannot write {}: {}", path.string(), std::generic_category().message(error)));
}

bool write_all(int file, std::string_view content) {
    while (!content.empty()) {
        const ssize_t written = ::write(file, content.data(), content.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return false;
        content.remove_prefix(static_cast<std::size_t>(written));
    }
    return true;
}

Written write_directly(const fs::path& path, std::string_view content) {
    const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (file < 0) return failed(path, errno);
    const bool written = write_all(file, content);
    const int error = errno;
    ::close(file);
    if (!written) return failed(path, error);
    return {};
}

}  // namespace

Written write_atomically(const fs::path& path, std::string_view content) {
    std::error_code error;
    const auto status = fs::status(path, error);
    if (fs::exists(status) && !fs::is_regular_file(status)) return write_directly(path, content);
    if (path.has_parent_path()) fs::create_directories(path.parent_path(), error);

    // A link keeps pointing to the file that is replaced.
    const fs::path target = fs::exists(status) ? fs::canonical(path, error) : path;
    std::string temporary = target.string() + ".XXXXXX";
    const int file = ::mkostemp(temporary.data(), O_CLOEXEC);
    if (file < 0) return failed(path, errno);
    bool done = write_all(file, content) && ::fsync(file) == 0;
    // mkostemp makes files private; reports are for everybody that the user's mask lets in.
    const mode_t mask = ::umask(0);
    ::umask(mask);
    done = done && ::fchmod(file, 0666 & ~mask) == 0;
    int failure = errno;
    ::close(file);
    if (done && ::rename(temporary.c_str(), target.c_str()) != 0) {
        done = false;
        failure = errno;
    }
    if (done) return {};
    ::unlink(temporary.c_str());
    return failed(path, failure);
}

}  // namespace lockstep::reports
