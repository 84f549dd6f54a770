// A TCP relay on the loopback interface, whose connections a test cuts and which it makes refuse new ones: what a real
// network does to a real client. For tests only.
#pragma once

#include <functional>
#include <future>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "fakes/testing/server_process.h"

namespace lockstep::prod {

class TcpRelay {
public:
    /// Relays to this port of 127.0.0.1 from now on.
    explicit TcpRelay(int target);
    TcpRelay(const TcpRelay&) = delete;
    TcpRelay& operator=(const TcpRelay&) = delete;
    ~TcpRelay();

    [[nodiscard]] int port() const { return reserved_.number(); }
    /// Each of these is done when it returns.
    void cut();
    void refuse();
    void accept_again();
    /// Lets this many more bytes of the server through and cuts the connection on which the next one comes. Connections
    /// after that are whole.
    void cut_after(std::size_t bytes);

private:
    struct Pair {
        int client = -1;
        int server = -1;
    };

    void run();
    /// Has the thread do something between two looks at its sockets.
    void ask(std::function<void()> what);
    void listen();
    void take_requests();
    void accept_one();
    static bool relay(int from, int to);
    bool relay_answer(int from, int to);
    void close_all();

    fakes::testing::ReservedPort reserved_;
    const int target_;
    int wake_ = -1;
    std::mutex mutex_;
    std::vector<std::packaged_task<void()>> requests_;  // guarded by mutex_
    // The thread's own.
    int listener_ = -1;
    std::list<Pair> pairs_;
    std::optional<std::size_t> allowance_;  // bytes of the server until the cut
    bool stopped_ = false;
    std::thread thread_;
};

}  // namespace lockstep::prod
