#include <algorithm>
#include <concepts>
#include <nlohmann/json.hpp>
#include <tuple>
#include <type_traits>
#include <utility>

#include "sim/scenario/catalogue.h"
#include "sim/scenario/fault_arguments.h"

namespace lockstep::sim {

namespace {

using namespace faults;

/// Argument number `Number` of the kind, as the table has it.
template <class Kind, std::size_t Number>
constexpr FaultArg argument() {
    constexpr auto kArgument = std::get<Number>(Kind::arguments());
    if constexpr (std::same_as<decltype(kArgument), const ForArgument>) {
        return {"for", FaultArgKind::duration, false,
                [](const FaultArg& arg, const nlohmann::json& object, Fault& fault) {
                    read_argument(arg, object, fault.duration);
                },
                [](const FaultArg& arg, const Fault& fault) { return argument_document(arg, fault.duration); }};
    } else {
        return {
            kArgument.name, kArgument.kind, kArgument.required,
            [](const FaultArg& arg, const nlohmann::json& object, Fault& fault) {
                read_argument(arg, object, std::get<Kind>(fault.what).*(std::get<Number>(Kind::arguments()).member));
            },
            [](const FaultArg& arg, const Fault& fault) {
                return argument_document(arg, std::get<Kind>(fault.what).*(std::get<Number>(Kind::arguments()).member));
            }};
    }
}

template <class Kind>
constexpr FaultEnd end_of() {
    if (std::derived_from<Kind, OfServer>) return FaultEnd::at_once;
    // A node tells when it is up again, or goes on; of its clock, it only tells when it has been set.
    const bool tells = std::derived_from<Kind, OfNode> && !std::same_as<Kind, ClockDrift>;
    return tells ? FaultEnd::of_node : FaultEnd::told;
}

template <class Kind>
FaultInfo info_of() {
    FaultInfo info{.name = Kind::kName, .help = Kind::kHelp, .args = {}, .end = end_of<Kind>()};
    info.make = []() -> Any { return Kind{}; };
    if constexpr (requires { Kind::kLoses; }) info.loses = Kind::kLoses;
    constexpr std::size_t kCount = std::tuple_size_v<decltype(Kind::arguments())>;
    [&info]<std::size_t... Numbers>(std::index_sequence<Numbers...>) {
        info.args = {argument<Kind, Numbers>()...};
    }(std::make_index_sequence<kCount>{});
    return info;
}

template <class... Kinds>
std::vector<FaultInfo> infos_of(std::type_identity<std::variant<Kinds...>>) {
    return {info_of<Kinds>()...};
}

const std::vector<FaultInfo>& table() {
    static const std::vector<FaultInfo> kTable = infos_of(std::type_identity<Any>{});
    return kTable;
}

}  // namespace

Fault::Fault() = default;
Fault::Fault(const Fault& other) = default;
Fault::Fault(Fault&& other) noexcept = default;
Fault& Fault::operator=(const Fault& other) = default;
Fault& Fault::operator=(Fault&& other) noexcept = default;
Fault::~Fault() = default;

template <class Part>
const Part* Fault::part() const {
    const auto seek = []<class Kind>(const Kind& kind) -> const Part* {
        if constexpr (std::derived_from<Kind, Part>)
            return &kind;
        else
            return nullptr;
    };
    return std::visit(seek, what);
}
template const OfNode* Fault::part() const;
template const OfLink* Fault::part() const;
template const OfServer* Fault::part() const;
template const OfCalls* Fault::part() const;
template const OfRedisCalls* Fault::part() const;
template const OfMessages* Fault::part() const;
template const Restarting* Fault::part() const;
template const Targeted* Fault::part() const;
template const NatsNewLeader* Fault::part() const;
template const NatsNoQuorum* Fault::part() const;

std::span<const FaultInfo> fault_table() { return table(); }

const FaultInfo* find_fault(std::string_view name) {
    const auto found = std::ranges::find(table(), name, &FaultInfo::name);
    return found == table().end() ? nullptr : &*found;
}

FaultEnd end_of_fault(std::string_view name) {
    const FaultInfo* info = find_fault(name);
    return info == nullptr ? FaultEnd::told : info->end;
}

std::string_view Fault::kind() const { return table()[what.index()].name; }

}  // namespace lockstep::sim
