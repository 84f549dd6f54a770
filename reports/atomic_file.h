// Output files that are either complete or not there: whoever watches for one never reads half of it, and a run that is
// interrupted leaves the previous one as it was.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace lockstep::reports {

/// A file that is written piece by piece. It is a temporary one beside its path, which `finish` syncs and renames; without
/// `finish` nothing is left of it. Missing folders are made. A symbolic link stays, and the file that it leads to is replaced. What
/// is no regular file (a device, a pipe), and the file that is the standard output already, is opened with the first write and
/// appended to directly.
class AtomicFile {
public:
    explicit AtomicFile(std::filesystem::path path);
    ~AtomicFile();
    AtomicFile(const AtomicFile&) = delete;
    AtomicFile& operator=(const AtomicFile&) = delete;

    /// The first failure is kept; what is written after it goes nowhere.
    void write(std::string_view content);
    /// The error names the path and the reason. REQUIRES: it has not been called before.
    [[nodiscard]] tl::expected<void, std::string> finish();

private:
    void open_temporary();
    void open_target();

    const std::filesystem::path path_;
    std::filesystem::path target_;  // the path, or what its links lead to
    std::string temporary_;         // empty: the target is written directly
    int file_ = -1;
    int failure_ = 0;  // errno
};

/// The whole content at once.
[[nodiscard]] tl::expected<void, std::string> write_atomically(const std::filesystem::path& path,
                                                               std::string_view content);

}  // namespace lockstep::reports
