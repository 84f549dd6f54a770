#include "prod/tls/tls_channel.h"

#include <fmt/core.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <array>

#include "engine/runtime/invariant.h"

namespace lockstep::prod {

namespace {

struct FreeContext {
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
using Context = std::unique_ptr<SSL_CTX, FreeContext>;

/// What OpenSSL said last; empty: nothing. It is forgotten.
std::string said() {
    const unsigned long code = ERR_peek_last_error();
    ERR_clear_error();
    if (code == 0) return {};
    const char* reason = ERR_reason_error_string(code);
    return reason != nullptr ? reason : fmt::format("error {:#x}", code);
}

tl::expected<Context, std::string> context_of(const TlsOptions& options) {
    ERR_clear_error();
    Context context(SSL_CTX_new(TLS_client_method()));
    const auto refuse = [](const std::string& what, const std::string& file) {
        const std::string why = said();
        return tl::make_unexpected(fmt::format("{} {}: {}", what, file, why.empty() ? "cannot be used" : why));
    };
    if (!context) return refuse("TLS", "");
    SSL_CTX_set_min_proto_version(context.get(), options.only_1_3 ? TLS1_3_VERSION : TLS1_2_VERSION);
    SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    if (options.ca_file.empty())
        SSL_CTX_set_default_verify_paths(context.get());
    else if (SSL_CTX_load_verify_locations(context.get(), options.ca_file.c_str(), nullptr) != 1)
        return refuse("the authorities in", options.ca_file);
    if (!options.certificate_file.empty()) {
        if (SSL_CTX_use_certificate_chain_file(context.get(), options.certificate_file.c_str()) != 1)
            return refuse("the certificate in", options.certificate_file);
        if (SSL_CTX_use_PrivateKey_file(context.get(), options.key_file.c_str(), SSL_FILETYPE_PEM) != 1)
            return refuse("the key in", options.key_file);
    }
    SSL_CTX_set_verify(context.get(), options.insecure ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, nullptr);
    return context;
}

/// Asks the server for this name, and its certificate to be for it. An address is looked for among the certificate's addresses.
bool expect_name(SSL* ssl, const std::string& name) {
    X509_VERIFY_PARAM* verified = SSL_get0_param(ssl);
    if (X509_VERIFY_PARAM_set1_ip_asc(verified, name.c_str()) == 1) return true;
    ERR_clear_error();
    X509_VERIFY_PARAM_set_hostflags(verified, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return X509_VERIFY_PARAM_set1_host(verified, name.c_str(), name.size()) == 1 &&
           SSL_set_tlsext_host_name(ssl, name.c_str()) == 1;
}

}  // namespace

TlsChannel::TlsChannel(SSL* ssl) : ssl_(ssl), from_server_(BIO_new(BIO_s_mem())), to_server_(BIO_new(BIO_s_mem())) {
    SSL_set_bio(ssl, from_server_, to_server_);
    SSL_set_connect_state(ssl);
}

tl::expected<std::unique_ptr<TlsChannel>, std::string> TlsChannel::open(const TlsOptions& options,
                                                                        const std::string& host) {
    auto context = context_of(options);
    if (!context) return tl::make_unexpected(std::move(context.error()));
    SSL* const ssl = SSL_new(context->get());
    if (ssl == nullptr) return tl::make_unexpected(fmt::format("TLS: {}", said()));
    std::unique_ptr<TlsChannel> channel(new TlsChannel(ssl));
    const std::string& name = options.server_name.empty() ? host : options.server_name;
    if (!expect_name(ssl, name))
        return tl::make_unexpected(fmt::format("TLS: \"{}\" is no name of a server: {}", name, said()));
    if (auto begun = channel->shake_hands(); !begun) return tl::make_unexpected(std::move(begun.error()));
    return channel;
}

tl::expected<void, std::string> TlsChannel::shake_hands() {
    ERR_clear_error();
    const int result = SSL_do_handshake(ssl_.get());
    if (result == 1 || SSL_get_error(ssl_.get(), result) == SSL_ERROR_WANT_READ) return {};
    return tl::make_unexpected(why(result));
}

std::string TlsChannel::why(int result) const {
    if (SSL_get_error(ssl_.get(), result) == SSL_ERROR_ZERO_RETURN) {
        ERR_clear_error();
        return "the server closed the connection";
    }
    const long verified = SSL_get_verify_result(ssl_.get());
    const std::string reason = said();
    if (!established() && verified != X509_V_OK && SSL_get_verify_mode(ssl_.get()) != SSL_VERIFY_NONE)
        return fmt::format("TLS: its certificate is not accepted: {}", X509_verify_cert_error_string(verified));
    return fmt::format("TLS: {}", reason.empty() ? "the connection broke" : reason);
}

tl::expected<void, std::string> TlsChannel::take(std::string_view bytes, std::string& plain) {
    const int taken = BIO_write(from_server_, bytes.data(), static_cast<int>(bytes.size()));
    INVARIANT(taken == static_cast<int>(bytes.size()), "TLS: {} of {} bytes were taken", taken, bytes.size());
    if (!established()) {
        if (auto shaken = shake_hands(); !shaken || !established()) return shaken;
    }
    std::array<char, std::size_t{16} * 1024> room;  // one record at most
    while (true) {
        ERR_clear_error();
        const int count = SSL_read(ssl_.get(), room.data(), static_cast<int>(room.size()));
        if (count > 0) {
            plain.append(room.data(), static_cast<std::size_t>(count));
            continue;
        }
        if (SSL_get_error(ssl_.get(), count) == SSL_ERROR_WANT_READ) return {};
        return tl::make_unexpected(why(count));
    }
}

tl::expected<void, std::string> TlsChannel::put(std::string_view plain) {
    PRECONDITION(established(), "{} plain bytes for a server that has not shown who it is", plain.size());
    while (!plain.empty()) {
        ERR_clear_error();
        constexpr std::size_t kAtOnce = std::size_t{1} << 20U;
        const int count = SSL_write(ssl_.get(), plain.data(), static_cast<int>(std::min(plain.size(), kAtOnce)));
        if (count <= 0) return tl::make_unexpected(why(count));
        plain.remove_prefix(static_cast<std::size_t>(count));
    }
    return {};
}

void TlsChannel::drain(std::string& out) {
    char* bytes = nullptr;
    const long count = BIO_get_mem_data(to_server_, &bytes);
    if (count <= 0) return;
    out.append(bytes, static_cast<std::size_t>(count));
    static_cast<void>(BIO_reset(to_server_));
}

std::string mistake_in(const TlsOptions& options) {
    if (options.certificate_file.empty() != options.key_file.empty())
        return "a certificate and its key belong together: name both files or none";
    const auto context = context_of(options);
    return context ? "" : context.error();
}

}  // namespace lockstep::prod
