#include "prod/redis/tcp_transport.h"

#include <fmt/core.h>
#include <hiredis/hiredis.h>
#include <netdb.h>

#include <array>
#include <cstring>
#include <utility>

#include "engine/runtime/invariant.h"

namespace lockstep::prod {

namespace {

using engine::RedisValue;

/// A peer that vanished without a word is noticed even when nobody calls.
constexpr unsigned kKeepAliveSeconds = 15;

RedisValue value_of(const redisReply& reply) {
    switch (reply.type) {
        case REDIS_REPLY_STRING: return std::string(reply.str, reply.len);
        case REDIS_REPLY_INTEGER: return static_cast<std::int64_t>(reply.integer);
        case REDIS_REPLY_STATUS: return RedisValue::Status{std::string(reply.str, reply.len)};
        case REDIS_REPLY_ERROR: return RedisValue::Error{std::string(reply.str, reply.len)};
        case REDIS_REPLY_ARRAY: {
            RedisValue::Array elements;
            elements.reserve(reply.elements);
            for (std::size_t i = 0; i < reply.elements; ++i) elements.push_back(value_of(*reply.element[i]));
            return elements;
        }
        default: return {};
    }
}

/// Elements of one list. hiredis sets memory aside for as many as a list announces; no answer to this project's commands comes
/// near, and a server that announces more lies.
constexpr int kElementsMax = 1'000'000;

/// A reader that takes a list of more elements for a breach of the protocol.
redisReader* bounded_reader() {
    redisReader* reader = redisReaderCreate();
    if (reader == nullptr) return nullptr;
    static const redisReplyObjectFunctions kDefaults = *reader->fn;
    static redisReplyObjectFunctions bounded = [] {
        redisReplyObjectFunctions functions = kDefaults;
        functions.createArray = [](const redisReadTask* task, int elements) -> void* {
            return elements <= kElementsMax ? kDefaults.createArray(task, elements) : nullptr;
        };
        return functions;
    }();
    reader->fn = &bounded;
    return reader;
}

void append(std::string& out, char mark, std::size_t number) {
    fmt::format_to(std::back_inserter(out), "{}{}\r\n", mark, number);
}

void append(std::string& out, const engine::RedisCommand& command) {
    append(out, '*', command.size());
    for (const std::string& word : command) {
        append(out, '$', word.size());
        out += word;
        out += "\r\n";
    }
}

}  // namespace

struct TcpTransport::Lookup {
    uv_getaddrinfo_t request{};
    TcpTransport* owner = nullptr;  // null once nobody waits for the answer

    static void on_answer(uv_getaddrinfo_t* request, int status, addrinfo* found) {
        const std::unique_ptr<Lookup> self(static_cast<Lookup*>(request->data));
        std::vector<sockaddr_storage> addresses;
        for (const addrinfo* entry = found; entry != nullptr; entry = entry->ai_next) {
            sockaddr_storage& address = addresses.emplace_back();
            std::memcpy(&address, entry->ai_addr, entry->ai_addrlen);
        }
        uv_freeaddrinfo(found);
        if (self->owner == nullptr) return;
        self->owner->lookup_ = nullptr;
        self->owner->on_resolved({addresses.rbegin(), addresses.rend()},
                                 status < 0 ? uv_strerror(status) : "no address");
    }
};

/// One TCP socket and what has been read from it. After `leave` it tells nobody anything, and frees itself.
class TcpTransport::Socket {
public:
    /// Null when the loop has no more sockets to give.
    static Socket* make(TcpTransport& owner) {
        auto socket = std::unique_ptr<Socket>(new Socket(owner));
        if (uv_tcp_init(owner.loop_.uv(), &socket->tcp_) < 0) return nullptr;
        return socket.release();
    }

    int connect(const sockaddr_storage& address) {
        return uv_tcp_connect(&connecting_, &tcp_, reinterpret_cast<const sockaddr*>(&address),
                              [](uv_connect_t* request, int status) {
                                  auto* self = static_cast<Socket*>(request->data);
                                  if (self->owner_ != nullptr) self->owner_->on_connect(status);
                              });
    }

    int start() {
        uv_tcp_nodelay(&tcp_, 1);
        uv_tcp_keepalive(&tcp_, 1, kKeepAliveSeconds);
        return uv_read_start(stream(), &Socket::give_room, &Socket::on_read);
    }

    /// True: the bytes were a reply, or complete one, which is in `value`. `broken` says why nothing more can be read.
    bool next_reply(RedisValue& value, std::string& broken) {
        void* reply = nullptr;
        if (redisReaderGetReply(reader_.get(), &reply) != REDIS_OK) {
            broken = fmt::format("what it sends is no reply: {}", reader_->errstr);
            return false;
        }
        if (reply == nullptr) return false;
        value = value_of(*static_cast<redisReply*>(reply));
        freeReplyObject(reply);
        return true;
    }
    void feed(std::string_view bytes) { redisReaderFeed(reader_.get(), bytes.data(), bytes.size()); }

    /// Sends all of `bytes`, which come back empty, unless earlier ones are still on their way: then they stay.
    int send(std::string& bytes) {
        if (!in_write_.empty()) return 0;
        uv_buf_t buffer = uv_buf_init(bytes.data(), static_cast<unsigned>(bytes.size()));
        const int sent = uv_try_write(stream(), &buffer, 1);
        if (sent < 0 && sent != UV_EAGAIN) return sent;
        if (sent > 0) bytes.erase(0, static_cast<std::size_t>(sent));
        if (bytes.empty()) return 0;
        in_write_.swap(bytes);
        buffer = uv_buf_init(in_write_.data(), static_cast<unsigned>(in_write_.size()));
        return uv_write(&writing_, stream(), &buffer, 1, [](uv_write_t* request, int status) {
            auto* self = static_cast<Socket*>(request->data);
            self->in_write_.clear();
            if (self->owner_ == nullptr) return;
            if (status < 0)
                self->owner_->fail(uv_strerror(status));
            else
                self->owner_->flush();
        });
    }

    void leave() {
        owner_ = nullptr;
        uv_close(reinterpret_cast<uv_handle_t*>(&tcp_),
                 [](uv_handle_t* handle) { delete static_cast<Socket*>(handle->data); });
    }
    [[nodiscard]] bool left() const { return owner_ == nullptr; }

private:
    struct FreeReader {
        void operator()(redisReader* reader) const { redisReaderFree(reader); }
    };

    explicit Socket(TcpTransport& owner) : owner_(&owner), reader_(bounded_reader()) {
        tcp_.data = connecting_.data = writing_.data = this;
    }

    uv_stream_t* stream() { return reinterpret_cast<uv_stream_t*>(&tcp_); }

    static void give_room(uv_handle_t* handle, std::size_t, uv_buf_t* buffer) {
        auto& room = static_cast<Socket*>(handle->data)->room_;
        *buffer = uv_buf_init(room.data(), static_cast<unsigned>(room.size()));
    }
    static void on_read(uv_stream_t* stream, ssize_t count, const uv_buf_t* buffer) {
        const auto* self = static_cast<Socket*>(stream->data);
        if (self->owner_ == nullptr || count == 0) return;
        if (count < 0)
            self->owner_->fail(count == UV_EOF ? "the server closed the connection"
                                               : uv_strerror(static_cast<int>(count)));
        else
            self->owner_->on_bytes({buffer->base, static_cast<std::size_t>(count)});
    }

    TcpTransport* owner_;
    uv_tcp_t tcp_{};
    uv_connect_t connecting_{};
    uv_write_t writing_{};
    std::string in_write_;
    std::unique_ptr<redisReader, FreeReader> reader_;
    std::array<char, std::size_t{64} * 1024> room_{};
};

class TcpTransport::Telling {
public:
    explicit Telling(TcpTransport& transport) : depth_(transport.telling_) { ++depth_; }
    ~Telling() { --depth_; }
    Telling(const Telling&) = delete;
    Telling& operator=(const Telling&) = delete;

private:
    int& depth_;
};

TcpTransport::TcpTransport(UvLoop& loop, const RedisAddress& address)
    : loop_(loop),
      at_{address.host, address.port},
      tls_options_(address.tls),
      question_(address.sentinels.empty() ? nullptr : std::make_unique<SentinelQuestion>(loop, address)) {}

TcpTransport::~TcpTransport() { close(); }

void TcpTransport::tell(engine::RedisTransportListener& listener) {
    PRECONDITION(lookup_ == nullptr && socket_ == nullptr, "who is told what becomes of {}:{} changes on the way",
                 at_.host, at_.port);
    listener_ = &listener;
}

void TcpTransport::aim(RedisHost at) {
    PRECONDITION(lookup_ == nullptr && socket_ == nullptr, "an attempt on {}:{} is aimed at {}:{} on its way", at_.host,
                 at_.port, at.host, at.port);
    at_ = std::move(at);
}

void TcpTransport::connect() {
    PRECONDITION(listener_ != nullptr, "nobody would hear what becomes of the attempt on {}:{}", at_.host, at_.port);
    PRECONDITION(lookup_ == nullptr && socket_ == nullptr, "an attempt on {}:{} is under way already", at_.host,
                 at_.port);
    if (!question_) return look_up();
    question_->ask([this](SentinelQuestion::Answer primary) {
        if (!primary) return fail(std::move(primary.error()));
        aim(std::move(*primary));
        look_up();
    });
}

void TcpTransport::look_up() {
    lookup_ = new Lookup;
    lookup_->owner = this;
    lookup_->request.data = lookup_;
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    const int status = uv_getaddrinfo(loop_.uv(), &lookup_->request, &Lookup::on_answer, at_.host.c_str(),
                                      std::to_string(at_.port).c_str(), &hints);
    if (status >= 0) return;
    delete std::exchange(lookup_, nullptr);
    fail(fmt::format("cannot resolve {}: {}", at_.host, uv_strerror(status)));
}

void TcpTransport::on_resolved(std::vector<sockaddr_storage> addresses, const std::string& error) {
    addresses_ = std::move(addresses);
    if (addresses_.empty())
        fail(fmt::format("cannot resolve {}: {}", at_.host, error));
    else
        connect_next();
}

void TcpTransport::connect_next() {
    const sockaddr_storage address = addresses_.back();
    addresses_.pop_back();
    socket_ = Socket::make(*this);
    if (socket_ == nullptr) return fail("no socket can be opened");
    if (const int status = socket_->connect(address); status < 0) on_connect(status);
}

void TcpTransport::on_connect(int status) {
    if (status >= 0) status = socket_->start();
    if (status >= 0) {
        if (tls_options_) return begin_tls();
        const Telling telling(*this);
        return listener_->on_connected();
    }
    if (addresses_.empty()) return fail(uv_strerror(status));
    std::exchange(socket_, nullptr)->leave();
    connect_next();
}

void TcpTransport::begin_tls() {
    auto channel = TlsChannel::open(*tls_options_, at_.host);
    if (!channel) return fail(std::move(channel.error()));
    tls_ = std::move(*channel);
    flush();
}

bool TcpTransport::write(const engine::RedisCommands& commands) {
    if (socket_ == nullptr) return false;
    for (const engine::RedisCommand& command : *commands) append(unsent_, command);
    // What else is written in this round of the loop goes into the same packet.
    if (!flush_.queued()) loop_.post(flush_);
    return true;
}

void TcpTransport::flush() {
    if (socket_ == nullptr) return;
    if (tls_) {
        if (!unsent_.empty()) {
            if (auto put = tls_->put(unsent_); !put) return fail(std::move(put.error()));
            unsent_.clear();
        }
        tls_->drain(secret_);
    }
    std::string& bytes = tls_ ? secret_ : unsent_;
    if (bytes.empty()) return;
    if (const int status = socket_->send(bytes); status < 0) fail(uv_strerror(status));
}

void TcpTransport::on_bytes(std::string_view bytes) {
    if (tls_)
        on_secret(bytes);
    else
        on_plain(bytes);
}

void TcpTransport::on_secret(std::string_view bytes) {
    Socket* const socket = socket_;  // is not freed before the loop's next round
    const bool was_established = tls_->established();
    std::string plain;
    auto taken = tls_->take(bytes, plain);
    // Its part of the handshake, or why it does not go on.
    flush();
    if (!socket->left() && !was_established && tls_->established()) {
        const Telling telling(*this);
        listener_->on_connected();
    }
    if (!socket->left() && !plain.empty()) on_plain(plain);
    if (!taken && !socket->left()) fail(std::move(taken.error()));
}

void TcpTransport::on_plain(std::string_view bytes) {
    Socket* const socket = socket_;  // is not freed before the loop's next round
    socket->feed(bytes);
    RedisValue reply;
    std::string broken;
    while (!socket->left() && socket->next_reply(reply, broken)) {
        const Telling telling(*this);
        listener_->on_reply(std::exchange(reply, {}));
    }
    if (!broken.empty()) fail(std::move(broken));
}

void TcpTransport::fail(std::string why) {
    close();
    failure_ = std::move(why);
    loop_.post(failed_);
}

void TcpTransport::tell_failure() {
    const Telling telling(*this);
    listener_->on_closed(std::exchange(failure_, {}));
}

void TcpTransport::wake() {
    const Telling telling(*this);
    listener_->on_wake();
}

void TcpTransport::close() {
    failed_.withdraw();
    flush_.withdraw();
    unsent_.clear();
    secret_.clear();
    addresses_.clear();
    if (question_) question_->stop();
    if (lookup_ != nullptr) {
        lookup_->owner = nullptr;
        uv_cancel(reinterpret_cast<uv_req_t*>(&std::exchange(lookup_, nullptr)->request));
    }
    if (Socket* socket = std::exchange(socket_, nullptr)) socket->leave();
    tls_.reset();
}

void TcpTransport::wake_at(engine::MonoTime when) {
    alarm_.withdraw();
    loop_.post_at(alarm_, when);
}

}  // namespace lockstep::prod
