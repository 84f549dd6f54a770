// C14: what the doctor says of each way in which a safety kernel can be unwell.
#include "prod/ctl/kernel_check.h"

#include <gtest/gtest.h>

namespace lockstep::prod {
namespace {

using engine::RpcFailure;
constexpr int kDeadlineExceeded = 4;
constexpr int kUnimplemented = 12;
constexpr int kUnavailable = 14;

KernelFacts sound_kernel() { return {true, std::vector<std::string>{"v1:abc", "v1:older"}}; }

KernelFacts failing(int code) {
    return {tl::make_unexpected(RpcFailure{code, "why"}), tl::make_unexpected(RpcFailure{code, "why"})};
}

/// "check health" of each finding, in order.
std::vector<std::string> outline(const Findings& findings) {
    std::vector<std::string> lines;
    for (const Finding& one : findings) lines.push_back(one.check + " " + std::string(to_string(one.health)));
    return lines;
}

std::string text_of(const KernelFacts& facts, const KernelSettings& settings = {}) {
    return findings_text(check_kernel(facts, settings), true);
}

bool mentions(const std::string& text, const std::string& what) { return text.find(what) != std::string::npos; }

TEST(KernelCheck, ASoundKernelIsWellAndItsPolicyIsNamed) {
    EXPECT_EQ(outline(check_kernel(sound_kernel(), {})),
              (std::vector<std::string>{"kernel.reachable well", "kernel.health well", "kernel.policy well"}));
    EXPECT_TRUE(mentions(text_of(sound_kernel()), "policy v1:abc"));
}

TEST(KernelCheck, OneThatCannotBeReachedIsToldWithTheVariablesThatWouldHelp) {
    EXPECT_EQ(outline(check_kernel(failing(kUnavailable), {})), (std::vector<std::string>{"kernel.reachable wrong"}));
    const std::string plain = text_of(failing(kUnavailable), {.address = "kernel:1"});
    EXPECT_TRUE(mentions(plain, "kernel:1 cannot be asked: why")) << plain;
    EXPECT_TRUE(mentions(plain, "SAFETY_KERNEL_TLS_CA names its authority")) << plain;
    const std::string nameless = text_of(failing(kUnavailable), {.tls = TlsOptions{.ca_file = "ca.pem"}});
    EXPECT_TRUE(mentions(nameless, "of an authority in ca.pem")) << nameless;
    EXPECT_TRUE(mentions(nameless, "needs SAFETY_KERNEL_TLS_CERT")) << nameless;
    const std::string named =
        text_of(failing(kUnavailable), {.tls = TlsOptions{.ca_file = "ca.pem", .certificate_file = "own.pem"}});
    EXPECT_TRUE(mentions(named, "trust the authority of own.pem")) << named;
    EXPECT_TRUE(mentions(text_of(failing(kDeadlineExceeded)), "keeps silent"));
    EXPECT_TRUE(mentions(text_of(failing(kUnimplemented)), "no safety kernel"));
}

TEST(KernelCheck, WhatItDoesNotServeIsUnknownAndWhatItSaysOfItselfIsBelieved) {
    KernelFacts facts = sound_kernel();
    facts.serving = tl::make_unexpected(RpcFailure{kUnimplemented, ""});
    EXPECT_EQ(outline(check_kernel(facts, {}))[1], "kernel.health unknown");
    facts.serving = false;
    EXPECT_EQ(outline(check_kernel(facts, {}))[1], "kernel.health wrong");
    facts = sound_kernel();
    facts.policies = tl::make_unexpected(RpcFailure{kUnimplemented, ""});
    EXPECT_EQ(outline(check_kernel(facts, {}))[2], "kernel.policy unknown");
    facts.policies = tl::make_unexpected(RpcFailure{kDeadlineExceeded, ""});
    EXPECT_EQ(outline(check_kernel(facts, {}))[2], "kernel.policy wrong");
    facts.policies = std::vector<std::string>{};
    EXPECT_EQ(outline(check_kernel(facts, {}))[2], "kernel.policy warn");
}

}  // namespace
}  // namespace lockstep::prod
