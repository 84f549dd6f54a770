// A scenario file as a document that can be taken apart and put together again: what exploration draws and shrinking
// reduces. Only the loader gives it a meaning.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "sim/scenario/loader.h"

namespace lockstep::sim {

/// Keys keep the order in which they were written.
using Document = nlohmann::ordered_json;

/// The document with line breaks where people would put them: whatever fits stays on one line, the rest is one member per
/// line. Long lists of words fill lines. Ends in a newline.
[[nodiscard]] std::string pretty(const Document& document);

/// The document as the loader understands it; `file` names it in messages.
[[nodiscard]] Loaded<Scenario> parse_document(const Document& document, const std::string& file);

/// The fault as it stands in a file.
[[nodiscard]] Document fault_document(const Fault& fault);

/// What replaces `chaos`: the faults that it draws under this seed, behind those that the file names itself. A document
/// without chaos comes back as it is. `scenario` is the document as loaded.
///
/// The run stays the same, bit by bit, unless chaos heals less than all: what `heal` leaves broken then is drawn at that
/// moment and has no fault of its own.
[[nodiscard]] Document with_chaos_drawn(Document document, const Scenario& scenario, std::uint64_t seed);

}  // namespace lockstep::sim
