#include "fakes/policy/pattern.h"

#include <optional>
#include <utility>

namespace lockstep::fakes::policy {
namespace {

bool word_byte(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool holds(PatternStep::Assertion assertion, std::string_view content, std::size_t at) {
    const auto word_edge = [&] {
        const bool before = at > 0 && word_byte(content[at - 1]);
        const bool after = at < content.size() && word_byte(content[at]);
        return before != after;
    };
    switch (assertion) {
        case PatternStep::Assertion::text_begin: return at == 0;
        case PatternStep::Assertion::text_end: return at == content.size();
        case PatternStep::Assertion::line_begin: return at == 0 || content[at - 1] == '\n';
        case PatternStep::Assertion::line_end: return at == content.size() || content[at] == '\n';
        case PatternStep::Assertion::word_edge: return word_edge();
        case PatternStep::Assertion::no_word_edge: return !word_edge();
    }
    return false;
}

/// One of the ways in which a match may still come about.
struct Thread {
    std::uint32_t step;
    std::size_t begin;
};

/// Runs all threads of a program side by side, one byte at a time, in order of preference.
class Matcher {
public:
    Matcher(const std::vector<PatternStep>& program, std::string_view content, std::uint64_t& budget)
        : program_(program), content_(content), budget_(budget), seen_(program.size(), 0) {}

    /// The leftmost match that begins at or after `from`. `first` speeds up the search for a beginning; null when a
    /// match can be empty. Once the budget is used up it means nothing.
    std::optional<Pattern::Span> find(std::size_t from, const ByteSet* first) {
        std::optional<Pattern::Span> best;
        current_.clear();
        for (std::size_t at = from; budget_ > 0; ++at) {
            if (current_.empty()) {
                if (best) return best;
                while (first != nullptr && at < content_.size() && !first->test(byte(at))) ++at;
            }
            // A later beginning has the lowest preference, and none at all once there is a match. Steps that an earlier
            // beginning has reached at this place are taken: they were marked when `current_` was filled.
            if (!best) follow(current_, 0, at, at, current_.empty());
            if (current_.empty() && at >= content_.size()) return best;
            advance(at, best);
            if (at >= content_.size()) return best;
            std::swap(current_, next_);
        }
        return std::nullopt;
    }

private:
    [[nodiscard]] unsigned char byte(std::size_t at) const { return static_cast<unsigned char>(content_[at]); }

    void advance(std::size_t at, std::optional<Pattern::Span>& best) {
        next_.clear();
        bool fresh = true;
        for (const Thread& thread : current_) {
            const PatternStep& step = program_[thread.step];
            if (step.kind == PatternStep::Kind::match) {
                best = Pattern::Span{thread.begin, at - thread.begin};
                break;  // whatever comes later is less preferred
            }
            if (at < content_.size() && step.set.test(byte(at))) {
                follow(next_, thread.step + 1, thread.begin, at + 1, std::exchange(fresh, false));
            }
        }
    }

    /// Adds the threads that stand at `step` after all moves that cost no byte. `fresh` begins a new place.
    void follow(std::vector<Thread>& threads, std::uint32_t start, std::size_t begin, std::size_t at, bool fresh) {
        if (fresh) ++mark_;
        pending_.push_back(start);
        while (!pending_.empty()) {
            const std::uint32_t index = pending_.back();
            pending_.pop_back();
            if (budget_ > 0) --budget_;
            if (seen_[index] == mark_) continue;
            seen_[index] = mark_;
            const PatternStep& step = program_[index];
            switch (step.kind) {
                case PatternStep::Kind::split:
                    pending_.push_back(step.otherwise);
                    pending_.push_back(step.next);
                    break;
                case PatternStep::Kind::jump: pending_.push_back(step.next); break;
                case PatternStep::Kind::assertion:
                    if (holds(step.assertion, content_, at)) pending_.push_back(index + 1);
                    break;
                case PatternStep::Kind::byte:
                case PatternStep::Kind::match: threads.push_back({index, begin}); break;
            }
        }
    }

    const std::vector<PatternStep>& program_;
    std::string_view content_;
    std::uint64_t& budget_;
    std::vector<std::uint64_t> seen_;  // by step: the mark of the place at which it was last reached
    std::uint64_t mark_ = 0;
    std::vector<Thread> current_;
    std::vector<Thread> next_;
    std::vector<std::uint32_t> pending_;
};

}  // namespace

Pattern::Pattern(std::string text, std::vector<PatternStep> program)
    : text_(std::move(text)), program_(std::move(program)) {
    std::vector<bool> seen(program_.size(), false);
    std::vector<std::uint32_t> pending{0};
    while (!pending.empty()) {
        const std::uint32_t index = pending.back();
        pending.pop_back();
        if (seen[index]) continue;
        seen[index] = true;
        const PatternStep& step = program_[index];
        switch (step.kind) {
            case PatternStep::Kind::byte: first_ |= step.set; break;
            case PatternStep::Kind::match: can_be_empty_ = true; break;
            case PatternStep::Kind::assertion: pending.push_back(index + 1); break;
            case PatternStep::Kind::split: pending.push_back(step.otherwise); [[fallthrough]];
            case PatternStep::Kind::jump: pending.push_back(step.next); break;
        }
    }
}

tl::expected<Pattern, std::string> Pattern::compile(std::string_view text) {
    auto program = parse_pattern(text);
    if (!program) return tl::unexpected(std::move(program.error()));
    return Pattern(std::string(text), std::move(*program));
}

std::optional<std::vector<Pattern::Span>> Pattern::find_all(std::string_view content, std::uint64_t& budget) const {
    std::vector<Span> spans;
    Matcher matcher(program_, content, budget);
    for (std::size_t from = 0; from <= content.size() && budget > 0;) {
        const auto found = matcher.find(from, can_be_empty_ ? nullptr : &first_);
        if (budget == 0) break;
        if (!found) return spans;
        if (found->length > 0) spans.push_back(*found);
        from = found->offset + (found->length > 0 ? found->length : 1);
    }
    if (budget == 0) return std::nullopt;
    return spans;
}

}  // namespace lockstep::fakes::policy
