#include "reports/compare/plotter.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include "reports/text.h"

namespace lockstep::reports {

namespace {

using PlotterClock = std::chrono::steady_clock;

std::string reason(int code) { return std::generic_category().message(code); }

class Descriptor {
public:
    Descriptor() = default;
    explicit Descriptor(int descriptor) : descriptor_(descriptor) {}
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor() { close(); }

    void set(int descriptor) {
        close();
        descriptor_ = descriptor;
    }
    void close() {
        if (descriptor_ >= 0) ::close(descriptor_);
        descriptor_ = -1;
    }
    [[nodiscard]] int get() const { return descriptor_; }
    [[nodiscard]] bool open() const { return descriptor_ >= 0; }

private:
    int descriptor_ = -1;
};

/// A stream of the child: our end and its end. A socket, because writing to one whose reader died can be done without a signal.
struct Stream {
    [[nodiscard]] bool make() {
        std::array<int, 2> ends{};
        if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) return false;
        ours.set(ends[0]);
        theirs.set(ends[1]);
        return ::fcntl(ours.get(), F_SETFL, O_NONBLOCK) == 0;
    }
    Descriptor ours;
    Descriptor theirs;
};

class PlotterProcess {
public:
    explicit PlotterProcess(const PlotterOptions& options)
        : options_(options), end_(PlotterClock::now() + options.timeout) {}
    PlotterProcess(const PlotterProcess&) = delete;
    PlotterProcess& operator=(const PlotterProcess&) = delete;
    ~PlotterProcess() {
        if (pid_ <= 0) return;
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }

    tl::expected<std::string, std::string> run(std::string_view script) {
        if (const int code = start(); code != 0) return tl::unexpected(not_started(code));
        while (out_.ours.open() || err_.ours.open()) {
            if (!turn(script))
                return tl::unexpected(
                    fmt::format("{} did not finish within {} ms", options_.program, options_.timeout.count()));
        }
        int status = 0;
        ::waitpid(pid_, &status, 0);
        pid_ = 0;
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return std::move(output_);
        return tl::unexpected(fmt::format("{} failed: {}", options_.program, printable(errors_)));
    }

private:
    [[nodiscard]] std::string not_started(int code) const {
        if (code == ENOENT)
            return fmt::format("{} is not installed (Debian: apt-get install gnuplot-nox)", options_.program);
        return fmt::format("{} cannot be started: {}", options_.program, reason(code));
    }

    /// 0, or the number of the error.
    int start() {
        if (!in_.make() || !out_.make() || !err_.make()) return errno;
        posix_spawn_file_actions_t actions;
        ::posix_spawn_file_actions_init(&actions);
        ::posix_spawn_file_actions_adddup2(&actions, in_.theirs.get(), STDIN_FILENO);
        ::posix_spawn_file_actions_adddup2(&actions, out_.theirs.get(), STDOUT_FILENO);
        ::posix_spawn_file_actions_adddup2(&actions, err_.theirs.get(), STDERR_FILENO);
        std::string program = options_.program;
        std::string no_defaults = "-d";
        std::array<char*, 3> arguments{program.data(), no_defaults.data(), nullptr};
        // Nothing of the caller's surroundings may show in the picture.
        std::string locale = "LC_ALL=C";
        std::array<char*, 2> environment{locale.data(), nullptr};
        const int code =
            ::posix_spawnp(&pid_, program.c_str(), &actions, nullptr, arguments.data(), environment.data());
        ::posix_spawn_file_actions_destroy(&actions);
        for (Stream* stream : {&in_, &out_, &err_}) stream->theirs.close();
        if (code != 0) pid_ = 0;
        return code;
    }

    /// Moves what can be moved; false once the time is up.
    bool turn(std::string_view& script) {
        if (script.empty()) in_.ours.close();
        std::array<pollfd, 3> watched{pollfd{in_.ours.get(), POLLOUT, 0}, pollfd{out_.ours.get(), POLLIN, 0},
                                      pollfd{err_.ours.get(), POLLIN, 0}};
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end_ - PlotterClock::now()).count();
        if (left <= 0) return false;
        const int ready = ::poll(watched.data(), watched.size(), static_cast<int>(left));
        if (ready == 0) return false;
        if (ready < 0) return errno == EINTR;
        if (watched[0].revents != 0) write_some(script);
        if (watched[1].revents != 0) read_some(out_.ours, output_);
        if (watched[2].revents != 0) read_some(err_.ours, errors_);
        return true;
    }

    /// A reader that is gone ends the script; its exit status and words tell why.
    void write_some(std::string_view& script) {
        const ssize_t sent = ::send(in_.ours.get(), script.data(), script.size(), MSG_NOSIGNAL);
        if (sent >= 0)
            script.remove_prefix(static_cast<std::size_t>(sent));
        else if (errno != EAGAIN && errno != EINTR)
            script = {};
    }
    static void read_some(Descriptor& from, std::string& into) {
        std::array<char, 65536> buffer;
        const ssize_t got = ::read(from.get(), buffer.data(), buffer.size());
        if (got > 0)
            into.append(buffer.data(), static_cast<std::size_t>(got));
        else if (got == 0 || (errno != EAGAIN && errno != EINTR))
            from.close();
    }

    const PlotterOptions& options_;
    PlotterClock::time_point end_;
    pid_t pid_ = 0;
    Stream in_;
    Stream out_;
    Stream err_;
    std::string output_;
    std::string errors_;
};

void replace_all(std::string& text, std::string_view from, std::string_view to) {
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
        text.replace(at, from.size(), to);
}

/// Takes out everything from `begin` to `end`, both included.
void remove_spans(std::string& text, std::string_view begin, std::string_view end) {
    for (std::size_t at = text.find(begin); at != std::string::npos; at = text.find(begin, at)) {
        const std::size_t last = text.find(end, at + begin.size());
        if (last == std::string::npos) return;
        text.erase(at, last + end.size() - at);
    }
}

/// The colour that stands for a place in the style, as the style calls it; empty for a colour that is one.
std::string style_colour(int red, int blue) {
    if (red == 0 && blue == 0) return "currentColor";
    if (red == 1) return fmt::format("var(--s{})", blue);
    if (red == 2) return fmt::format("var(--f{})", blue);
    return red == 3 ? "var(--line)" : "";
}

void replace_colours(std::string& text) {
    constexpr std::string_view kBegin = "rgb(";
    for (std::size_t at = text.find(kBegin); at != std::string::npos; at = text.find(kBegin, at + 1)) {
        const std::size_t end = text.find(')', at);
        if (end == std::string::npos) return;
        std::array<int, 3> parts{};
        const char* cursor = text.c_str() + at + kBegin.size();
        for (int& part : parts) {
            char* after = nullptr;
            part = static_cast<int>(std::strtol(cursor, &after, 10));
            cursor = after + 1;
        }
        if (const std::string colour = style_colour(parts[0], parts[2]); !colour.empty())
            text.replace(at, end + 1 - at, colour);
    }
}

/// Groups in which nothing is drawn, of which gnuplot leaves many.
void remove_empty_groups(std::string& text) {
    for (std::size_t size = text.size() + 1; size != text.size();) {
        size = text.size();
        for (std::size_t end = text.find("</g>"); end != std::string::npos; end = text.find("</g>", end + 1)) {
            const std::size_t inside = text.find_last_not_of(" \t\n", end - 1);
            if (inside == std::string::npos || text[inside] != '>') continue;
            const std::size_t begin = text.rfind('<', inside);
            if (text.compare(begin, 3, "<g ") != 0 && text.compare(begin, 3, "<g>") != 0) continue;
            text.erase(begin, end + 4 - begin);
            end = begin;
            if (end > 0) --end;
        }
    }
}

}  // namespace

tl::expected<std::string, std::string> plotted(std::string_view script, const PlotterOptions& options) {
    return PlotterProcess(options).run(script);
}

std::string svg_element(std::string_view document, std::string_view label_escaped) {
    const std::size_t box = document.find("viewBox=\"");
    const std::size_t body = document.find("<g id=\"gnuplot_canvas\">");
    const std::size_t end = document.rfind("</svg>");
    if (box == std::string_view::npos || body == std::string_view::npos || end == std::string_view::npos) return "";
    const std::string_view size = document.substr(box, document.find('"', box + 9) + 1 - box);
    std::string drawing(document.substr(body, end - body));
    remove_spans(drawing, "<defs>", "</defs>");
    remove_spans(drawing, "<title>", "</title>");
    remove_spans(drawing, "<use ", "/>");
    remove_spans(drawing, " id=\"", "\"");
    remove_spans(drawing, " font-family=\"", "\"");
    remove_spans(drawing, " color=\"", "\"");
    replace_all(drawing, "\"black\"", "\"currentColor\"");
    replace_all(drawing, "'black'", "'currentColor'");
    replace_all(drawing, " stroke-linecap=\"butt\" stroke-linejoin=\"miter\"", "");
    replace_all(drawing, "\t", "");
    replace_colours(drawing);
    remove_empty_groups(drawing);
    return fmt::format("<svg {} role=\"img\" aria-label=\"{}\">\n{}</svg>", size, label_escaped, drawing);
}

std::string script_text(std::string_view text, std::size_t length_max) {
    std::string out;
    std::size_t length = 0;
    for (const char c : printable(text)) {
        const auto byte = static_cast<unsigned char>(c);
        const bool continues = (byte & 0xc0U) == 0x80U;
        if (!continues && length == length_max) return out + "…";
        length += continues ? 0 : 1;
        out += byte < 0x20 || std::strchr("'\"`\\@$%", c) != nullptr ? '?' : c;
    }
    return out;
}

}  // namespace lockstep::reports
