// Carries Redis commands and replies over TCP, in plain text or by TLS: libuv moves the bytes, hiredis reads the replies. For every
// attempt it asks the sentinels anew, where the address names some, resolves the name anew, asynchronously, and tries its addresses
// in turn; everything else is decided by its owner.
#pragma once

#include <sys/socket.h>

#include <memory>
#include <string>
#include <vector>

#include "engine/redis/transport.h"
#include "prod/loop/uv_loop.h"
#include "prod/redis/redis_url.h"
#include "prod/redis/sentinel_question.h"

namespace lockstep::prod {

class TcpTransport final : public engine::RedisTransport {
public:
    /// The loop outlives the transport.
    TcpTransport(UvLoop& loop, const RedisAddress& address);
    ~TcpTransport() override;
    TcpTransport(const TcpTransport&) = delete;
    TcpTransport& operator=(const TcpTransport&) = delete;

    /// Who is told what happens. REQUIRES: before the first attempt.
    void tell(engine::RedisTransportListener& listener);
    /// Where the next attempt goes. REQUIRES: none is under way, and there is no connection.
    void aim(RedisHost at);

    void connect() override;
    [[nodiscard]] bool write(const engine::RedisCommands& commands) override;
    void close() override;
    [[nodiscard]] engine::MonoTime now() const override { return loop_.monotonic(); }
    /// Whether the listener is being told something.
    [[nodiscard]] bool telling() const { return telling_ > 0; }
    void wake_at(engine::MonoTime when) override;

private:
    struct Lookup;
    class Socket;
    class Telling;

    /// Work that calls one function.
    class Call final : public engine::Work {
    public:
        Call(TcpTransport& owner, void (TcpTransport::*what)()) : owner_(owner), what_(what) {}

    private:
        void run() override { (owner_.*what_)(); }
        TcpTransport& owner_;
        void (TcpTransport::*what_)();
    };

    void look_up();
    void on_resolved(std::vector<sockaddr_storage> addresses, const std::string& error);
    void connect_next();
    void on_connect(int status);
    void on_bytes(std::string_view bytes);
    void on_secret(std::string_view bytes);
    void on_plain(std::string_view bytes);
    void begin_tls();
    /// Ends the attempt or the connection, and says so.
    void fail(std::string why);
    void tell_failure();
    void wake();
    void flush();

    UvLoop& loop_;
    RedisHost at_;
    const std::optional<TlsOptions> tls_options_;
    const std::unique_ptr<SentinelQuestion> question_;  // null: nobody is asked where it is
    engine::RedisTransportListener* listener_ = nullptr;
    int telling_ = 0;  // calls of the listener that have not returned

    Lookup* lookup_ = nullptr;                 // frees itself when libuv is done with it
    std::vector<sockaddr_storage> addresses_;  // of this attempt, still to try, the next one last
    Socket* socket_ = nullptr;                 // frees itself when libuv is done with it
    std::unique_ptr<TlsChannel> tls_;          // of this socket
    std::string unsent_;                       // written since the last flush
    std::string secret_;                       // what it has become by TLS
    std::string failure_;
    Call alarm_{*this, &TcpTransport::wake};
    Call flush_{*this, &TcpTransport::flush};
    Call failed_{*this, &TcpTransport::tell_failure};
};

}  // namespace lockstep::prod
