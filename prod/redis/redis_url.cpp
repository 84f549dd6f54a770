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

constexpr int kServerPort = 6379;
constexpr int kSentinelPort = 26379;

std::string display_host(const RedisHost& host) {
    const bool ipv6 = host.host.find(':') != std::string::npos;
    return fmt::format("{}:{}", ipv6 ? "[" + host.host + "]" : host.host, host.port);
}

tl::expected<RedisHost, std::string> parse_host(std::string_view text, int otherwise) {
    RedisHost read{"localhost", otherwise};
    std::string_view port;
    if (text.starts_with('[')) {
        const auto close = text.find(']');
        if (close == std::string_view::npos) return tl::make_unexpected("missing ] after an IPv6 address");
        read.host = text.substr(1, close - 1);
        port = text.substr(close + 1);
    } else {
        const auto colon = text.find(':');
        read.host = text.substr(0, colon);
        port = colon == std::string_view::npos ? std::string_view() : text.substr(colon);
    }
    if (read.host.empty()) read.host = "localhost";
    if (port.empty()) return read;
    const auto number = port.starts_with(':') ? whole_number(port.substr(1), 65535) : std::nullopt;
    // What stands there is not repeated: without an @ behind it, it may well be a password.
    if (!number || *number == 0)
        return tl::make_unexpected(
            "the port must be a number from 1 to 65535 (a user and password stand before an @: user:password@host)");
    read.port = *number;
    return read;
}

struct Scheme {
    bool tls = false;
    bool sentinel = false;
};

/// Takes it from the front of the URL.
std::optional<Scheme> take_scheme(std::string_view& url) {
    const auto end = url.find("://");
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view name = url.substr(0, end);
    Scheme scheme{name.starts_with("rediss"), name.ends_with("-sentinel")};
    if (name != fmt::format("redis{}{}", scheme.tls ? "s" : "", scheme.sentinel ? "-sentinel" : ""))
        return std::nullopt;
    url.remove_prefix(end + 3);
    return scheme;
}

/// `host[:port][,host[:port]]…` of sentinels.
tl::expected<std::vector<RedisHost>, std::string> parse_hosts(std::string_view text) {
    std::vector<RedisHost> hosts;
    while (true) {
        const auto comma = text.find(',');
        auto host = parse_host(text.substr(0, comma), kSentinelPort);
        if (!host) return tl::make_unexpected(std::move(host.error()));
        hosts.push_back(std::move(*host));
        if (comma == std::string_view::npos) return hosts;
        text.remove_prefix(comma + 1);
    }
}

/// What stands behind the hosts: `/database`, or `/primary[/database]`. Empty: it is read.
std::string read_path(std::string_view path, bool sentinel, RedisAddress& address) {
    if (sentinel) {
        const auto slash = path.find('/');
        address.primary = path.substr(0, slash);
        if (address.primary.empty())
            return "which primary? Its name among the sentinels follows the hosts: "
                   "redis-sentinel://host:26379/mymaster";
        path = slash == std::string_view::npos ? std::string_view() : path.substr(slash + 1);
    }
    if (path.empty()) return {};
    const auto number = whole_number(path, 1'000'000);
    if (!number) return "the database must be a number (in a password write %2F for /)";
    address.database = *number;
    return {};
}

}  // namespace

std::string RedisAddress::display() const {
    const std::string login = password.empty() ? "" : "***@";
    const std::string base = database == 0 ? "" : fmt::format("/{}", database);
    const char* const secure = tls ? "s" : "";
    if (sentinels.empty()) return fmt::format("redis{}://{}{}{}", secure, login, display_host({host, port}), base);
    std::string hosts;
    for (const RedisHost& sentinel : sentinels) hosts += (hosts.empty() ? "" : ",") + display_host(sentinel);
    return fmt::format("redis{}-sentinel://{}{}/{}{}", secure, login, hosts, primary, base);
}

tl::expected<RedisAddress, std::string> parse_redis_url(std::string_view url) {
    const auto refuse = [](std::string why) { return tl::make_unexpected(std::move(why)); };
    std::string_view rest = url;
    const auto scheme = take_scheme(rest);
    if (!scheme)
        return refuse(
            "expected redis:// or, over TLS, rediss://, as in redis://[user:password@]host[:port][/database], or "
            "redis-sentinel:// or rediss-sentinel:// with "
            "[user:password@]host[:port][,host[:port]].../primary[/database]");
    if (const auto query = rest.find_first_of("?#"); query != std::string_view::npos)
        return refuse(
            fmt::format("options after the address ({}...) are not supported; in a password write %3F for ? and "
                        "%23 for #",
                        rest[query]));

    RedisAddress address;
    if (scheme->tls) address.tls.emplace();
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
    const auto slash = rest.find('/');
    const std::string_view path = slash == std::string_view::npos ? std::string_view() : rest.substr(slash + 1);
    if (std::string why = read_path(path, scheme->sentinel, address); !why.empty()) return refuse(std::move(why));
    const std::string_view hosts = rest.substr(0, slash);
    if (scheme->sentinel) {
        auto sentinels = parse_hosts(hosts);
        if (!sentinels) return refuse(std::move(sentinels.error()));
        address.sentinels = std::move(*sentinels);
        return address;
    }
    auto host = parse_host(hosts, kServerPort);
    if (!host) return refuse(std::move(host.error()));
    address.host = std::move(host->host);
    address.port = host->port;
    return address;
}

}  // namespace lockstep::prod
