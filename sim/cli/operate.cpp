#include "sim/cli/operate.h"

#include <unistd.h>

#include <filesystem>

namespace lockstep::sim::cli {

namespace {

int exec_beside(const char* program, const std::vector<std::string>& args) {
    std::vector<std::string> words{program};
    words.insert(words.end(), args.begin(), args.end());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);

    std::error_code error;
    const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
    if (!error) ::execv((self.parent_path() / program).c_str(), argv.data());
    ::execvp(program, argv.data());
    return -1;
}

}  // namespace

int exec_lockstepctl(const std::vector<std::string>& args) { return exec_beside("lockstepctl", args); }

int exec_dev(const std::vector<std::string>& args) { return exec_beside("lockstep-dev", args); }

int exec_rehearsal(const std::vector<std::string>& args) { return exec_beside("lockstep-rehearsal", args); }

}  // namespace lockstep::sim::cli
