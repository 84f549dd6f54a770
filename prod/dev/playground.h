// A deployment on loopback ports and in a folder of its own: Redis, NATS, the kernel, replicas and workers, each a process.
//
// 1. Nothing of it outlives the object: processes are killed, and the folder is removed unless it is to be kept.
// 2. It is of one thread, which starts it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "engine/runtime/task.h"
#include "prod/dev/child.h"
#include "prod/dev/dev_options.h"
#include "prod/dev/loopback_port.h"
#include "prod/dev/programs.h"
#include "prod/loop/uv_loop.h"

namespace lockstep::prod {

/// A folder below the system's folder for temporary files, removed with all that is in it unless it is to be kept.
class DevFolder {
public:
    explicit DevFolder(bool keep);
    DevFolder(const DevFolder&) = delete;
    DevFolder& operator=(const DevFolder&) = delete;
    ~DevFolder();
    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

private:
    std::filesystem::path path_;
    bool keep_;
};

class Playground {
public:
    /// Takes ports, makes the folder and writes the files; starts nothing. Throws std::runtime_error that says which option names
    /// what cannot be had.
    Playground(DevOptions options, Programs programs);

    /// Starts everything in its order and waits until all is ready. False: something is not, and `broken` says what.
    [[nodiscard]] engine::Task<bool> start();
    /// Takes note of the processes that have ended: to be called when one has.
    void look();
    /// Why it cannot go on: a part that has no process left, or that did not come up. Empty: it can.
    [[nodiscard]] const std::string& broken() const { return broken_; }
    /// Ends that others make up for, since the last call: a line each.
    [[nodiscard]] std::vector<std::string> news();
    /// Ends everything, workers and replicas first, and waits for it; kills what is left once `hurried`.
    void stop(UvLoop& loop, const std::function<bool()>& hurried);

    [[nodiscard]] std::string redis_url() const;
    [[nodiscard]] std::string nats_url() const;
    [[nodiscard]] int replicas_running() const { return running(Part::replica); }
    /// Addresses, and what to type in another terminal.
    [[nodiscard]] std::string introduction() const;

private:
    enum class Part : std::uint8_t { redis, nats, kernel, replica, worker };
    struct Place {
        Part part;
        std::unique_ptr<Child> child;
        std::string ready;     // words in its log that say so; empty: it is asked at its port
        int port = 0;          // that it serves; 0: none
        bool noticed = false;  // its end
    };

    void take_ports();
    void write_files();
    /// What we tell programs of the deployment by their environment.
    [[nodiscard]] std::map<std::string, std::string> settings(bool of_replica, int metrics_port) const;
    [[nodiscard]] std::vector<std::string> environment(bool of_replica, int metrics_port) const;
    void launch(Part part, const std::string& name, const char* program, std::vector<std::string> arguments, int port,
                std::string ready);
    void launch_redis();
    void launch_nats();
    void launch_kernel();
    void launch_replica(int number);
    void launch_worker(const std::string& pool, int number);
    [[nodiscard]] static bool is_ready(const Place& place);
    /// False: one has ended, or is not ready in time, and `broken` says so.
    [[nodiscard]] engine::Task<bool> all_ready();
    [[nodiscard]] std::string last_words(const Child& child) const;
    [[nodiscard]] int running(Part part) const;

    const DevOptions options_;
    const Programs programs_;
    DevFolder folder_;
    std::unique_ptr<LoopbackPort> redis_port_;
    std::unique_ptr<LoopbackPort> nats_port_;
    std::unique_ptr<LoopbackPort> kernel_port_;
    std::vector<std::unique_ptr<LoopbackPort>> metrics_ports_;
    std::filesystem::path policy_file_;
    std::filesystem::path pools_file_;
    std::filesystem::path timeouts_file_;
    std::set<std::string> pools_;  // that topics name
    bool started_ = false;
    bool stopping_ = false;
    std::string broken_;
    std::vector<std::string> news_;
    std::vector<Place> places_;  // last: killed before the folder goes
};

}  // namespace lockstep::prod
