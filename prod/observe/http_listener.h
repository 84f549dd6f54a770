// A listener for short HTTP requests: one thread that waits for all connections at once, so that nobody who is slow keeps
// anybody else waiting.
//
//   1. GET and HEAD, one request for each connection, which is closed behind the answer.
//   2. Whoever connects can keep neither memory nor time to itself: a request is bounded in bytes, and every connection has
//      `Limits::patience` for its request and as much again for taking the answer.
//   3. One client has at most `Limits::per_client` connections and all have `Limits::connections`. Beyond that the one is closed
//      that has waited longest without a whole request, of the client that has most: who has asked gets its answer.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace lockstep::prod {

struct HttpAnswer {
    int status = 200;
    std::string type = "text/plain";
    std::shared_ptr<const std::string> body;  // may be shared by many answers
};

class HttpListener {
public:
    struct Limits {
        std::size_t connections = 128;
        std::size_t per_client = 96;
        std::size_t request_bytes = 16 * 1024;  // of a request with its headers
        std::chrono::milliseconds patience{5000};
    };
    /// Names a request until it is answered.
    using Ticket = std::uint64_t;
    /// Called on the listener's thread, and must not block: whoever needs time answers later. `target` is a path, with its query.
    using Handler = std::function<void(std::string_view target, Ticket ticket)>;

    /// `host` may be a name, an address, or empty for all interfaces; port 0 takes a free one. Nobody is heard before `start`.
    static tl::expected<std::unique_ptr<HttpListener>, std::string> bind(const std::string& host, int port,
                                                                         Limits limits);
    ~HttpListener();
    HttpListener(const HttpListener&) = delete;
    HttpListener& operator=(const HttpListener&) = delete;

    /// REQUIRES: called once.
    void start(Handler handler);
    /// Hangs up on everybody; the handler is not called any more. What is answered from now on goes nowhere.
    void stop();
    /// Any thread, once for each ticket. Nothing happens when its client has gone.
    void answer(Ticket ticket, HttpAnswer answer);

    [[nodiscard]] int port() const;

private:
    class Server;
    explicit HttpListener(std::unique_ptr<Server> server);
    std::unique_ptr<Server> server_;
};

}  // namespace lockstep::prod
