// What the outputs of schedulers and workflow engines are called in the register of outputs, as a run shows them: `job:meta:* state`,
// `dlq:entry:* reason_code`, `worker.*.jobs job_request.topic`. A name is told once; of documents and messages of a kind the first ones
// are looked at, and of the others one in so many.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "engine/wire/fwd.h"
#include "fakes/by_text.h"
#include "fakes/event.h"
#include "sim/model/recent_texts.h"

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
    void metric(std::string_view name, bool has_labels, const Told& told);
    /// What a node publishes, or asks policy.
    void sent(const fakes::Event& event, const Told& told);

private:
    struct Kind {
        std::string name;
        fakes::ByText<std::string> told;  // the whole names, by their members
        std::uint64_t met = 0;
    };
    /// Null: nothing is to be told of such a key.
    Kind* kind_of_key(std::string_view key);
    Kind& kind_of(std::string_view name);
    [[nodiscard]] static bool is_looked_at(Kind& kind);
    static void tell(Kind& kind, std::string_view member, const Told& told);
    static void message(Kind& kind, const google::protobuf::Message& message, const Told& told);

    const KeyFamilies* families_ = nullptr;
    fakes::ByText<Kind> kinds_;
    RecentTexts<Kind*, 512> of_keys_;
};

}  // namespace lockstep::sim
