#include "prod/tls/certificate_times.h"

#include <fmt/core.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <algorithm>
#include <ctime>
#include <memory>
#include <optional>

namespace lockstep::prod {

namespace {

std::optional<std::chrono::sys_seconds> not_after(const X509& certificate) {
    std::tm time{};
    if (ASN1_TIME_to_tm(X509_get0_notAfter(&certificate), &time) != 1) return std::nullopt;
    return std::chrono::sys_seconds(std::chrono::seconds(timegm(&time)));
}

}  // namespace

tl::expected<std::chrono::sys_seconds, std::string> certificate_expiry(const std::string& file, Expiry which) {
    const std::unique_ptr<BIO, decltype(&BIO_free)> bytes(BIO_new_file(file.c_str(), "r"), &BIO_free);
    std::optional<std::chrono::sys_seconds> found;
    while (bytes) {
        const std::unique_ptr<X509, decltype(&X509_free)> certificate(
            PEM_read_bio_X509(bytes.get(), nullptr, nullptr, nullptr), &X509_free);
        if (!certificate) break;
        const auto time = not_after(*certificate);
        if (!time) continue;
        if (!found)
            found = time;
        else
            found = which == Expiry::first ? std::min(*found, *time) : std::max(*found, *time);
    }
    ERR_clear_error();  // the end of the file is one
    if (found) return *found;
    return tl::make_unexpected(
        fmt::format("{}: {}", file, bytes ? "it holds no certificate in PEM form" : "it cannot be read"));
}

}  // namespace lockstep::prod
