#include "prod/config/kernel_target.h"

#include <arpa/inet.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace lockstep::prod {

namespace {

bool is_address(int family, std::string text) {
    std::array<unsigned char, sizeof(in6_addr)> bytes{};
    return inet_pton(family, text.c_str(), bytes.data()) == 1;
}

}  // namespace

tl::expected<std::string, std::string> kernel_target(const std::string& address) {
    if (address.find(',') == std::string::npos || address.starts_with("ipv4:") || address.starts_with("ipv6:"))
        return address;
    bool all_4 = true, all_6 = true;
    for (std::string_view rest = address; !rest.empty();) {
        const std::string_view one = rest.substr(0, rest.find(','));
        rest.remove_prefix(std::min(rest.size(), one.size() + 1));
        const std::string_view host = one.substr(0, one.rfind(':'));
        const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
        all_4 &= host.size() < one.size() && is_address(AF_INET, std::string(host));
        all_6 &= bracketed && is_address(AF_INET6, std::string(host.substr(1, host.size() - 2)));
    }
    if (all_4) return "ipv4:" + address;
    if (all_6) return "ipv6:" + address;
    return tl::make_unexpected(fmt::format(
        "of several, each is an IPv4 address with its port, or each an IPv6 one, got \"{}\"; for names use one "
        "that has all the addresses, such as dns:///kernel:50051",
        address));
}

}  // namespace lockstep::prod
