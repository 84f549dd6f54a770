#include "sim/cli/terminal_line.h"

#include <ostream>
#include <utility>

namespace lockstep::sim::cli {

namespace {

constexpr std::string_view kEmptied = "\r\x1b[K";

}  // namespace

TerminalLine::TerminalLine(std::ostream& out, Watcher watcher, Interval interval)
    : out_(out), watcher_(std::move(watcher)), interval_(in_log() ? kLogInterval : interval), last_(now()) {}

bool TerminalLine::due() const {
    if (watcher_.kind == Watcher::Kind::nobody) return false;
    return (!drawn_ && !in_log()) || now() - last_ >= interval_;
}

void TerminalLine::draw(std::string_view text) {
    if (watcher_.kind == Watcher::Kind::nobody) return;
    if (in_log())
        out_ << text << std::endl;
    else
        out_ << kEmptied << text << std::flush;
    last_ = now();
    drawn_ = !in_log();
}

void TerminalLine::clear() {
    if (!drawn_) return;
    out_ << kEmptied << std::flush;
    drawn_ = false;
}

}  // namespace lockstep::sim::cli
