#include "prod/nats/nats_options.h"

#include <gtest/gtest.h>

#include "prod/nats/nkey.h"

namespace lockstep::prod {
namespace {

TEST(NatsOptions, HidesCredentialsWhenShown) {
    EXPECT_EQ(display_url("nats://me:secret@a:4222, tls://b:4222"), "nats://***@a:4222,tls://b:4222");
    EXPECT_EQ(display_url("nats://me:sec@ret@a:4222"), "nats://***@a:4222");
    EXPECT_EQ(display_url("nats://a:4222,b,[::1]:4222"), "nats://a:4222,b,[::1]:4222");
    EXPECT_EQ(display_url("tls://me:se,cret@a:4222,tls://b"), "tls://***@a:4222,tls://b");
    EXPECT_EQ(display_url("tls://me:12,34@a:4222"), "tls://***@a:4222") << "a port, or the beginning of a password";
    EXPECT_EQ(display_url("me:se,cret@a"), "***@a");
    EXPECT_EQ(display_url("nats://me:secret"), "nats://***");
    EXPECT_EQ(display_url("nats://me@a:secret"), "nats://***@***");
    EXPECT_EQ(display_url("nats://a/secret"), "nats://***");
}

TEST(NatsOptions, RecognisesTls) {
    EXPECT_FALSE(wants_tls("nats://a:4222"));
    EXPECT_TRUE(wants_tls("nats://a:4222,tls://b"));
}

TEST(NatsOptions, RefusesAnEmptyAddressAndAMissingCertificate) {
    EXPECT_FALSE(library_options({.url = " "}));
    const auto missing = library_options({.url = "tls://a:4222", .tls_ca = "/nowhere/ca.pem"});
    ASSERT_FALSE(missing);
    EXPECT_NE(missing.error().find("NATS_TLS_CA"), std::string::npos);
}

TEST(NatsOptions, RefusesAMalformedAddressWithoutRepeatingIt) {
    for (const char* url : {"nats://me:secret", "nats://a:4222,nats://me:secret", "nats://me:se,cret@a",
                            "nats://me@a:secret", "nats://[::1", "nats://a:", "tls://me:secret"}) {
        const auto wrong = library_options({.url = url});
        ASSERT_FALSE(wrong) << url;
        EXPECT_NE(wrong.error().find("NATS_URL: an address is not"), std::string::npos) << wrong.error();
        EXPECT_EQ(wrong.error().find("cret"), std::string::npos) << wrong.error();
    }
    for (const char* url : {"nats://a", "a:4222,b", "nats://me:se@cret@a:4222", "nats://[::1]:4222, tls://b"})
        EXPECT_EQ(address_mistake(url), "") << url;
}

TEST(NatsOptions, RefusesABrokenNkeySeedWithoutRepeatingIt) {
    const auto wrong = library_options({.nkey_seed = "SUAOOPS"});
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().find("SUAOOPS"), std::string::npos);
}

TEST(Nkey, RefusesOtherKindsOfKeys) {
    EXPECT_FALSE(public_nkey(""));
    EXPECT_FALSE(public_nkey("UA2345"));
    EXPECT_FALSE(public_nkey(std::string(58, 'A')));
}

}  // namespace
}  // namespace lockstep::prod
