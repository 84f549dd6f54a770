// The reductions of reductions.h, and what they have in common.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/scenario/document.h"

namespace lockstep::sim::detail {

using Candidates = std::vector<Document>;

void append(Candidates& out, Candidates more);
/// How many elements the list has; 0 when there is none.
[[nodiscard]] std::size_t size_of_list(const Document& document, const char* key);
/// The list without runs of its elements: halves first, then quarters, down to single ones, and of few every two.
[[nodiscard]] Candidates without_parts(const Document& document, const char* key);
/// What may stand in place of a count: one, then ever closer to it.
[[nodiscard]] std::vector<std::int64_t> smaller_counts(std::int64_t count);

// load_reductions.cpp
[[nodiscard]] Candidates fewer_load_lines(const Document& document);
[[nodiscard]] Candidates fewer_jobs(const Document& document);

// time_reductions.cpp
[[nodiscard]] Candidates shorter_run(const Document& document);
[[nodiscard]] Candidates joined_faults(const Document& document);
[[nodiscard]] Candidates shorter_gaps(const Document& document);
[[nodiscard]] Candidates shorter_times(const Document& document);
[[nodiscard]] Candidates earlier_events(const Document& document);

}  // namespace lockstep::sim::detail
