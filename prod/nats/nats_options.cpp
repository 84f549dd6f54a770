#include "prod/nats/nats_options.h"

#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <vector>

#include "prod/nats/nkey.h"

namespace lockstep::prod {

namespace {

std::vector<std::string> addresses(const std::string& url) {
    std::vector<std::string> out;
    std::string_view rest = url;
    while (!rest.empty()) {
        const auto comma = rest.find(',');
        std::string_view one = rest.substr(0, comma);
        while (one.starts_with(' ')) one.remove_prefix(1);
        while (one.ends_with(' ')) one.remove_suffix(1);
        if (!one.empty()) out.emplace_back(one);
        if (comma == std::string_view::npos) break;
        rest.remove_prefix(comma + 1);
    }
    return out;
}

/// Where the log-in or the host of an address begins.
std::size_t host_at(std::string_view address) {
    const auto scheme = address.find("://");
    return scheme == std::string_view::npos ? 0 : scheme + 3;
}

/// The list, parted before those that begin with a scheme only: a comma elsewhere may be one of a password.
std::vector<std::string> addresses_with_schemes(const std::string& url) {
    std::vector<std::string> out;
    for (std::string& one : addresses(url)) {
        if (out.empty() || host_at(one) > 0)
            out.push_back(std::move(one));
        else
            out.back() += "," + one;
    }
    return out;
}

bool is_number(std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// Of `host[:port]`; an IPv6 address stands in brackets.
bool port_is_number(std::string_view host) {
    const auto bracket = host.starts_with('[') ? host.find(']') : 0;
    if (bracket == std::string_view::npos) return false;
    const auto colon = host.find(':', bracket);
    return colon == std::string_view::npos || is_number(host.substr(colon + 1));
}

/// As it is where it looks like a host with its port: of anything else, a part may be a password.
std::string shown_host(std::string_view host) {
    constexpr std::string_view kOfHosts = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:[]";
    const bool plain = host.find_first_not_of(kOfHosts) == std::string_view::npos && port_is_number(host);
    return plain ? std::string(host) : "***";
}

natsStatus sign_nonce(char** error, unsigned char** signature, int* length, const char* nonce, void* seed) {
    (void)error;
    return nats_Sign(static_cast<const std::string*>(seed)->c_str(), nonce, signature, length);
}

}  // namespace

std::string display_url(const std::string& url) {
    std::string out;
    for (const std::string& one : addresses_with_schemes(url)) {
        const std::size_t host = host_at(one);
        const auto at = one.rfind('@');  // a password may hold others
        if (!out.empty()) out += ',';
        if (at != std::string::npos && at >= host) {
            out += one.substr(0, host) + "***@" + shown_host(std::string_view(one).substr(at + 1));
            continue;
        }
        std::string hosts;
        for (const std::string& part : addresses(one)) {
            const std::size_t from = host_at(part);
            hosts +=
                (hosts.empty() ? "" : ",") + part.substr(0, from) + shown_host(std::string_view(part).substr(from));
        }
        out += hosts;
    }
    return out;
}

std::string address_mistake(const std::string& url) {
    for (const std::string& one : addresses(url)) {
        const auto at = one.rfind('@');
        const std::string_view host = std::string_view(one).substr(at == std::string::npos ? host_at(one) : at + 1);
        // The library repeats a port that is none, and it may well be a password.
        if (!port_is_number(host))
            return "an address is not [nats://|tls://][user:password@]host[:port] with a number for the port; it is "
                   "not "
                   "shown, as there may be a password in it. A password with a comma belongs into NATS_PASSWORD, "
                   "beside NATS_USERNAME";
    }
    return {};
}

bool wants_tls(const std::string& url) {
    for (const std::string& one : addresses(url))
        if (one.starts_with("tls://")) return true;
    return false;
}

tl::expected<LibraryOptions, std::string> library_options(const NatsOptions& options,
                                                          const std::vector<std::string>& discovered) {
    natsOptions* raw = nullptr;
    if (natsOptions_Create(&raw) != NATS_OK) return tl::make_unexpected(std::string("out of memory"));
    LibraryOptions made{NatsOptionsPtr(raw, &natsOptions_Destroy), nullptr};

    natsStatus status = NATS_OK;
    std::string failed;
    const auto set = [&](natsStatus result, const char* what) {
        if (status != NATS_OK || result == NATS_OK) return;
        status = result;
        const char* last = nats_GetLastError(nullptr);
        failed = fmt::format("{}: {}", what, last != nullptr && *last != '\0' ? last : natsStatus_GetText(result));
    };
    const auto millis = [](engine::Duration d) { return engine::to_millis(d); };

    std::vector<std::string> list = addresses(options.url);
    if (list.empty()) return tl::make_unexpected(std::string("NATS_URL is empty"));
    if (const std::string wrong = address_mistake(options.url); !wrong.empty())
        return tl::make_unexpected("NATS_URL: " + wrong);
    for (const std::string& one : discovered)
        if (std::find(list.begin(), list.end(), one) == list.end()) list.push_back(one);
    std::vector<const char*> servers;
    for (const std::string& one : list) servers.push_back(one.c_str());
    set(natsOptions_SetServers(raw, servers.data(), static_cast<int>(servers.size())), "NATS_URL");
    set(natsOptions_SetName(raw, options.name.c_str()), "client name");
    set(natsOptions_SetTimeout(raw, millis(options.connect_timeout)), "connect timeout");
    // A connection that has ended stays so: see nats_link.h.
    set(natsOptions_SetAllowReconnect(raw, false), "reconnecting");
    set(natsOptions_SetPingInterval(raw, millis(options.ping_interval)), "ping interval");
    // Only the loop's thread ends a connection, also one whose server is silent. The library's timer would close the
    // socket while the loop reads from it.
    set(natsOptions_SetMaxPingsOut(raw, std::numeric_limits<int>::max()), "ping limit");
    set(natsOptions_SetIOBufSize(raw, 64 * 1024), "buffer size");
    set(natsOptions_SetSendAsap(raw, true), "send as soon as possible");
    // The library swallows "no responders" on our kind of subscription without saying for which request; the deadline
    // tells the same, later.
    set(natsOptions_DisableNoResponders(raw, true), "no responders");

    if (!options.credentials_file.empty()) {
        if (const std::ifstream readable(options.credentials_file); !readable)
            return tl::make_unexpected(fmt::format("NATS_CREDS: {} cannot be read", options.credentials_file));
        set(natsOptions_SetUserCredentialsFromFiles(raw, options.credentials_file.c_str(), nullptr), "NATS_CREDS");
    } else if (!options.user.empty() && !options.password.empty()) {
        set(natsOptions_SetUserInfo(raw, options.user.c_str(), options.password.c_str()),
            "NATS_USERNAME and NATS_PASSWORD");
    } else if (!options.token.empty()) {
        set(natsOptions_SetToken(raw, options.token.c_str()), "NATS_TOKEN");
    } else if (!options.nkey_seed.empty()) {
        const auto key = public_nkey(options.nkey_seed);
        if (!key) return tl::make_unexpected(fmt::format("NATS_NKEY: {}", key.error()));
        made.nkey_seed = std::make_unique<std::string>(options.nkey_seed);
        set(natsOptions_SetNKey(raw, key->c_str(), &sign_nonce, made.nkey_seed.get()), "NATS_NKEY");
    }

    if (wants_tls(options.url)) {
        set(natsOptions_SetSecure(raw, true), "TLS");
        if (!options.tls_ca.empty())
            set(natsOptions_LoadCATrustedCertificates(raw, options.tls_ca.c_str()), "NATS_TLS_CA");
        if (!options.tls_certificate.empty())
            set(natsOptions_LoadCertificatesChain(raw, options.tls_certificate.c_str(), options.tls_key.c_str()),
                "NATS_TLS_CERT and NATS_TLS_KEY");
        if (!options.tls_server_name.empty())
            set(natsOptions_SetExpectedHostname(raw, options.tls_server_name.c_str()), "NATS_TLS_SERVER_NAME");
        if (options.tls_insecure) set(natsOptions_SkipServerVerification(raw, true), "NATS_TLS_INSECURE");
    }
    if (status != NATS_OK) return tl::make_unexpected(failed);
    return made;
}

}  // namespace lockstep::prod
