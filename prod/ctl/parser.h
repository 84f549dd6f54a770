// The command line of lockstepctl: every command with its options. Completions and the manual page are made from it, so that
// they know what it knows.
#pragma once

#include <memory>
#include <string>
#include <tl/expected.hpp>

#include "prod/ctl/command_line.h"
#include "reports/usage/command.h"

namespace lockstep::prod {

class Parser {
public:
    struct Arguments;

    Parser();
    ~Parser();
    Parser(const Parser&) = delete;
    Parser& operator=(const Parser&) = delete;

    /// The error is the exit code, after help, the version or what is wrong has been printed.
    [[nodiscard]] tl::expected<void, int> parse(int argc, const char* const* argv);

    [[nodiscard]] const usage::Command& app() const { return app_; }
    /// What was asked for, once it has been parsed. It refers to this parser.
    [[nodiscard]] const Chosen& chosen() const { return chosen_; }
    /// Addresses that were given; empty: the environment says.
    [[nodiscard]] const std::string& nats() const { return nats_; }
    [[nodiscard]] const std::string& redis() const { return redis_; }

private:
    usage::Program app_;
    std::unique_ptr<Arguments> arguments_;
    std::string nats_;
    std::string redis_;
    Chosen chosen_;
};

}  // namespace lockstep::prod
