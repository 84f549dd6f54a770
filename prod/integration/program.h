// One of our programs, run by a test or a rehearsal: its output in a file, its end observable, dead at the latest when its
// owner is.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::prod::testing {

class Program {
public:
    using Environment = std::map<std::string, std::string>;

    /// Starts it. `environment` is all that it gets, PATH aside.
    Program(std::vector<std::string> command_line, Environment environment, std::filesystem::path output);
    ~Program();
    Program(Program&& other) noexcept;
    Program& operator=(Program&&) = delete;
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;

    /// -1 once its end has been noticed.
    [[nodiscard]] pid_t pid() const { return pid_; }
    void signal(int number) const;
    /// Its exit code (128 + signal when one ended it); nothing when it still runs after `patience`.
    std::optional<int> wait(std::chrono::milliseconds patience = std::chrono::seconds(30));
    void kill() {
        signal(9);
        wait();
    }
    [[nodiscard]] std::string output() const;
    /// Waits until its output contains `text`.
    bool says(const std::string& text, std::chrono::milliseconds patience = std::chrono::seconds(20));

private:
    pid_t pid_ = -1;
    std::filesystem::path output_;
};

}  // namespace lockstep::prod::testing
