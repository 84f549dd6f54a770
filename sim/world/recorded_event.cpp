#include "sim/world/recorded_event.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "fakes/printable.h"

namespace lockstep::sim {

namespace {

constexpr std::size_t kShownMax = 48;  // bytes of a text, from shortly before the difference
constexpr std::size_t kShownBefore = 8;

enum class Type : std::uint8_t { wide, narrow, tiny, text };

struct Field {
    std::string_view name;
    Type type;
};

// The order of `encode_event`.
constexpr std::array kFields{
    Field{"time", Type::wide},       Field{"node", Type::narrow},   Field{"peer", Type::narrow},
    Field{"event", Type::tiny},      Field{"when", Type::tiny},     Field{"outcome", Type::tiny},
    Field{"flag", Type::tiny},       Field{"sequence", Type::wide}, Field{"number", Type::wide},
    Field{"subject", Type::text},    Field{"job", Type::text},      Field{"command", Type::text},
    Field{"script", Type::text},     Field{"key", Type::text},      Field{"name", Type::text},
    Field{"from", Type::text},       Field{"to", Type::text},       Field{"stream", Type::text},
    Field{"message_id", Type::text}, Field{"payload", Type::text},
};

/// Reads an encoding front to back; nothing once it has run out.
class Reader {
public:
    explicit Reader(std::string_view bytes) : rest_(bytes) {}

    std::optional<std::int64_t> number(std::size_t width) {
        if (rest_.size() < width) return {};
        std::uint64_t bits = 0;
        for (std::size_t i = width; i-- > 0;) bits = bits << 8U | static_cast<unsigned char>(rest_[i]);
        rest_.remove_prefix(width);
        const unsigned unused = 64 - 8 * static_cast<unsigned>(width);
        return static_cast<std::int64_t>(bits << unused) >> unused;
    }
    std::optional<std::string_view> text() {
        const auto size = number(4);
        if (!size || *size < 0 || rest_.size() < static_cast<std::size_t>(*size)) return {};
        const std::string_view found = rest_.substr(0, static_cast<std::size_t>(*size));
        rest_.remove_prefix(found.size());
        return found;
    }
    [[nodiscard]] bool at_end() const { return rest_.empty(); }

private:
    std::string_view rest_;
};

std::string shown(std::string_view text, std::size_t from) {
    std::string out = from > 0 ? "…" : "";
    const std::string_view part = text.substr(std::min(from, text.size()), kShownMax);
    fakes::append_printable(out, part);
    if (from + part.size() < text.size()) out += "…";
    return '"' + out + '"';
}

std::string text_line(std::string_view name, std::string_view a, std::string_view b) {
    if (std::max(a.size(), b.size()) <= kShownMax)
        return fmt::format("{}: {}, then {}", name, shown(a, 0), shown(b, 0));
    const auto parted = std::ranges::mismatch(a, b).in1 - a.begin();
    const std::size_t from = static_cast<std::size_t>(parted) - std::min<std::size_t>(parted, kShownBefore);
    return fmt::format("{}: {} and {} bytes, different from byte {}: {}, then {}", name, a.size(), b.size(), parted,
                       shown(a, from), shown(b, from));
}

constexpr std::size_t width_of(Type type) {
    switch (type) {
        case Type::wide: return 8;
        case Type::narrow: return 4;
        case Type::tiny: return 1;
        case Type::text: break;
    }
    return 0;
}

}  // namespace

std::vector<std::string> differing_fields(const RecordedEvent& a, const RecordedEvent& b) {
    std::vector<std::string> lines;
    Reader in_a(a.bytes);
    Reader in_b(b.bytes);
    for (const Field& field : kFields) {
        if (field.type == Type::text) {
            const auto text_a = in_a.text();
            const auto text_b = in_b.text();
            if (!text_a || !text_b) return {"not the bytes of an event"};
            if (*text_a != *text_b) lines.push_back(text_line(field.name, *text_a, *text_b));
        } else {
            const auto number_a = in_a.number(width_of(field.type));
            const auto number_b = in_b.number(width_of(field.type));
            if (!number_a || !number_b) return {"not the bytes of an event"};
            if (*number_a == *number_b) continue;
            const bool named = field.name == "node";
            lines.push_back(named ? text_line(field.name, a.node, b.node)
                                  : fmt::format("{}: {}, then {}", field.name, *number_a, *number_b));
        }
    }
    if (!in_a.at_end() || !in_b.at_end()) return {"not the bytes of an event"};
    return lines;
}

}  // namespace lockstep::sim
