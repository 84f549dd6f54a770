// One program of a deployment: its output in a file, dead at the latest when we are.
//
// 1. It has a process group of its own: Ctrl-C at the terminal reaches us alone, and we say who ends when.
// 2. It is killed by the object's end, and by the kernel when this process dies. REQUIRES: the thread that makes the object lives
//    as long as it.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::prod {

class Child {
public:
    struct Start {
        std::string name;                      // as people are told of it, such as replica-1
        std::vector<std::string> words;        // the command line; the first is the path of the program
        std::vector<std::string> environment;  // NAME=value: all that it gets
        std::filesystem::path log;             // of its standard output and error
    };

    /// Throws std::system_error when there can be no process, or no file for what it says.
    explicit Child(Start start);
    /// SIGKILL where it still runs, and waits for its end.
    ~Child();
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    [[nodiscard]] const std::string& name() const { return start_.name; }
    [[nodiscard]] const std::filesystem::path& log() const { return start_.log; }
    /// -1 once its end has been noticed.
    [[nodiscard]] pid_t pid() const { return pid_; }
    void signal(int number) const;
    /// Its exit code, 128 + signal when one ended it; nothing while it runs. Does not wait.
    std::optional<int> ended();

    /// Whether these words stand in its log. Reads all of it: for the time of the start.
    [[nodiscard]] bool said(std::string_view words) const;
    /// The end of its log, each line with two spaces before it.
    [[nodiscard]] std::string last_lines(std::size_t count) const;

private:
    Start start_;
    pid_t pid_ = -1;
    std::optional<int> code_;
};

}  // namespace lockstep::prod
