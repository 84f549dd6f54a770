// An authority for tests: signs certificates, which are valid for an hour unless a test says otherwise, and writes them and their keys as PEM files.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>

namespace lockstep::prod {

class TestAuthority {
public:
    struct Files {
        std::string certificate, key;
    };

    /// Its files go to the folder, which outlives it. `name` stands in them and before those of its certificates.
    explicit TestAuthority(std::filesystem::path folder, std::string name = "authority");
    ~TestAuthority();
    TestAuthority(const TestAuthority&) = delete;
    TestAuthority& operator=(const TestAuthority&) = delete;

    /// Whoever trusts this file trusts what was signed here.
    [[nodiscard]] std::string certificate_file() const;
    /// For a server or a client. `names` as OpenSSL writes alternative names: "DNS:localhost,IP:127.0.0.1".
    [[nodiscard]] Files sign(const std::string& subject, const std::string& names = "DNS:localhost,IP:127.0.0.1",
                             std::chrono::seconds life = std::chrono::hours(1));

private:
    struct Pair;
    std::filesystem::path folder_;
    std::string name_;
    std::unique_ptr<Pair> own_;
    long serial_ = 1;
};

}  // namespace lockstep::prod
