#include "bench/counts/allocations.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::uint64_t> calls{0};
std::atomic<std::uint64_t> bytes{0};

void count(std::size_t size) {
    calls.fetch_add(1, std::memory_order_relaxed);
    bytes.fetch_add(size, std::memory_order_relaxed);
}

}  // namespace

// The others (arrays, nothrow) come to these by the standard library's own.

void* operator new(std::size_t size) {
    count(size);
    if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
    throw std::bad_alloc();
}

void* operator new(std::size_t size, std::align_val_t alignment) {
    count(size);
    const auto step = static_cast<std::size_t>(alignment);
    // aligned_alloc takes multiples of the alignment only.
    if (void* memory = std::aligned_alloc(step, (size / step + 1) * step)) return memory;
    throw std::bad_alloc();
}

void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace lockstep::bench {

Allocations allocations_so_far() { return {calls.load(), bytes.load()}; }

}  // namespace lockstep::bench
