// For a process that asks no safety kernel: nobody in it may.
#pragma once

#include "engine/ports/kernel.h"
#include "engine/wire/messages.h"

namespace lockstep::prod {

class NoKernel final : public engine::Kernel {
public:
    engine::Task<tl::expected<cordum::agent::v1::PolicyCheckResponse, engine::RpcFailure>> check(
        cordum::agent::v1::PolicyCheckRequest, engine::MonoTime) override {
        co_return tl::make_unexpected(refusal());
    }
    engine::Task<tl::expected<cordum::v1::OutputCheckResponse, engine::RpcFailure>> check_output(
        cordum::v1::OutputCheckRequest, engine::MonoTime) override {
        co_return tl::make_unexpected(refusal());
    }

private:
    static engine::RpcFailure refusal() { return {14, "this process has no safety kernel"}; }
};

}  // namespace lockstep::prod
