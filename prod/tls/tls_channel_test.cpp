// A channel against OpenSSL's server side, in memory.
#include "prod/tls/tls_channel.h"

#include <gmock/gmock.h>

#include <fstream>

#include "fakes/testing/server_process.h"
#include "prod/tls/test_authority.h"

namespace lockstep::prod {
namespace {

using ::testing::HasSubstr;

/// The other side: says back what it hears, in capitals.
class Server {
public:
    Server(const TestAuthority::Files& files, int most, const std::string& trusted_clients = "")
        : context_(SSL_CTX_new(TLS_server_method()), SSL_CTX_free) {
        SSL_CTX_set_max_proto_version(context_.get(), most);
        EXPECT_EQ(SSL_CTX_use_certificate_chain_file(context_.get(), files.certificate.c_str()), 1);
        EXPECT_EQ(SSL_CTX_use_PrivateKey_file(context_.get(), files.key.c_str(), SSL_FILETYPE_PEM), 1);
        if (!trusted_clients.empty()) {
            EXPECT_EQ(SSL_CTX_load_verify_locations(context_.get(), trusted_clients.c_str(), nullptr), 1);
            SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
        }
        ssl_.reset(SSL_new(context_.get()));
        SSL_set_bio(ssl_.get(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
        SSL_set_accept_state(ssl_.get());
    }
    std::string answer(const std::string& bytes) {
        BIO_write(SSL_get_rbio(ssl_.get()), bytes.data(), static_cast<int>(bytes.size()));
        std::string heard(1 << 16, '\0');
        int count = 0;
        while ((count = SSL_read(ssl_.get(), heard.data(), static_cast<int>(heard.size()))) > 0) {
            for (int i = 0; i < count; ++i) heard[static_cast<std::size_t>(i)] -= 'a' - 'A';
            SSL_write(ssl_.get(), heard.data(), count);
        }
        char* out = nullptr;
        const long size = BIO_get_mem_data(SSL_get_wbio(ssl_.get()), &out);
        std::string said(out, static_cast<std::size_t>(size));
        BIO_reset(SSL_get_wbio(ssl_.get()));
        return said;
    }
    void hang_up() { SSL_shutdown(ssl_.get()); }

private:
    std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context_;
    std::unique_ptr<SSL, void (*)(SSL*)> ssl_{nullptr, SSL_free};
};

class TlsChannelTest : public ::testing::Test {
protected:
    /// Goes on until nobody has anything to say; what went wrong.
    std::string talk(TlsChannel& channel, Server& server) {
        for (int i = 0; i < 100; ++i) {
            std::string out;
            channel.drain(out);
            const std::string back = server.answer(out);
            if (out.empty() && back.empty()) return {};
            // Byte by byte: no record has to come in one piece.
            for (const char byte : back)
                if (const auto taken = channel.take({&byte, 1}, heard); !taken) return taken.error();
        }
        return "it never ends";
    }
    std::string meet(const TlsOptions& options, const std::string& host, Server& server) {
        auto channel = TlsChannel::open(options, host);
        if (!channel) return channel.error();
        if (std::string why = talk(**channel, server); !why.empty()) return why;
        return (*channel)->established() ? "" : "not established";
    }

    fakes::testing::TemporaryFolder folder;
    TestAuthority authority{folder.path()};
    TestAuthority::Files server_files = authority.sign("server");
    TlsOptions trusting{.ca_file = authority.certificate_file()};
    std::string heard;
};

TEST_F(TlsChannelTest, CarriesPlainTextBothWays) {
    for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
        Server server(server_files, version);
        auto channel = *TlsChannel::open(trusting, "localhost");
        ASSERT_EQ(talk(*channel, server), "");
        ASSERT_TRUE(channel->established());
        heard.clear();
        const std::string much(200'000, 'a');
        ASSERT_TRUE(channel->put(much));
        ASSERT_EQ(talk(*channel, server), "");
        EXPECT_EQ(heard, std::string(much.size(), 'A'));
        server.hang_up();
        EXPECT_EQ(talk(*channel, server), "the server closed the connection");
    }
}

TEST_F(TlsChannelTest, BelievesOnlyWhomItsAuthorityNamesSo) {
    Server one(server_files, TLS1_3_VERSION), two(server_files, TLS1_3_VERSION), three(server_files, TLS1_3_VERSION),
        four(server_files, TLS1_3_VERSION), five(server_files, TLS1_3_VERSION);
    EXPECT_EQ(meet(trusting, "127.0.0.1", one), "");
    EXPECT_THAT(meet(trusting, "redis.example", two), HasSubstr("not accepted: hostname mismatch"));
    EXPECT_THAT(meet(trusting, "127.0.0.2", three), HasSubstr("not accepted: IP address mismatch"));
    TlsOptions named = trusting;
    named.server_name = "localhost";
    EXPECT_EQ(meet(named, "redis.example", four), "");
    const TestAuthority other(folder.path(), "other");
    EXPECT_THAT(meet({.ca_file = other.certificate_file()}, "localhost", five), HasSubstr("not accepted"));
}

TEST_F(TlsChannelTest, BelievesAnybodyWhereItIsTold) {
    Server server(server_files, TLS1_3_VERSION);
    EXPECT_EQ(meet({.insecure = true}, "redis.example", server), "");
}

TEST_F(TlsChannelTest, ShowsItsOwnCertificateToWhoAsks) {
    const auto own = authority.sign("replica");
    Server strict(server_files, TLS1_2_VERSION, authority.certificate_file());
    EXPECT_THAT(meet(trusting, "localhost", strict), HasSubstr("TLS: "));
    Server again(server_files, TLS1_2_VERSION, authority.certificate_file());
    TlsOptions options = trusting;
    options.certificate_file = own.certificate;
    options.key_file = own.key;
    EXPECT_EQ(meet(options, "localhost", again), "");
}

TEST_F(TlsChannelTest, RefusesOldVersions) {
    Server old(server_files, TLS1_1_VERSION), enough(server_files, TLS1_2_VERSION), older(server_files, TLS1_2_VERSION);
    EXPECT_NE(meet(trusting, "localhost", old), "");
    EXPECT_EQ(meet(trusting, "localhost", enough), "");
    TlsOptions strict = trusting;
    strict.only_1_3 = true;
    EXPECT_NE(meet(strict, "localhost", older), "");
}

TEST_F(TlsChannelTest, WhatIsNoTlsEndsIt) {
    auto channel = *TlsChannel::open(trusting, "localhost");
    const auto taken = channel->take("-ERR unknown command\r\n", heard);
    ASSERT_FALSE(taken);
    EXPECT_THAT(taken.error(), HasSubstr("wrong version number"));
}

TEST_F(TlsChannelTest, NamesTheFileThatCannotBeUsed) {
    EXPECT_THAT(mistake_in({.ca_file = "/nowhere/ca.pem"}), HasSubstr("the authorities in /nowhere/ca.pem: "));
    const std::string text = (folder.path() / "text.pem").string();
    std::ofstream(text) << "no certificate\n";
    EXPECT_THAT(mistake_in({.certificate_file = text, .key_file = text}), HasSubstr("the certificate in " + text));
    const auto other = authority.sign("other");
    EXPECT_THAT(mistake_in({.certificate_file = server_files.certificate, .key_file = other.key}),
                HasSubstr("the key in " + other.key + ": key values mismatch"));
    EXPECT_THAT(mistake_in({.certificate_file = text}), HasSubstr("belong together"));
    EXPECT_EQ(mistake_in(trusting), "");
}

}  // namespace
}  // namespace lockstep::prod
