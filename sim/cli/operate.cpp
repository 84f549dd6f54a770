#include "sim/cli/operate.h"

#include <unistd.h>

#include <filesystem>

namespace lockstep::sim::cli {

int exec_lockstepctl(const std::vector<std::string>& args) {
    constexpr const char* kProgram = "lockstepctl";
    std::vector<std::string> words{kProgram};
    words.insert(words.end(), args.begin(), args.end());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);

    std::error_code error;
    const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
    if (!error) ::execv((self.parent_path() / kProgram).c_str(), argv.data());
    ::execvp(kProgram, argv.data());
    return -1;
}

}  // namespace lockstep::sim::cli
