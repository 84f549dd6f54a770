#include "sim/search/reduction_parts.h"

#include <algorithm>
#include <iterator>

namespace lockstep::sim::detail {

namespace {

/// Two that are of no use without each other go together; of more than this, the pairs are too many.
constexpr std::size_t kPairsOf = 8;

template <class Keep>
Document with_list(const Document& document, const char* key, Keep keep) {
    Document smaller = document;
    Document rest = Document::array();
    for (std::size_t i = 0; i < document[key].size(); ++i) {
        if (keep(i)) rest.push_back(document[key][i]);
    }
    if (rest.empty())
        smaller.erase(key);
    else
        smaller[key] = std::move(rest);
    return smaller;
}

}  // namespace

void append(Candidates& out, Candidates more) { std::ranges::move(more, std::back_inserter(out)); }

std::size_t size_of_list(const Document& document, const char* key) {
    const auto found = document.find(key);
    return found != document.end() && found->is_array() ? found->size() : 0;
}

Candidates without_parts(const Document& document, const char* key) {
    Candidates out;
    const std::size_t size = size_of_list(document, key);
    for (std::size_t length = size; length > 0; length /= 2) {
        for (std::size_t from = 0; from + length <= size; from += length)
            out.push_back(with_list(document, key, [&](std::size_t i) { return i < from || i >= from + length; }));
    }
    if (size > kPairsOf) return out;
    for (std::size_t one = 0; one < size; ++one) {
        for (std::size_t other = one + 2; other < size; ++other)
            out.push_back(with_list(document, key, [&](std::size_t i) { return i != one && i != other; }));
    }
    return out;
}

std::vector<std::int64_t> smaller_counts(std::int64_t count) {
    std::vector<std::int64_t> out;
    for (const std::int64_t next : {std::int64_t{1}, count / 4, count / 2, count * 3 / 4, count - 1}) {
        if (next >= 1 && next < count && std::ranges::find(out, next) == out.end()) out.push_back(next);
    }
    return out;
}

}  // namespace lockstep::sim::detail
