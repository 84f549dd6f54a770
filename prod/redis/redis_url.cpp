#include "prod/redis/redis_url.h"

#include <fmt/core.h>

#include <charconv>
#include <optional>

namespace lockstep::prod {

namespace {

std::optional<int> whole_number(std::string_view text, int max) {
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || value < 0 || value > max) return std::nullopt;
    return value;
}

std::optional<std::string> percent_decode(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            out += text[i];
            continue;
        }
        int byte = 0;
        if (i + 2 >= text.size()) return std::nullopt;
        const auto [end, error] = std::from_chars(text.data() + i + 1, text.data() + i + 3, byte, 16);
        if (error != std::errc{} || end != text.data() + i + 3) return std::nullopt;
        out += static_cast<char>(byte);
        i += 2;
    }
    return out;
}

}  // namespace

std::string RedisAddress::display() const {
    const bool ipv6 = host.find(':') != std::string::npos;
    return fmt::format("redis://{}{}:{}{}", password.empty() ? "" : "***@", ipv6 ? "[" + host + "]" : host, port,
                       database == 0 ? "" : fmt::format("/{}", database));
}

tl::expected<RedisAddress, std::string> parse_redis_url(std::string_view url) {
    const auto refuse = [](std::string why) { return tl::make_unexpected(std::move(why)); };
    if (url.starts_with("rediss://"))
        return refuse(
            "rediss:// needs TLS, which this build does not speak to Redis; use redis:// over a private network "
            "or put a TLS proxy (stunnel, envoy) beside this process");
    constexpr std::string_view kScheme = "redis://";
    if (!url.starts_with(kScheme)) return refuse("expected redis://[user:password@]host[:port][/database]");
    std::string_view rest = url.substr(kScheme.size());
    if (const auto query = rest.find_first_of("?#"); query != std::string_view::npos)
        return refuse(
            fmt::format("options after the address ({}...) are not supported; in a password write %3F for ? and "
                        "%23 for #",
                        rest[query]));

    RedisAddress address;
    if (const auto at = rest.rfind('@'); at != std::string_view::npos) {
        const std::string_view login = rest.substr(0, at);
        rest.remove_prefix(at + 1);
        const auto colon = login.find(':');
        const auto user = percent_decode(login.substr(0, colon));
        const auto password = colon == std::string_view::npos ? std::string() : percent_decode(login.substr(colon + 1));
        if (!user || !password) return refuse("malformed percent-encoding in user or password");
        address.user = *user;
        address.password = *password;
    }
    if (const auto slash = rest.find('/'); slash != std::string_view::npos) {
        const std::string_view database = rest.substr(slash + 1);
        rest = rest.substr(0, slash);
        if (!database.empty()) {
            const auto number = whole_number(database, 1'000'000);
            if (!number) return refuse(fmt::format("the database must be a number, got \"{}\"", database));
            address.database = *number;
        }
    }
    std::string_view port;
    if (rest.starts_with('[')) {
        const auto close = rest.find(']');
        if (close == std::string_view::npos) return refuse("missing ] after an IPv6 address");
        address.host = rest.substr(1, close - 1);
        port = rest.substr(close + 1);
    } else {
        const auto colon = rest.find(':');
        address.host = rest.substr(0, colon);
        port = colon == std::string_view::npos ? std::string_view() : rest.substr(colon);
    }
    if (address.host.empty()) address.host = "localhost";
    if (!port.empty()) {
        const auto number = port.starts_with(':') ? whole_number(port.substr(1), 65535) : std::nullopt;
        if (!number || *number == 0) return refuse(fmt::format("the port must be a number, got \"{}\"", port));
        address.port = *number;
    }
    return address;
}

}  // namespace lockstep::prod
