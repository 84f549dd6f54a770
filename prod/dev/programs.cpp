#include "prod/dev/programs.h"

#include <fmt/core.h>
#include <unistd.h>

#include <optional>
#include <sstream>
#include <vector>

namespace lockstep::prod {

namespace {

/// Where Debian puts servers, and not every user's PATH leads to.
constexpr const char* kSystemFolders = ":/usr/local/sbin:/usr/sbin:/sbin";

std::optional<std::filesystem::path> look_for(const std::string& name, const std::string& folders) {
    std::istringstream list(folders);
    for (std::string folder; std::getline(list, folder, ':');) {
        if (folder.empty()) continue;
        std::filesystem::path candidate = std::filesystem::path(folder) / name;
        if (::access(candidate.c_str(), X_OK) == 0) return candidate;
    }
    return std::nullopt;
}

}  // namespace

tl::expected<Programs, std::string> find_programs(const std::filesystem::path& beside, const std::string& path) {
    Programs found;
    std::vector<std::string> missing;
    for (const char* server : {"redis-server", "nats-server"}) {
        if (auto place = look_for(server, path + kSystemFolders))
            found[server] = std::move(*place);
        else
            missing.push_back(fmt::format(
                "{0} is not installed: apt-get install {0} (the Debian package has the same name)", server));
    }
    for (const char* ours : {"lockstep-kernel", "lockstepd", "lockstep-worker"}) {
        if (auto place = look_for(ours, beside.string() + ":" + path))
            found[ours] = std::move(*place);
        else
            missing.push_back(fmt::format(
                "{} is neither in {} nor on PATH: build it (./dev build), or install all of Lockstep into one folder",
                ours, beside.string()));
    }
    if (missing.empty()) return found;
    std::string text;
    for (const std::string& one : missing) text += (text.empty() ? "" : "\n") + one;
    return tl::make_unexpected(std::move(text));
}

}  // namespace lockstep::prod
