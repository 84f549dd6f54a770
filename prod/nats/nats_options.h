// How to reach NATS and what to make of it.
#pragma once

#include <nats/nats.h>

#include <memory>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "engine/bus/connection_policy.h"
#include "engine/runtime/time.h"

namespace lockstep::prod {

struct NatsOptions {
    std::string url = "nats://localhost:4222";  // or several, separated by commas
    std::string name = "cordum-bus";
    // The first of these that is complete is used: credentials file, user and password, token, NKey seed.
    std::string credentials_file;  // token and seed, as `nsc` writes them; read anew for every connection
    std::string user;
    std::string password;
    std::string token;
    std::string nkey_seed;
    // Used with tls:// addresses only.
    std::string tls_ca;
    std::string tls_certificate;
    std::string tls_key;
    std::string tls_server_name;
    bool tls_insecure = false;

    bool jetstream = true;  // without it every subject is plain NATS, at most once
    engine::Duration max_age = std::chrono::hours(168);
    int replicas = 1;

    engine::Duration connect_timeout = std::chrono::seconds(2);
    /// When to connect again and when to give up (see the policy).
    engine::ConnectionPolicyOptions policy{};
    /// A server that gives no sign of life for this long, twice, is given up. Why 10 s: until then a message that may or may
    /// not have reached it cannot be looked up or sent again, and the engine gives up after 100 s.
    engine::Duration ping_interval = std::chrono::seconds(10);
    /// How often a consumer's binding is compared with what the server has. One small request per consumer; a durable
    /// that a peer has deleted delivers nothing until then.
    engine::Duration binding_check = std::chrono::seconds(15);
};

using NatsOptionsPtr = std::unique_ptr<natsOptions, decltype(&natsOptions_Destroy)>;

/// The library's form of our options.
struct LibraryOptions {
    NatsOptionsPtr options;
    /// What the library signs with, without a copy of its own: keep it until it has connected.
    std::unique_ptr<std::string> nkey_seed;
};

/// `discovered` are further addresses, which a server of the cluster has told of; they are logged in to with the same
/// credentials. The error says which setting is wrong and never contains a secret.
[[nodiscard]] tl::expected<LibraryOptions, std::string> library_options(
    const NatsOptions& options, const std::vector<std::string>& discovered = {});

/// For logs and messages: the addresses without user and password, and with `***` for what may be a part of one.
[[nodiscard]] std::string display_url(const std::string& url);
/// Why an address in the list cannot be one, without repeating it; empty: each may be.
[[nodiscard]] std::string address_mistake(const std::string& url);

/// Whether any of the addresses asks for TLS.
[[nodiscard]] bool wants_tls(const std::string& url);

}  // namespace lockstep::prod
