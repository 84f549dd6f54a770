#include "sim/cli/terminal_line.h"

#include <ostream>

namespace lockstep::sim::cli {

namespace {

constexpr std::string_view kEmptied = "\r\x1b[K";

}  // namespace

bool TerminalLine::due() const { return watched_ && (!drawn_ || Wall::now() - last_ >= interval_); }

void TerminalLine::draw(std::string_view text) {
    if (!watched_) return;
    out_ << kEmptied << text << std::flush;
    last_ = Wall::now();
    drawn_ = true;
}

void TerminalLine::clear() {
    if (!drawn_) return;
    out_ << kEmptied << std::flush;
    drawn_ = false;
}

}  // namespace lockstep::sim::cli
