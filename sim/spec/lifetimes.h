// How long each key that schedulers and workflow engines write is documented to live (redis-schema.md 1, 5 and 8 to 12; C-01, C-06,
// C-28 and C-42; engine/delivery-semantics.md). Where schedulers start again with other tunables, what any of them may give.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/model/output_names.h"
#include "sim/model/tunables_in_force.h"

namespace lockstep::sim::spec {

/// In milliseconds from the write that gives it.
struct Lifetime {
    static constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::max();

    std::int64_t least = 1;
    std::int64_t most = kAny;  // kAny: the documents only say that it has an end, or which one it must not be before
    bool for_ever = false;     // it has no expiry, and the others say nothing
    bool optional = false;     // it has none before its workflow run is over
};

class Lifetimes final : public KeyFamilies {
public:
    explicit Lifetimes(const TunablesInForce& tunables);

    /// Null where the documents say nothing of such a key. Lives as long as this.
    [[nodiscard]] const Lifetime* of(std::string_view key) const;
    /// The same of a string, whose value may count as well: the failures of a circuit live longer until they open it.
    [[nodiscard]] const Lifetime* of(std::string_view key, std::string_view value) const;

    [[nodiscard]] std::string_view family_of(std::string_view key) const override;
    /// Each kind of key by its pattern, and whether it may be without an expiry.
    [[nodiscard]] std::map<std::string, bool> families() const;

private:
    struct Rule {
        std::string_view prefix;
        std::string_view suffix;
        Lifetime life;
        std::string pattern{};
    };

    /// That of the longest prefix whose suffix fits, too.
    [[nodiscard]] const Rule* by_prefix(std::string_view key) const;
    [[nodiscard]] const Rule* rule_of(std::string_view key) const;

    std::vector<Rule> rules_;  // by prefix
    Lifetime open_circuit_;
    Lifetime open_for_some_;  // the same, where not all have the same budget
    std::int64_t least_budget_ = 0, most_budget_ = 0;
};

}  // namespace lockstep::sim::spec
