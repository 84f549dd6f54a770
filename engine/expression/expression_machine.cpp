#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "engine/expression/expression_budget.h"
#include "engine/expression/expression_functions.h"
#include "engine/expression/expression_numbers.h"
#include "engine/expression/expression_operators.h"
#include "engine/expression/expression_program.h"

namespace lockstep::engine::expression {

namespace {

using Json = nlohmann::json;

/// A value that stands somewhere, in the scope or among the constants, or one that was made on the way.
class Operand {
public:
    explicit Operand(const Json* seen) : seen_(seen) {}
    explicit Operand(Json made) : made_(std::move(made)) {}

    [[nodiscard]] const Json& value() const { return seen_ == nullptr ? made_ : *seen_; }

    /// The value for keeps, or false when copying it is too much.
    [[nodiscard]] bool take(Json& into, Budget& budget) {
        if (seen_ == nullptr) {
            into = std::move(made_);
            return true;
        }
        if (!budget.spend_value(*seen_)) return false;
        into = *seen_;
        return true;
    }

    /// Makes it a part of what it was, or nil.
    [[nodiscard]] bool narrow(const Json* part, Budget& budget) {
        if (part == nullptr) {
            *this = Operand(Json());
        } else if (seen_ != nullptr) {
            seen_ = part;
        } else {
            if (!budget.spend_value(*part)) return false;
            Json copy = *part;
            made_ = std::move(copy);
        }
        return true;
    }

private:
    const Json* seen_ = nullptr;
    Json made_;
};

class Machine {
public:
    Machine(const Program& program, const Json& scope, Budget& budget)
        : program_(program), scope_(scope), budget_(budget) {}

    tl::expected<Json, ExpressionError> run() {
        for (std::size_t next = 0; next < program_.code.size();) {
            const Instruction& at = program_.code[next++];
            if (!budget_.spend(1)) return failure(at, budget_.reason());
            if (jumps(at)) {
                next = at.argument;
            } else if (auto done = perform(at); !done) {
                return failure(at, std::move(done.error()));
            }
        }
        Json result;
        if (!stack_.back().take(result, budget_))
            return tl::unexpected(ExpressionError{fmt::format("the expression {}", budget_.reason()), 0});
        if (result.is_structured() && result.size() > budget_.limits().items)
            return tl::unexpected(
                ExpressionError{fmt::format("the expression yields {} elements, more than the {} that it may",
                                            result.size(), budget_.limits().items),
                                0});
        return result;
    }

private:
    using Done = tl::expected<void, std::string>;

    /// Whether the way leads to `at.argument` now; does what a branch does to the stack.
    bool jumps(const Instruction& at) {
        const auto top = [this]() -> const Json& { return stack_.back().value(); };
        switch (at.op) {
            case Op::jump: return true;
            case Op::branch_else: {
                const bool other = !truthy(top());
                stack_.pop_back();
                return other;
            }
            case Op::branch_false:
            case Op::branch_true: {
                const bool decided = truthy(top()) == (at.op == Op::branch_true);
                stack_.pop_back();
                if (decided) push(at.op == Op::branch_true);
                return decided;
            }
            case Op::branch_present:
                if (!top().is_null()) return true;
                stack_.pop_back();
                return false;
            default: return false;
        }
    }

    Done perform(const Instruction& at) {
        switch (at.op) {
            case Op::constant: stack_.emplace_back(&program_.constants[at.argument]); return {};
            case Op::variable: {
                static const Json kNil;
                const Json* const found = member(scope_, name(at));
                stack_.emplace_back(found == nullptr ? &kNil : found);
                return {};
            }
            case Op::member: return narrow(member(stack_.back().value(), name(at)));
            case Op::index: {
                const Operand index = pop();
                const auto found = element(stack_.back().value(), index.value());
                if (!found) return tl::unexpected(found.error());
                return narrow(*found);
            }
            case Op::list:
            case Op::map: return gather(at);
            case Op::negate: return replace(negated(pop().value()));
            case Op::affirm: return replace(affirmed(pop().value()));
            case Op::invert: push(!truthy(pop().value())); return {};
            case Op::truth: push(truthy(pop().value())); return {};
            case Op::binary: {
                const Operand right = pop();
                const Operand left = pop();
                return replace(apply(static_cast<BinaryOp>(at.extra), left.value(), right.value(), budget_));
            }
            case Op::call: return replace(function(at.extra).call(pop().value(), budget_));
            case Op::jump:
            case Op::branch_else:
            case Op::branch_false:
            case Op::branch_true:
            case Op::branch_present: break;
        }
        return {};
    }

    /// The last values as one list or map.
    Done gather(const Instruction& at) {
        Json whole = at.op == Op::list ? Json::array() : Json::object();
        const std::size_t first = stack_.size() - at.argument;
        for (std::size_t i = 0; i < at.argument; ++i) {
            Json value;
            if (!stack_[first + i].take(value, budget_)) return tl::unexpected(budget_.reason());
            if (at.op == Op::list)
                whole.push_back(std::move(value));
            else
                whole[program_.constants[at.extra + i].get_ref<const std::string&>()] = std::move(value);
        }
        stack_.erase(stack_.begin() + static_cast<std::ptrdiff_t>(first), stack_.end());
        push(std::move(whole));
        return {};
    }

    Done narrow(const Json* part) {
        if (!stack_.back().narrow(part, budget_)) return tl::unexpected(budget_.reason());
        return {};
    }

    Done replace(Computed<Json> value) {
        if (!value) return tl::unexpected(std::move(value.error()));
        push(std::move(*value));
        return {};
    }

    void push(Json value) { stack_.emplace_back(std::move(value)); }
    Operand pop() {
        Operand top = std::move(stack_.back());
        stack_.pop_back();
        return top;
    }
    const std::string& name(const Instruction& at) const {
        return program_.constants[at.argument].get_ref<const std::string&>();
    }

    tl::unexpected<ExpressionError> failure(const Instruction& at, std::string what) const {
        return tl::unexpected(
            ExpressionError{fmt::format("{} at column {} {}", subject(at), at.column, what), at.column});
    }

    std::string subject(const Instruction& at) const {
        switch (at.op) {
            case Op::binary: return fmt::format("\"{}\"", spelling(static_cast<BinaryOp>(at.extra)));
            case Op::call: return fmt::format("\"{}\"", function(at.extra).name);
            case Op::negate: return "\"-\"";
            case Op::affirm: return "\"+\"";
            case Op::index: return "the index";
            case Op::list: return "the list";
            case Op::map: return "the map";
            default: return "what stands";
        }
    }

    const Program& program_;
    const Json& scope_;
    Budget& budget_;
    std::vector<Operand> stack_;
};

}  // namespace

tl::expected<Json, ExpressionError> run(const Program& program, const Json& scope, Budget& budget) {
    return Machine(program, scope, budget).run();
}

}  // namespace lockstep::engine::expression
