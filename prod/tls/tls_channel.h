// TLS over bytes that somebody else carries, by OpenSSL: TCP brings and takes what is secret, its owner what is plain.
//
// 1. The server's certificate must be of an authority that is trusted, and be for the name that was asked for, before a byte is sent.
// 2. Files are read for each channel: what has been renewed on disk counts from the next connection on.
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace lockstep::prod {

struct TlsOptions {
    std::string ca_file;           // PEM of the authorities to trust; empty: those that this machine trusts
    std::string certificate_file;  // PEM, with its chain, for servers that ask who calls; empty: none
    std::string key_file;          // PEM; set together with the certificate
    std::string server_name;       // for whom the certificate must be; empty: for the host that is called
    bool insecure = false;         // whoever answers is believed
    bool only_1_3 = false;         // TLS 1.2 is refused
};

class TlsChannel {
public:
    /// Begins as a client towards `host`, a name or an address. The error names the file that cannot be used, and why.
    [[nodiscard]] static tl::expected<std::unique_ptr<TlsChannel>, std::string> open(const TlsOptions& options,
                                                                                     const std::string& host);

    /// Bytes from the server. What they say is appended to `plain`, also where an error follows. The error says why nothing more can
    /// come: the certificate is not trusted, say, or the server has ended the connection.
    [[nodiscard]] tl::expected<void, std::string> take(std::string_view bytes, std::string& plain);
    /// Plain text for the server. REQUIRES: established.
    [[nodiscard]] tl::expected<void, std::string> put(std::string_view plain);
    /// Moves to the end of `out` what is to be sent to the server.
    void drain(std::string& out);
    /// The server has shown who it is, and plain text can be exchanged.
    [[nodiscard]] bool established() const { return SSL_is_init_finished(ssl_.get()) != 0; }

private:
    struct Free {
        void operator()(SSL* ssl) const { SSL_free(ssl); }
    };
    explicit TlsChannel(SSL* ssl);
    [[nodiscard]] tl::expected<void, std::string> shake_hands();
    [[nodiscard]] std::string why(int result) const;

    std::unique_ptr<SSL, Free> ssl_;
    BIO* from_server_;  // the SSL's
    BIO* to_server_;    // the SSL's
};

/// What is wrong with the files that the options name; empty: nothing.
[[nodiscard]] std::string mistake_in(const TlsOptions& options);

}  // namespace lockstep::prod
