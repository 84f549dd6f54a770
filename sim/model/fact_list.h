// Facts of all types, in their order. A std::variant of them all took a third of the build: it makes code for each type at each place.
#pragma once

#include <cstddef>
#include <memory_resource>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "sim/model/facts.h"

namespace lockstep::sim {

inline std::size_t next_fact_number() {
    static std::size_t numbers = 0;
    return numbers++;
}
/// Types of facts are numbered from 0 before main.
template <class Happened>
inline const std::size_t kFactNumber = next_fact_number();

struct Fact {
    std::size_t number;
    Observed* observed;  // the list owns it
    void (*destroy)(Observed&);

    /// Null: it is of another type.
    template <class Happened>
    [[nodiscard]] const Happened* as() const {
        return number == kFactNumber<Happened> ? static_cast<const Happened*>(observed) : nullptr;
    }
};

class FactList {
public:
    FactList() = default;
    FactList(const FactList&) = delete;
    FactList& operator=(const FactList&) = delete;
    ~FactList() { clear(); }

    /// Valid until `clear`.
    template <class Happened>
    Happened& add(Happened fact) {
        void* place = memory_.allocate(sizeof(Happened), alignof(Happened));
        auto* made = ::new (place) Happened(std::move(fact));
        void (*destroy)(Observed&) = nullptr;
        if constexpr (!std::is_trivially_destructible_v<Happened>)
            destroy = [](Observed& observed) { static_cast<Happened&>(observed).~Happened(); };
        facts_.push_back({kFactNumber<Happened>, made, destroy});
        return *made;
    }
    [[nodiscard]] const std::vector<Fact>& all() const { return facts_; }
    void clear() {
        for (const Fact& fact : facts_)
            if (fact.destroy != nullptr) fact.destroy(*fact.observed);
        facts_.clear();
        memory_.release();
    }

private:
    std::byte first_[4096];
    std::pmr::monotonic_buffer_resource memory_{first_, sizeof first_};
    std::vector<Fact> facts_;
};

}  // namespace lockstep::sim
