// What the outputs of schedulers and workflow engines are called in the register of outputs, as a run shows them: `job:meta:* state`,
// `dlq:entry:* reason_code`, `worker.*.jobs job_request.topic`. A name is told once; of documents and messages of a kind the first ones
// are looked at, and of the others one in so many.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "engine/wire/fwd.h"
#include "fakes/event.h"

namespace google::protobuf {
class Message;
}

namespace lockstep::sim {

/// The kinds of keys.
class KeyFamilies {
public:
    virtual ~KeyFamilies() = default;
    /// By its pattern, such as `job:meta:*`; empty: none. Lives as long as this.
    [[nodiscard]] virtual std::string_view family_of(std::string_view key) const = 0;
};

/// `worker.*.jobs` of a worker's subject, and so on.
[[nodiscard]] std::string subject_family(std::string_view subject);
/// Whether the fields of such hashes have names of their own, and none that are data.
[[nodiscard]] bool has_named_fields(std::string_view family);
/// Whether the text says what its parts are: JSON that is not kept as users wrote it.
[[nodiscard]] bool has_named_members(std::string_view family, std::string_view text);
/// Whether its elements are requests in their wire form.
[[nodiscard]] bool holds_requests(std::string_view family);
/// Whether these are others' keys, which schedulers write nothing of their own to.
[[nodiscard]] bool is_payload_family(std::string_view family);

class OutputNames {
public:
    /// Called with each name that is new in this run; the name lives as long as the run.
    using Told = std::function<void(std::string_view)>;

    /// They outlive this. Without them nothing is looked at.
    void set_families(const KeyFamilies& families) { families_ = &families; }

    void field(std::string_view key, std::string_view field, std::string_view value, const Told& told);
    /// A string, or an element of a list.
    void text(std::string_view key, std::string_view text, const Told& told);
    /// Of a set or a sorted set.
    void member(std::string_view key, const Told& told);
    /// What a node publishes, or asks policy.
    void sent(const fakes::Event& event, const Told& told);

private:
    struct Kind {
        std::set<std::string, std::less<>> members;
        std::uint64_t met = 0;
    };
    Kind* kind_of_key(std::string_view key, std::string_view& family);
    [[nodiscard]] static bool is_looked_at(Kind& kind);
    void tell(Kind& kind, std::string_view kind_name, std::string_view member, const Told& told);
    void message(std::string_view kind_name, const google::protobuf::Message& message, const Told& told);

    const KeyFamilies* families_ = nullptr;
    std::map<std::string, Kind, std::less<>> kinds_;
    std::set<std::string, std::less<>> names_;
    std::string last_key_;
    std::string_view last_family_;
    Kind* last_kind_ = nullptr;
};

}  // namespace lockstep::sim
