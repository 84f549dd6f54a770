#include "engine/config/json_positions.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/wire/json_text.h"

namespace lockstep::engine {

namespace {

/// Walks the characters of a valid document. A stack of open containers instead of recursion: the text is foreign.
class Walker {
public:
    explicit Walker(std::string_view text) : text_(text) {}

    Positions run() {
        while (skip_blank(), at_ < text_.size() && !positions_.too_deep) step();
        return std::move(positions_);
    }

private:
    struct Container {
        std::string pointer;
        bool object = false;
        bool expects_key = false;
        std::size_t index = 0;      // of the next element
        std::string value_pointer;  // of the member whose value comes next
    };

    void step() {
        const char c = text_[at_];
        if (c == '{' || c == '[') return open(c == '{');
        if (c == '}' || c == ']') {
            if (!stack_.empty()) stack_.pop_back();
            advance();
        } else if (c == ',') {
            if (!stack_.empty()) stack_.back().expects_key = stack_.back().object;
            advance();
        } else if (c == '"' && !stack_.empty() && stack_.back().expects_key) {
            key();
        } else if (c == ':') {
            advance();
        } else {
            begin_value();
            if (c == '"')
                string();
            else
                while (at_ < text_.size() && std::string_view(",]} \t\r\n/").find(text_[at_]) == std::string_view::npos)
                    advance();
        }
    }

    void open(bool object) {
        const std::string pointer = begin_value();
        stack_.push_back({.pointer = pointer, .object = object, .expects_key = object});
        positions_.too_deep = stack_.size() > kNestingMax;
        advance();
    }

    /// The pointer of the value that starts here, its position noted unless its key already has one.
    std::string begin_value() {
        if (stack_.empty()) {
            positions_.by_pointer.emplace("", here());
            return {};
        }
        Container& container = stack_.back();
        if (container.object) return container.value_pointer;
        std::string pointer = child_pointer(container.pointer, std::to_string(container.index++));
        positions_.by_pointer.emplace(pointer, here());
        return pointer;
    }

    void key() {
        const Position start = here();
        const std::string_view quoted = string();
        Container& container = stack_.back();
        container.expects_key = false;
        container.value_pointer = child_pointer(container.pointer, wire::sound_json(quoted).get<std::string>());
        const auto [entry, first] = positions_.by_pointer.emplace(container.value_pointer, start);
        if (!first) positions_.duplicates.push_back({container.value_pointer, entry->second, start});
    }

    std::string_view string() {
        const std::size_t start = at_;
        advance();
        while (at_ < text_.size() && text_[at_] != '"') {
            if (text_[at_] == '\\') advance();
            if (at_ < text_.size()) advance();
        }
        if (at_ < text_.size()) advance();
        return text_.substr(start, at_ - start);
    }

    void skip_blank() {
        while (at_ < text_.size()) {
            const std::string_view rest = text_.substr(at_);
            if (rest.starts_with("//")) {
                while (at_ < text_.size() && text_[at_] != '\n') advance();
            } else if (rest.starts_with("/*")) {
                const std::size_t end = std::min(text_.find("*/", at_ + 2), text_.size() - 2) + 2;
                while (at_ < end) advance();
            } else if (rest.starts_with("\xEF\xBB\xBF")) {
                at_ += 3;
            } else if (std::string_view(" \t\r\n").find(rest[0]) != std::string_view::npos) {
                advance();
            } else {
                return;
            }
        }
    }

    void advance() {
        if (text_[at_] == '\n') {
            ++line_;
            line_start_ = at_ + 1;
        }
        ++at_;
    }

    [[nodiscard]] Position here() const { return {line_, static_cast<int>(at_ - line_start_) + 1}; }

    std::string_view text_;
    std::size_t at_ = 0;
    int line_ = 1;
    std::size_t line_start_ = 0;
    std::vector<Container> stack_;
    Positions positions_;
};

}  // namespace

std::string child_pointer(std::string_view parent, std::string_view name) {
    std::string pointer(parent);
    pointer += '/';
    for (const char c : name) {
        if (c == '~')
            pointer += "~0";
        else if (c == '/')
            pointer += "~1";
        else
            pointer += c;
    }
    return pointer;
}

Positions locate(std::string_view text) { return Walker(text).run(); }

Position position_at(std::string_view text, std::size_t offset) {
    const std::string_view before = text.substr(0, std::min(offset, text.size()));
    const auto line_break = before.rfind('\n');
    const std::size_t line_start = line_break == std::string_view::npos ? 0 : line_break + 1;
    return {static_cast<int>(std::ranges::count(before, '\n')) + 1, static_cast<int>(before.size() - line_start) + 1};
}

}  // namespace lockstep::engine
