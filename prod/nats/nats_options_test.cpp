#include "prod/nats/nats_options.h"

#include <gtest/gtest.h>

#include "prod/nats/nkey.h"

namespace lockstep::prod {
namespace {

TEST(NatsOptions, HidesCredentialsWhenShown) {
    EXPECT_EQ(display_url("nats://me:secret@a:4222, tls://b:4222"), "nats://***@a:4222,tls://b:4222");
    EXPECT_EQ(display_url("nats://me:sec@ret@a:4222"), "nats://***@a:4222");
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
