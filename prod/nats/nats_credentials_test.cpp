// Who the binding shows itself to be, and whom it believes, against real servers: credentials files and mutual TLS.
#include <fstream>

#include "prod/nats/nats_connection.h"
#include "prod/nats/test_nats_fixture.h"
#include "prod/tls/test_authority.h"

namespace lockstep::prod {
namespace {

// Tokens of an operator, its account and its user, without an end, signed with keys that were made for this test.
constexpr const char* kOperator =
    "eyJ0eXAiOiAiSldUIiwgImFsZyI6ICJlZDI1NTE5LW5rZXkifQ.eyJpYXQiOiAxNzkwMDAwMDAwLCAiaXNzIjogIk9CUElIVzdHUlFYUVRUSVlNS"
    "VAyU1RLWlFBUVhXWjMySlBPU081N0VOQjZaWVBNRDZBT1RISFpTIiwgIm5hbWUiOiAibyIsICJzdWIiOiAiT0JQSUhXN0dSUVhRVFRJWU1JUDJTV"
    "EtaUUFRWFdaMzJKUE9TTzU3RU5CNlpZUE1ENkFPVEhIWlMiLCAibmF0cyI6IHsidHlwZSI6ICJvcGVyYXRvciIsICJ2ZXJzaW9uIjogMn0sICJqd"
    "GkiOiAiT0hHVzVOS0c1RlNUWEQ3NVk3MlFDSEFVVFBZSU5FTlhNREY2UlpNTjVXUlUzQUhLTFBSQSJ9.QpmiLW02trr2B15L8aod3-rmhDGK4fYY"
    "ZF6pMS0MTliAncAJQJ-Z8rx1bBeT1mjhVQaEThgFsOmstkxIftJuDw";
constexpr const char* kAccount = "ACUMOOQGSGSAVX72PFB7YJICOQULMTDYMXEIDQG2NBMOUIKP4UT2NSAB";
constexpr const char* kAccountToken =
    "eyJ0eXAiOiAiSldUIiwgImFsZyI6ICJlZDI1NTE5LW5rZXkifQ.eyJpYXQiOiAxNzkwMDAwMDAwLCAiaXNzIjogIk9CUElIVzdHUlFYUVRUSVlNS"
    "VAyU1RLWlFBUVhXWjMySlBPU081N0VOQjZaWVBNRDZBT1RISFpTIiwgIm5hbWUiOiAiYSIsICJzdWIiOiAiQUNVTU9PUUdTR1NBVlg3MlBGQjdZS"
    "klDT1FVTE1URFlNWEVJRFFHMk5CTU9VSUtQNFVUMk5TQUIiLCAibmF0cyI6IHsidHlwZSI6ICJhY2NvdW50IiwgInZlcnNpb24iOiAyLCAibGlta"
    "XRzIjogeyJzdWJzIjogLTEsICJkYXRhIjogLTEsICJwYXlsb2FkIjogLTEsICJpbXBvcnRzIjogLTEsICJleHBvcnRzIjogLTEsICJ3aWxkY2FyZ"
    "HMiOiB0cnVlLCAiY29ubiI6IC0xLCAibGVhZiI6IC0xfX0sICJqdGkiOiAiRlJWTDU1TlJaSkFDQzMzWE5FNzNGWVNYWlVNSFZNTjVZWDRCWklZT"
    "VBBTlVHNTY3S1hHUSJ9.kBURoHSom6c-6KKUwZKQ12hg6SpeP48OBp9I5r1vzNZvgiw3AwiyBr2_DnQXMH2h0J2IhqJ35_lhU4pq4voyDw";
constexpr const char* kUserToken =
    "eyJ0eXAiOiAiSldUIiwgImFsZyI6ICJlZDI1NTE5LW5rZXkifQ.eyJpYXQiOiAxNzkwMDAwMDAwLCAiaXNzIjogIkFDVU1PT1FHU0dTQVZYNzJQR"
    "kI3WUpJQ09RVUxNVERZTVhFSURRRzJOQk1PVUlLUDRVVDJOU0FCIiwgIm5hbWUiOiAidSIsICJzdWIiOiAiVUNEVFVINk1JMjNKTERGQ0w1S05CT"
    "FpOWVpQV1kzRjdUWEw2TjREQk9ZWFlHQ1dDVk9KRTdKQ1UiLCAibmF0cyI6IHsidHlwZSI6ICJ1c2VyIiwgInZlcnNpb24iOiAyLCAic3VicyI6I"
    "C0xLCAiZGF0YSI6IC0xLCAicGF5bG9hZCI6IC0xfSwgImp0aSI6ICJUNzVPNlFJN0NSVDRFSlhaWjdBT0RJNUJQVTVNNk03WlhFVTJCQVczV1FUR"
    "EVXQk1XNEVBIn0.1FsvYXztcx-rD_7jKnrU7fxBL00OdNKa8uiwOn8W_x4o98emB0bklWWTgHM12Lr96I7iYPBPLrMS-RYrgMRqCg";
constexpr const char* kSeed = "SUAJOS672SRC7DNQ6USAS7CHHVVUEKE7FUMUCGWBIGI3OMQGTTLIQRFNZA";
constexpr const char* kSeedOfAnother = "SUAGHSFGDB4TKY7R3ZVKAOMIX6OQ4Y3VBOPAE6DQ2UQ34OXTWZJSHMUDDE";

class NatsCredentialsTest : public ::testing::Test {
protected:
    void SetUp() override {
        if (!fakes::testing::find_program("nats-server")) GTEST_SKIP() << "nats-server is not installed";
    }
    /// A server with this configuration, without JetStream.
    static ServerProcess::CommandLine server_of(std::string config) {
        return [config](int port, const std::filesystem::path& at) {
            std::ofstream(at / "nats.conf") << config;
            return std::vector<std::string>{*fakes::testing::find_program("nats-server"),
                                            "-a",
                                            "127.0.0.1",
                                            "-p",
                                            std::to_string(port),
                                            "-c",
                                            (at / "nats.conf").string()};
        };
    }
    [[nodiscard]] std::string file(const std::string& name, const std::string& content) const {
        std::ofstream(folder.path() / name) << content;
        return (folder.path() / name).string();
    }
    /// As `nsc generate creds` writes them.
    [[nodiscard]] std::string credentials(const std::string& name, const char* seed) const {
        return file(name, std::string("-----BEGIN NATS USER JWT-----\n") + kUserToken +
                              "\n------END NATS USER JWT------\n\n-----BEGIN USER NKEY SEED-----\n" + seed +
                              "\n------END USER NKEY SEED------\n");
    }
    /// Empty: it has connected.
    std::string refused(const NatsOptions& options) {
        const auto made = NatsConnection::connect(loop, options);
        return made ? "" : made.error();
    }

    UvLoop loop;
    fakes::testing::TemporaryFolder folder;
};

TEST_F(NatsCredentialsTest, ACredentialsFileLogsIn) {
    const ServerProcess server(server_of(std::string("operator: ") + kOperator +
                                         "\nresolver: MEMORY\nresolver_preload: { " + kAccount + ": " + kAccountToken +
                                         " }\n"));
    NatsOptions options{.url = "nats://127.0.0.1:" + std::to_string(server.port())};
    EXPECT_NE(refused(options), "");
    options.credentials_file = credentials("own.creds", kSeed);
    EXPECT_EQ(refused(options), "");
    options.credentials_file = credentials("another.creds", kSeedOfAnother);
    EXPECT_NE(refused(options), "");
    options.credentials_file = "/nowhere/own.creds";
    EXPECT_EQ(refused(options), "NATS_CREDS: /nowhere/own.creds cannot be read");
    options.credentials_file = file("empty.creds", "");
    const std::string why = refused(options);
    EXPECT_NE(why, "");
    EXPECT_EQ(why.find(kSeed), std::string::npos);
}

TEST_F(NatsCredentialsTest, MutualTlsBelievesOnlyWhomTheAuthorityNamesSo) {
    TestAuthority authority(folder.path());
    TestAuthority other(folder.path(), "other");
    const auto files = authority.sign("server");
    const auto own = authority.sign("replica");
    const auto of_another = other.sign("replica");
    const ServerProcess server(server_of("tls { cert_file: \"" + files.certificate + "\", key_file: \"" + files.key +
                                         "\", ca_file: \"" + authority.certificate_file() + "\", verify: true }\n"));
    const NatsOptions sound{.url = "tls://localhost:" + std::to_string(server.port()),
                            .tls_ca = authority.certificate_file(),
                            .tls_certificate = own.certificate,
                            .tls_key = own.key};
    EXPECT_EQ(refused(sound), "");
    NatsOptions options = sound;
    options.tls_certificate.clear();
    options.tls_key.clear();
    EXPECT_NE(refused(options), "") << "a server that asks who calls";
    options = sound;
    options.tls_certificate = of_another.certificate;
    options.tls_key = of_another.key;
    EXPECT_NE(refused(options), "") << "a certificate of somebody else's authority";
    options = sound;
    options.tls_ca = other.certificate_file();
    EXPECT_NE(refused(options), "") << "a server of somebody else's authority";
    options = sound;
    options.tls_server_name = "nats.example";
    EXPECT_NE(refused(options), "") << "a certificate for another name";
}

}  // namespace
}  // namespace lockstep::prod
