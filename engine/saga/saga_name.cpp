#include "engine/saga/saga_name.h"

#include <fmt/core.h>

#include <array>
#include <charconv>
#include <utility>

#include "engine/saga/keys.h"

namespace lockstep::engine {

namespace {

using Kind = SagaName::Kind;

constexpr std::array<std::pair<std::string_view, Kind>, 4> kKinds{
    {{"run:", Kind::run}, {"workflow:", Kind::workflow}, {"old_run:", Kind::old_run}, {"shared:", Kind::shared}}};

/// With the length in front: both parts may hold colons.
std::string joined(const SagaName& name) { return fmt::format("{}:{}:{}", name.tenant.size(), name.tenant, name.id); }

}  // namespace

std::string SagaName::text() const {
    for (const auto& [prefix, of] : kKinds)
        if (of == kind) return fmt::format("{}{}", prefix, kind == Kind::shared ? id : joined(*this));
    return {};
}

std::optional<SagaName> SagaName::parse(std::string_view text) {
    for (const auto& [prefix, kind] : kKinds) {
        if (!text.starts_with(prefix)) continue;
        text.remove_prefix(prefix.size());
        if (kind == Kind::shared) return SagaName{kind, {}, std::string(text)};
        std::size_t length = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
        text.remove_prefix(static_cast<std::size_t>(end - text.data()));
        const bool sound =
            error == std::errc{} && text.starts_with(':') && length < text.size() - 1 && text[length + 1] == ':';
        if (!sound) return std::nullopt;
        return SagaName{kind, std::string(text.substr(1, length)), std::string(text.substr(length + 2))};
    }
    return std::nullopt;
}

std::string SagaName::stack() const {
    return kind == Kind::run ? fmt::format("lockstep:saga:{}", joined(*this)) : keys::saga_stack(id);
}

std::string SagaName::lock() const {
    return kind == Kind::run ? fmt::format("lockstep:saga:lock:{}", joined(*this)) : keys::saga_lock(id);
}

std::string SagaName::in_hand() const { return fmt::format("lockstep:saga:in_hand:{}", text()); }

std::string_view SagaName::owed_in() const { return kind == Kind::shared ? keys::kSagasPending : keys::kSagasOwed; }

std::string SagaName::owed_as() const { return kind == Kind::shared ? id : text(); }

std::string SagaName::aborted() const {
    return kind == Kind::run ? fmt::format("lockstep:saga:aborted:{}", text()) : std::string{};
}

std::string SagaName::seed() const { return kind == Kind::run ? joined(*this) : id; }

}  // namespace lockstep::engine
