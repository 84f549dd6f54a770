#include "prod/tls/test_authority.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <stdexcept>
#include <utility>

namespace lockstep::prod {

namespace {

constexpr long kVersion3 = 2;
constexpr long kHour = 3600;

struct Free {
    void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
    void operator()(X509* certificate) const { X509_free(certificate); }
    void operator()(X509_EXTENSION* extension) const { X509_EXTENSION_free(extension); }
    void operator()(std::FILE* file) const { static_cast<void>(std::fclose(file)); }
};

void require(bool held, const char* what) {
    if (!held) throw std::runtime_error(std::string("no certificate for a test: ") + what);
}

void add(X509* certificate, X509* issuer, int kind, const std::string& value) {
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
    const std::unique_ptr<X509_EXTENSION, Free> made(X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()));
    require(made && X509_add_ext(certificate, made.get(), -1) == 1, value.c_str());
}

std::unique_ptr<X509, Free> unsigned_certificate(EVP_PKEY* key, const std::string& subject, long serial,
                                                 std::chrono::seconds life) {
    std::unique_ptr<X509, Free> made(X509_new());
    require(made != nullptr, "memory");
    X509_set_version(made.get(), kVersion3);
    ASN1_INTEGER_set(X509_get_serialNumber(made.get()), serial);
    X509_gmtime_adj(X509_getm_notBefore(made.get()), -kHour);
    X509_gmtime_adj(X509_getm_notAfter(made.get()), life.count());
    X509_set_pubkey(made.get(), key);
    const auto* text = reinterpret_cast<const unsigned char*>(subject.c_str());
    X509_NAME_add_entry_by_txt(X509_get_subject_name(made.get()), "CN", MBSTRING_UTF8, text, -1, -1, 0);
    return made;
}

template <class Write>
void write_to(const std::string& path, Write write) {
    const std::unique_ptr<std::FILE, Free> file(std::fopen(path.c_str(), "w"));
    require(file && write(file.get()) == 1, path.c_str());
}

}  // namespace

struct TestAuthority::Pair {
    std::unique_ptr<EVP_PKEY, Free> key{EVP_EC_gen("P-256")};
    std::unique_ptr<X509, Free> certificate;

    Files write(const std::string& stem) const {
        Files files{stem + ".pem", stem + "-key.pem"};
        write_to(files.certificate, [this](std::FILE* file) { return PEM_write_X509(file, certificate.get()); });
        write_to(files.key, [this](std::FILE* file) {
            return PEM_write_PrivateKey(file, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
        });
        return files;
    }
};

TestAuthority::TestAuthority(std::filesystem::path folder, std::string name)
    : folder_(std::move(folder)), name_(std::move(name)), own_(std::make_unique<Pair>()) {
    own_->certificate = unsigned_certificate(own_->key.get(), name_, serial_++, std::chrono::hours(1));
    X509* const own = own_->certificate.get();
    X509_set_issuer_name(own, X509_get_subject_name(own));
    add(own, own, NID_basic_constraints, "critical,CA:TRUE");
    add(own, own, NID_key_usage, "critical,keyCertSign,cRLSign");
    add(own, own, NID_subject_key_identifier, "hash");
    require(X509_sign(own, own_->key.get(), EVP_sha256()) > 0, "its own");
    static_cast<void>(own_->write((folder_ / name_).string()));
}

TestAuthority::~TestAuthority() = default;

std::string TestAuthority::certificate_file() const { return (folder_ / (name_ + ".pem")).string(); }

TestAuthority::Files TestAuthority::sign(const std::string& subject, const std::string& names,
                                         std::chrono::seconds life) {
    Pair pair;
    pair.certificate = unsigned_certificate(pair.key.get(), subject, serial_++, life);
    X509* const made = pair.certificate.get();
    X509_set_issuer_name(made, X509_get_subject_name(own_->certificate.get()));
    add(made, own_->certificate.get(), NID_subject_alt_name, names);
    add(made, own_->certificate.get(), NID_ext_key_usage, "serverAuth,clientAuth");
    add(made, own_->certificate.get(), NID_authority_key_identifier, "keyid");
    require(X509_sign(made, own_->key.get(), EVP_sha256()) > 0, subject.c_str());
    return pair.write((folder_ / (name_ + "-" + subject)).string());
}

}  // namespace lockstep::prod
