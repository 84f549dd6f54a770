#include "engine/expression/expression_template.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "engine/expression/expression_budget.h"
#include "engine/expression/expression_numbers.h"
#include "engine/expression/expression_program.h"
#include "engine/expression/utf8.h"
#include "engine/wire/json_text.h"
#include "engine/wire/text.h"

namespace lockstep::engine {

namespace {

using Json = nlohmann::json;
using Filled = tl::expected<Json, ExpressionError>;

constexpr std::string_view kOpening = "${";

/// The place of the brace that closes an expression which begins at `place`, or `npos`.
std::size_t closing_brace(std::string_view text, std::size_t place) {
    char quote = 0;
    std::size_t open = 0;
    for (; place < text.size(); ++place) {
        const char c = text[place];
        if (quote != 0) {
            if (c == '\\')
                ++place;
            else if (c == quote)
                quote = 0;
        } else if (c == '"' || c == '\'') {
            quote = c;
        } else if (c == '{') {
            ++open;
        } else if (c == '}') {
            if (open == 0) return place;
            --open;
        }
    }
    return std::string_view::npos;
}

/// One `${…}` of a text, and the plain text before it.
struct TemplatePiece {
    std::string_view plain;
    /// Nothing behind the last expression.
    std::optional<std::string_view> expression;
    /// Of the expression in the text, in characters from 1.
    std::uint32_t column = 0;
};

/// Cuts a text into pieces, one at a time.
class TemplateText {
public:
    explicit TemplateText(std::string_view text) : text_(text) {}

    [[nodiscard]] bool at_end() const { return done_; }

    [[nodiscard]] tl::expected<TemplatePiece, ExpressionError> next() {
        const std::size_t opening = text_.find(kOpening, place_);
        TemplatePiece piece{text_.substr(place_, opening - place_), std::nullopt};
        if (opening == std::string_view::npos) {
            done_ = true;
            return piece;
        }
        advance(opening);
        const std::size_t closing = closing_brace(text_, opening + kOpening.size());
        if (closing == std::string_view::npos)
            return tl::unexpected(
                ExpressionError{fmt::format("\"${{\" at column {} is not closed by \"}}\"", column_), column_});
        advance(opening + kOpening.size());
        piece.expression = text_.substr(place_, closing - place_);
        piece.column = column_;
        advance(closing + 1);
        return piece;
    }

private:
    /// Counts on from where it is: counted anew for each piece, a long text would take its square.
    void advance(std::size_t place) {
        column_ += static_cast<std::uint32_t>(characters_of(text_.substr(place_, place - place_)));
        place_ = place;
    }

    std::string_view text_;
    std::size_t place_ = 0;
    std::uint32_t column_ = 1;
    bool done_ = false;
};

/// The expression of a text in which there is nothing else but white space.
std::optional<TemplatePiece> only_expression(std::string_view text) {
    const std::string_view trimmed = wire::trim(text);
    if (!trimmed.starts_with(kOpening)) return std::nullopt;
    const auto piece = TemplateText(text).next();
    if (!piece || piece->expression->data() + piece->expression->size() + 1 != trimmed.data() + trimmed.size())
        return std::nullopt;
    return *piece;
}

/// How a value stands in a text.
std::string as_text(const Json& value) {
    if (value.is_null()) return {};
    if (value.is_string()) return value.get<std::string>();
    const Json number = value.is_number() ? expression::affirmed(value).value_or(value) : Json();
    return wire::json_text(value.is_number() ? number : value);
}

/// Fills a document within one budget.
class TemplateFiller {
public:
    TemplateFiller(const Json& scope, const ExpressionLimits& limits) : scope_(scope), budget_(limits) {}

    Filled fill(const Json& pattern) {
        Json result;
        if (!document(pattern, result, budget_.limits().depth)) return tl::unexpected(std::move(error_));
        return result;
    }

private:
    // Each of these is false after a mistake, which is in `error_` then, and its pointer grows on the way back.

    bool document(const Json& pattern, Json& into, std::size_t depth) {
        if (pattern.is_string()) return text(pattern.get_ref<const std::string&>(), into, depth);
        if (!budget_.spend(1)) return refuse();
        if (!pattern.is_structured() || pattern.empty()) {
            into = pattern;
            return true;
        }
        if (depth == 0) {
            error_.what = fmt::format("the document is nested deeper than {}", budget_.limits().depth);
            return false;
        }
        into = pattern.is_array() ? Json::array() : Json::object();
        if (pattern.is_array()) {
            for (const Json& one : pattern) {
                Json value;
                if (!document(one, value, depth - 1)) return inside(into.size());
                into.push_back(std::move(value));
            }
            return true;
        }
        for (const auto& [key, one] : pattern.get_ref<const Json::object_t&>()) {
            Json value;
            if (!document(one, value, depth - 1)) return inside(key);
            if (value.is_null() && !one.is_null()) continue;
            if (!budget_.keep(key.size())) return refuse();
            into[key] = std::move(value);
        }
        return true;
    }

    bool text(std::string_view text, Json& into, std::size_t depth) {
        if (!budget_.spend_text(text.size())) return refuse();
        if (const auto only = only_expression(text)) {
            if (!evaluate_into(*only, into)) return false;
            return budget_.keep_value(into, depth) || refuse();
        }
        std::string filled;
        TemplateText rest(text);
        while (!rest.at_end()) {
            const auto piece = rest.next();
            if (!piece) {
                error_ = piece.error();
                return false;
            }
            if (!append(filled, piece->plain)) return false;
            if (!piece->expression) continue;
            Json value;
            if (!evaluate_into(*piece, value)) return false;
            // Costs what it is long, and no document is written out that is too deep for it.
            if (!budget_.spend_value(value)) return refuse();
            if (!append(filled, as_text(value))) return false;
        }
        into = std::move(filled);
        return true;
    }

    bool append(std::string& filled, std::string_view more) {
        if (!budget_.keep(more.size())) return refuse();
        filled += more;
        return true;
    }

    bool evaluate_into(const TemplatePiece& piece, Json& into) {
        const auto program = expression::compiled(*piece.expression, budget_.limits(), piece.column);
        if (!program) {
            error_ = program.error();
            return false;
        }
        auto value = expression::run(*program, scope_, budget_);
        if (!value) {
            error_ = std::move(value.error());
            return false;
        }
        into = std::move(*value);
        return true;
    }

    bool refuse() {
        error_.what = fmt::format("the document {}", budget_.reason());
        return false;
    }

    template <class Token>
    bool inside(const Token& token) {
        error_.pointer = (Json::json_pointer() / token).to_string() + error_.pointer;
        return false;
    }

    const Json& scope_;
    expression::Budget budget_;
    ExpressionError error_;
};

/// Deeper, the pieces of a document are not looked at: it is refused when it is filled.
void collect_mistakes(const Json& pattern, const std::string& pointer, const ExpressionLimits& limits,
                      std::size_t depth, std::vector<ExpressionError>& mistakes) {
    if (pattern.is_string()) {
        TemplateText rest(pattern.get_ref<const std::string&>());
        while (!rest.at_end()) {
            const auto piece = rest.next();
            auto mistake = piece ? std::optional<ExpressionError>{} : std::optional(piece.error());
            if (piece && piece->expression) {
                const auto program = expression::compiled(*piece->expression, limits, piece->column);
                if (!program) mistake = program.error();
            }
            if (mistake) {
                mistake->pointer = pointer;
                mistakes.push_back(std::move(*mistake));
            }
            if (!piece) return;
        }
        return;
    }
    if (!pattern.is_structured() || pattern.empty()) return;
    if (depth == 0) {
        mistakes.push_back({fmt::format("the document is nested deeper than {}", limits.depth), 0, pointer});
        return;
    }
    if (pattern.is_array()) {
        for (std::size_t i = 0; i < pattern.size(); ++i)
            collect_mistakes(pattern[i], pointer + "/" + std::to_string(i), limits, depth - 1, mistakes);
        return;
    }
    for (const auto& [key, one] : pattern.get_ref<const Json::object_t&>())
        collect_mistakes(one, pointer + (Json::json_pointer() / key).to_string(), limits, depth - 1, mistakes);
}

}  // namespace

Filled fill_template(const Json& pattern, const Json& scope, const ExpressionLimits& limits) {
    return TemplateFiller(scope, limits).fill(pattern);
}

std::vector<ExpressionError> template_mistakes(const Json& pattern, const ExpressionLimits& limits) {
    std::vector<ExpressionError> mistakes;
    collect_mistakes(pattern, "", limits, limits.depth, mistakes);
    return mistakes;
}

}  // namespace lockstep::engine
