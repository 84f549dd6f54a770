// The entry that libFuzzer calls. Which target: `--target=NAME`, an argument that libFuzzer passes over.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "engine/testing/fuzz_target.h"

namespace {

const lockstep::fuzz::Target* chosen = nullptr;

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
    constexpr std::string_view kOption = "--target=";
    for (int i = 1; i < *argc; ++i) {
        const std::string_view word = (*argv)[i];
        if (!word.starts_with(kOption)) continue;
        for (const auto& target : lockstep::fuzz::targets()) {
            if (target.name == word.substr(kOption.size())) chosen = &target;
        }
    }
    if (chosen != nullptr) return 0;
    std::fprintf(stderr, "--target= names one of:");
    for (const auto& target : lockstep::fuzz::targets())
        std::fprintf(stderr, " %.*s", static_cast<int>(target.name.size()), target.name.data());
    std::fprintf(stderr, "\n");
    std::exit(2);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    chosen->run(std::string_view(reinterpret_cast<const char*>(data), size));
    return 0;
}
