// What is wrong with a file that a user wrote, gathered in the order of the file, each with its line and column.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/config/json_positions.h"
#include "sim/scenario/check.h"
#include "sim/scenario/loader.h"

namespace lockstep::sim {

class LoadErrors {
public:
    /// `text` is the content of `file`; both outlive this.
    LoadErrors(const std::string& file, std::string_view text) : file_(file), text_(text) {}

    /// Something about the file as a whole.
    void plain(std::string message);
    /// `overridden`: what was set from elsewhere, by pointer, and how messages name where it came from.
    void add(const Finding& finding, const engine::Positions& positions,
             const std::map<std::string, std::string>& overridden = {});
    void add(const std::vector<Finding>& findings, const engine::Positions& positions,
             const std::map<std::string, std::string>& overridden = {});

    /// The text as JSON, comments allowed, and where everything stands in it. Nothing when it is none, which has been noted; keys
    /// that stand twice have been noted, too.
    struct Parsed;
    [[nodiscard]] std::optional<Parsed> parse();

    [[nodiscard]] bool empty() const { return errors_.empty(); }
    /// In the order of the file.
    [[nodiscard]] std::vector<LoadError> take();

private:
    void at_offset(std::size_t offset, std::string message);

    const std::string& file_;
    std::string_view text_;
    std::vector<LoadError> errors_;
};

}  // namespace lockstep::sim
