// The command line of a program: commands, options, and what is said of mistakes. It stands between programs and CLI11, whose headers
// take seconds of compilation each time: only the sources of this folder include them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace lockstep::usage {

/// Where the value of an option goes, which stays as it is when the command line does not name the option.
using Target = std::variant<std::string*, std::vector<std::string>*, std::vector<std::uint64_t>*, int*, unsigned*,
                            std::int64_t*, std::uint64_t*, double*, std::optional<int>*, std::optional<std::int64_t>*>;

/// Refuses the command line that is being parsed, with this message: for functions that take a value and for callbacks.
[[noreturn]] void refuse(const std::string& why);

/// A handle. Each setter returns it again.
class Option {
public:
    explicit Option(CLI::Option* option) : option_(option) {}

    /// As help calls the value: FILE, DIR and PATH are paths, which may be any bytes.
    Option type(const char* name) const;
    Option required() const;
    Option expected(int values) const;
    Option repeatable() const;  // one value each time
    Option show_default() const;
    Option environment(const char* variable) const;  // which gives the value when the command line does not
    Option excludes(Option other) const;
    Option needs(const char* other) const;
    Option range(std::int64_t least, std::int64_t most) const;
    Option unsigned_range(std::uint64_t least, std::uint64_t most) const;
    Option real_range(double least, double most) const;
    Option existing_file() const;  // which may be any bytes
    /// Refuses any other word with the nearest of these. Help and completions show them.
    Option one_of(std::vector<std::string> words) const;
    /// Takes an identifier: blanks around it are taken off, and what `identifier_mistake` finds is refused.
    Option identifier() const;
    /// Takes any bytes, as paths and payloads are. Every other option refuses what is not UTF-8, which no message, document or page can
    /// carry.
    Option bytes() const;

private:
    CLI::Option* option_;
};

/// A handle of a program or of a command below it.
class Command {
public:
    explicit Command(CLI::App* app) : app_(app) {}

    [[nodiscard]] Command subcommand(const std::string& name, const std::string& help) const;
    /// `names`: "-j,--jobs", or for an argument by its place a word without dashes.
    Option option(const std::string& names, Target target, const std::string& help = {}) const;
    Option option(const std::string& names, std::function<void(const std::string&)> take,
                  const std::string& help) const;
    Option flag(const std::string& names, bool* target, const std::string& help) const;
    /// `--version`, of which `text` makes what is printed: one object where the command line has `--json` as well.
    void version_flag(std::function<std::string(bool as_json)> text, const std::string& help) const;
    void footer(const std::string& text) const;
    void require_subcommand() const;  // exactly one
    void fallthrough() const;         // its options may stand behind a command below it, too
    void on_parsed(std::function<void()> callback) const;
    /// Has mistakes name the option or the command that there is not, with the nearest one, before whatever else is wrong. Called
    /// before subcommands are added, which inherit it.
    void explain_refusals() const;

    [[nodiscard]] std::string name() const;
    [[nodiscard]] std::string help() const;
    [[nodiscard]] std::vector<Command> subcommands() const;
    /// With their dashes; `only_given`: of those that the command line names.
    [[nodiscard]] std::vector<std::string> option_names(bool only_given = false) const;
    [[nodiscard]] bool parsed() const;
    /// For the sources of this folder.
    [[nodiscard]] CLI::App& app() const { return *app_; }

private:
    CLI::App* app_;
};

/// Trims `text`, and says what else keeps it from being the identifier of a job, a topic, a tenant, a label or the like: it is blank,
/// too long or not UTF-8. Empty: nothing.
[[nodiscard]] std::string identifier_mistake(std::string& text);

class Program : public Command {
public:
    /// What ends the parse instead of a command: help or the version (code 0), or a mistake.
    struct Ending {
        int code = 0;
        std::string text;
    };

    /// `name`: empty for the one that it is started by.
    explicit Program(const std::string& description, const std::string& name = {});
    ~Program();

    [[nodiscard]] std::optional<Ending> parse(std::vector<std::string> words) const;
    /// Prints what ends it, and returns the code.
    [[nodiscard]] std::optional<int> parse(int argc, const char* const* argv) const;

private:
    std::unique_ptr<CLI::App> own_;
};

}  // namespace lockstep::usage
