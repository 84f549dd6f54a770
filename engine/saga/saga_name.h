// Whose compensations share a stack, and where that stack is (D-07; redis-schema.md 10).
//
//   run       the jobs of one run of one tenant: a stack of their own, which no other tenant and no workflow can name
//   workflow  the jobs of a tenant that name a workflow and no run: `saga:<workflow>:stack`, which all tenants and other
//             implementations share; a rollback takes its own tenant's entries
//   old_run   what an older version recorded for that run: `saga:<run>:stack`. Owed after the rollback of the run
//   shared    everything on `saga:<id>:stack`: a rollback that an older version owed, and did not say whose
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lockstep::engine {

struct SagaName {
    enum class Kind : std::uint8_t { run, workflow, old_run, shared };
    Kind kind = Kind::run;
    std::string tenant;  // empty for `shared`
    std::string id;      // of the run or the workflow

    friend bool operator==(const SagaName&, const SagaName&) = default;

    /// One text that no other saga has.
    [[nodiscard]] std::string text() const;
    [[nodiscard]] static std::optional<SagaName> parse(std::string_view text);

    // Keys.
    [[nodiscard]] std::string stack() const;
    [[nodiscard]] std::string lock() const;
    /// The mark of the rollback that has it in hand.
    [[nodiscard]] std::string in_hand() const;
    /// Where it stands that its rollback is owed, and as what.
    [[nodiscard]] std::string_view owed_in() const;
    [[nodiscard]] std::string owed_as() const;
    /// Stands while what it records is to be undone at once; empty for a saga that later work may share.
    [[nodiscard]] std::string aborted() const;
    /// From what ids of compensations are made: what is recorded where an older version looks has the id that it gives.
    [[nodiscard]] std::string seed() const;
    /// Whether entries of other tenants stand on its stack.
    [[nodiscard]] bool among_others() const { return kind == Kind::workflow || kind == Kind::old_run; }
};

}  // namespace lockstep::engine
