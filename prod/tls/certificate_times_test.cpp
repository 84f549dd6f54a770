#include "prod/tls/certificate_times.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "fakes/testing/server_process.h"
#include "prod/tls/test_authority.h"

namespace lockstep::prod {
namespace {

std::string text_of(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

class CertificateTimesTest : public ::testing::Test {
protected:
    std::string joined(const std::string& one, const std::string& other) {
        const std::string file = (folder.path() / "joined.pem").string();
        std::ofstream(file) << text_of(one) << text_of(other);
        return file;
    }
    /// Signed by nobody who counts: only its time does.
    std::string valid_for(std::chrono::seconds span) {
        return authority.sign("s" + std::to_string(span.count()), "DNS:localhost", span).certificate;
    }

    fakes::testing::TemporaryFolder folder;
    TestAuthority authority{folder.path()};
};

TEST_F(CertificateTimesTest, OfAChainTheFirstExpiryCountsAndOfAuthoritiesTheLast) {
    using std::chrono::hours;
    const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    const std::string soon = valid_for(hours(2));
    const std::string late = valid_for(hours(200));
    const auto in = [&](const std::string& file, Expiry which) {
        const auto expiry = certificate_expiry(file, which);
        return expiry ? std::chrono::round<hours>(*expiry - now) : hours(-1);
    };
    EXPECT_EQ(in(soon, Expiry::first), hours(2));
    EXPECT_EQ(in(joined(late, soon), Expiry::first), hours(2));
    EXPECT_EQ(in(joined(late, soon), Expiry::last), hours(200));
}

TEST_F(CertificateTimesTest, AFileThatSaysNothingIsNamed) {
    const auto missing = certificate_expiry((folder.path() / "none.pem").string(), Expiry::first);
    ASSERT_FALSE(missing);
    EXPECT_TRUE(missing.error().ends_with("none.pem: it cannot be read")) << missing.error();
    const std::string key = authority.sign("server").key;
    EXPECT_EQ(certificate_expiry(key, Expiry::first).error(), key + ": it holds no certificate in PEM form");
}

}  // namespace
}  // namespace lockstep::prod
