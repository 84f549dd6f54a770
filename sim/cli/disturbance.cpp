#include "sim/cli/disturbance.h"

#include <malloc.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "fakes/rng.h"

namespace lockstep::sim::cli {

namespace {

constexpr std::size_t kBlocks = 600;
constexpr std::uint64_t kBlockMax = 1024;  // bytes; most objects of a run are smaller
constexpr std::uint64_t kKeptOneIn = 4;
constexpr std::size_t kStackBytes = std::size_t{32} * 1024;

/// The allocator fills with this what is freed and with its complement what is new, but for the small blocks that a thread
/// keeps at hand. Never zero, which would switch that off.
int filling(std::uint64_t number) { return 1 + static_cast<int>(number % 255); }

/// Leaves a pattern where the frames of the run will stand.
[[gnu::noinline]] void write_on_stack(int pattern) {
    std::array<unsigned char, kStackBytes> frame;
    std::memset(frame.data(), pattern, frame.size());
    asm volatile("" : : "r"(frame.data()) : "memory");  // keeps the writes
}

}  // namespace

void Disturbance::Freed::operator()(void* block) const { std::free(block); }

Disturbance::Disturbance() { mallopt(M_PERTURB, filling(0)); }

Disturbance::~Disturbance() { mallopt(M_PERTURB, 0); }

void Disturbance::before_run(std::uint64_t number) {
    fakes::Rng rng(number, "disturbance");
    mallopt(M_PERTURB, filling(number));
    std::vector<std::unique_ptr<void, Freed>> blocks;
    for (std::size_t i = 0; i < kBlocks; ++i) {
        const auto size = 1 + static_cast<std::size_t>(rng.below(kBlockMax));
        void* block = std::malloc(size);
        if (block == nullptr) break;
        std::memset(block, static_cast<int>(rng.below(256)), size);
        blocks.emplace_back(block);
    }
    // Freed in a drawn order, so that the next ones come from anywhere.
    for (std::size_t left = blocks.size(); left > 1; --left)
        std::swap(blocks[left - 1], blocks[static_cast<std::size_t>(rng.below(left))]);
    for (auto& block : blocks) {
        if (rng.below(kKeptOneIn) != 0) block.reset();
    }
    write_on_stack(static_cast<int>(rng.below(256)));
    const std::lock_guard lock(mutex_);
    for (auto& block : blocks) {
        if (block) kept_.push_back(std::move(block));
    }
}

}  // namespace lockstep::sim::cli
