#include "reports/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace lockstep::reports {

namespace {

namespace fs = std::filesystem;

/// As many as the system follows.
constexpr int kLinksMax = 40;

/// The path itself, or where its symbolic links lead, whether there is anything or not; empty: in a circle.
fs::path behind_links(fs::path path) {
    std::error_code error;
    for (int i = 0; i < kLinksMax; ++i) {
        if (!fs::is_symlink(fs::symlink_status(path, error))) return path;
        path = path.parent_path() / fs::read_symlink(path, error);  // an absolute one takes the place of the whole
    }
    return {};
}

/// Whether a temporary file may take its place: a device or a pipe would be lost, and so would all that is still printed.
bool is_replaceable(const struct ::stat& there) {
    if (!S_ISREG(there.st_mode)) return false;
    for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
        struct ::stat printed{};
        if (::fstat(stream, &printed) == 0 && printed.st_dev == there.st_dev && printed.st_ino == there.st_ino)
            return false;
    }
    return true;
}

}  // namespace

AtomicFile::AtomicFile(fs::path path) : path_(std::move(path)), target_(behind_links(path_)) {
    struct ::stat there{};
    if (target_.empty())
        failure_ = ELOOP;
    else if (::stat(path_.c_str(), &there) != 0 || is_replaceable(there))
        open_temporary();
}

AtomicFile::~AtomicFile() {
    if (file_ < 0) return;
    ::close(file_);
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::open_temporary() {
    std::error_code error;
    if (target_.has_parent_path()) fs::create_directories(target_.parent_path(), error);
    temporary_ = target_.string() + ".XXXXXX";
    file_ = ::mkostemp(temporary_.data(), O_CLOEXEC);
    if (file_ < 0) failure_ = errno;
}

/// A pipe blocks here until it has a reader.
void AtomicFile::open_target() {
    if (failure_ != 0 || file_ >= 0) return;
    file_ = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    if (file_ < 0) failure_ = errno;
}

void AtomicFile::write(std::string_view content) {
    open_target();
    while (failure_ == 0 && !content.empty()) {
        const ssize_t written = ::write(file_, content.data(), content.size());
        if (written >= 0)
            content.remove_prefix(static_cast<std::size_t>(written));
        else if (errno != EINTR)
            failure_ = errno;
    }
}

tl::expected<void, std::string> AtomicFile::finish() {
    open_target();
    const int file = std::exchange(file_, -1);
    const auto keep_failure = [this](int result) {
        if (result != 0 && failure_ == 0) failure_ = errno;
    };
    const bool beside = file >= 0 && !temporary_.empty();
    if (beside) {
        keep_failure(::fsync(file));
        // mkostemp makes files private; reports are for everybody that the user's mask lets in.
        const mode_t mask = ::umask(0);
        ::umask(mask);
        keep_failure(::fchmod(file, 0666 & ~mask));
    }
    if (file >= 0) keep_failure(::close(file));
    if (beside && failure_ == 0) keep_failure(::rename(temporary_.c_str(), target_.c_str()));
    if (failure_ == 0) return {};
    if (beside) ::unlink(temporary_.c_str());
    return tl::make_unexpected(
        fmt::format("cannot write {}: {}", path_.string(), std::generic_category().message(failure_)));
}

tl::expected<void, std::string> write_atomically(const fs::path& path, std::string_view content) {
    AtomicFile file(path);
    file.write(content);
    return file.finish();
}

}  // namespace lockstep::reports
