// Where Redis is and how to log in:
//
//     redis://[user:password@]host[:port][/database]
//     rediss://...                                     the same over TLS
//     redis-sentinel://[user:password@]host[:port][,host[:port]]…/primary[/database]
//     rediss-sentinel://...                            the same over TLS, to sentinels as well
//
// User and password are those of the server; sentinels have their own.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "prod/tls/tls_channel.h"

namespace lockstep::prod {

struct RedisHost {
    std::string host = "localhost";
    int port = 6379;
};

struct RedisAddress {
    std::string host = "localhost";
    int port = 6379;
    std::string user;      // empty: the default user
    std::string password;  // empty: no AUTH
    int database = 0;
    std::optional<TlsOptions> tls{};     // nothing: plain text
    std::vector<RedisHost> sentinels{};  // who knows where the server is; none: `host` is the server
    std::string primary{};               // the name by which the sentinels know it
    std::string sentinel_user{};         // as above
    std::string sentinel_password{};

    /// For logs and messages: without the password.
    [[nodiscard]] std::string display() const;
};

/// Percent-encoding is undone in user and password. Of TLS it knows only whether it is asked for. The error repeats nothing of the URL:
/// in a malformed one, any part may be the password.
[[nodiscard]] tl::expected<RedisAddress, std::string> parse_redis_url(std::string_view url);

}  // namespace lockstep::prod
