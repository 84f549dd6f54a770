#include "prod/config/yaml.h"

#include <fmt/core.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/wire/json_text.h"

namespace lockstep::prod {

namespace {

using nlohmann::json;

/// Generous for a hand-written file; a document beyond it is a trap made of aliases.
constexpr int kDepthMax = 64;
constexpr std::size_t kValuesMax = 200'000;

class Converter {
public:
    explicit Converter(YamlDocument& document) : document_(document) {}

    json convert(const YAML::Node& node, const std::string& pointer, int depth) {
        if (node.Mark().line >= 0) document_.lines.emplace(pointer, node.Mark().line + 1);
        if (depth > kDepthMax || ++values_ > kValuesMax) throw Error(node, "nested too deeply or too large");
        switch (node.Type()) {
            case YAML::NodeType::Scalar: return scalar(node);
            case YAML::NodeType::Sequence: {
                json list = json::array();
                std::size_t index = 0;
                for (const auto& element : node)
                    list.push_back(convert(element, fmt::format("{}/{}", pointer, index++), depth + 1));
                return list;
            }
            case YAML::NodeType::Map: {
                json object = json::object();
                for (const auto& member : node) {
                    if (!member.first.IsScalar()) throw Error(member.first, "keys must be plain text");
                    const std::string key = member.first.Scalar();
                    if (object.contains(key))
                        throw Error(member.first, fmt::format("\"{}\" stands here for the second time", key));
                    object[key] = convert(member.second, pointer + (json::json_pointer() / key).to_string(), depth + 1);
                }
                return object;
            }
            default: return nullptr;
        }
    }

    struct Error : std::runtime_error {
        Error(const YAML::Node& node, const std::string& what) : runtime_error(what), line(node.Mark().line + 1) {}
        int line;
    };

private:
    static json scalar(const YAML::Node& node) {
        const std::string& text = node.Scalar();
        if (node.Tag() != "?") return text;  // quoted, or a tag that says text
        if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") return nullptr;
        if (text == "true" || text == "True" || text == "TRUE") return true;
        if (text == "false" || text == "False" || text == "FALSE") return false;
        const char* const end = text.data() + text.size();
        std::int64_t whole = 0;
        const auto integer = std::from_chars(text.data() + (text[0] == '+' ? 1 : 0), end, whole);
        if (integer.ec == std::errc{} && integer.ptr == end) return whole;
        double number = 0;
        const bool numeric = text.find_first_not_of("+-0123456789.eE") == std::string::npos;
        if (numeric) {
            const auto real = std::from_chars(text.data() + (text[0] == '+' ? 1 : 0), end, number);
            if (real.ec == std::errc{} && real.ptr == end) return number;
        }
        return text;
    }

    YamlDocument& document_;
    std::size_t values_ = 0;
};

/// Sees to it that nothing stands in a second document. The library's own loader of all documents is not used: it never
/// comes back from some texts with a stray comma behind `---`.
class OneDocument final : public YAML::EventHandler {
public:
    struct Second {
        int line;
    };

    /// Throws Second.
    void watch(std::string_view text) {
        std::istringstream stream{std::string(text)};
        YAML::Parser parser(stream);
        // A second one that is empty may be the mark at the end of the file; a third never is.
        for (int i = 0; i < 3 && parser.HandleNextDocument(*this); ++i) {
        }
    }

    void OnDocumentStart(const YAML::Mark& mark) override {
        if (++documents_ > 2) throw Second{mark.line + 1};
    }
    void OnDocumentEnd() override {}
    void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
    void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { see(mark); }
    void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t, const std::string&) override {
        see(mark);
    }
    void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                         YAML::EmitterStyle::value) override {
        see(mark);
    }
    void OnSequenceEnd() override {}
    void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {
        see(mark);
    }
    void OnMapEnd() override {}

private:
    void see(const YAML::Mark& mark) const {
        if (documents_ > 1) throw Second{mark.line + 1};
    }
    int documents_ = 0;
};

}  // namespace

std::string YamlDocument::place(std::string_view pointer) const {
    while (true) {
        if (const auto found = lines.find(pointer); found != lines.end())
            return fmt::format("{}:{}", file, found->second);
        const auto slash = pointer.rfind('/');
        if (slash == std::string_view::npos) return file;
        pointer = pointer.substr(0, slash);
    }
}

tl::expected<YamlDocument, std::string> parse_yaml(std::string_view text, std::string file) {
    YamlDocument document;
    document.file = std::move(file);
    const auto refuse = [&](int line, std::string_view what) {
        return tl::make_unexpected(fmt::format("{}:{}: {}", document.file, line, what));
    };
    try {
        OneDocument().watch(text);
        const YAML::Node root = YAML::Load(std::string(text));
        document.json = engine::wire::json_text(Converter(document).convert(root, "", 0));
    } catch (const OneDocument::Second& second) {
        return refuse(second.line, "a second document; one is expected");
    } catch (const Converter::Error& error) {
        return refuse(error.line, error.what());
    } catch (const YAML::Exception& error) {
        return refuse(error.mark.line + 1, error.msg);
    }
    return document;
}

tl::expected<std::string, std::string> read_file(const std::string& path, std::size_t max_bytes) {
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored))
        return tl::make_unexpected(fmt::format("cannot read {}: it is a directory", path));
    errno = 0;
    std::ifstream in(path, std::ios::binary);
    // No more than is taken: a device never ends.
    std::string text(max_bytes + 1, '\0');
    if (in) in.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (in.bad() || (!in && !in.eof()))
        return tl::make_unexpected(fmt::format("cannot read {}: {}", path, std::strerror(errno != 0 ? errno : EIO)));
    text.resize(static_cast<std::size_t>(in.gcount()));
    if (text.size() > max_bytes) return tl::make_unexpected(fmt::format("{} is larger than {} bytes", path, max_bytes));
    return text;
}

}  // namespace lockstep::prod
