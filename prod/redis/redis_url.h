// Where Redis is and how to log in, from a `redis://[user:password@]host[:port][/db]` URL.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace lockstep::prod {

struct RedisAddress {
    std::string host = "localhost";
    int port = 6379;
    std::string user;      // empty: the default user
    std::string password;  // empty: no AUTH
    int database = 0;

    /// For logs and messages: without the password.
    [[nodiscard]] std::string display() const;
};

/// Percent-encoding is undone in user and password. `rediss://` is refused by name: this build speaks no TLS to Redis, and
/// plain text in its place would be worse than an error.
[[nodiscard]] tl::expected<RedisAddress, std::string> parse_redis_url(std::string_view url);

}  // namespace lockstep::prod
