// Reads a timeline page as its script does: finds the data, decodes and inflates it. Shared by the tests of the page and of
// what is put on it.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::reports {

struct PageData {
    nlohmann::json head;
    std::vector<std::vector<std::uint64_t>> events;  // ten columns, as they are stored
    std::vector<std::vector<std::uint64_t>> bars;    // six
    [[nodiscard]] const std::vector<std::uint64_t>& numbers() const { return events.at(0); }
};

class PageReader {
public:
    static PageData read(const std::string& page) {
        constexpr std::string_view kBegin = "id=\"data\">";
        const std::size_t begin = page.find(kBegin) + kBegin.size();
        PageReader reader(inflated(decoded(page.substr(begin, page.find("</script>", begin) - begin))));
        PageData data;
        const std::uint64_t size = reader.number();
        data.head = nlohmann::json::parse(reader.bytes_.substr(reader.at_, size));
        reader.at_ += size;
        for (int column = 0; column < 10; ++column) data.events.push_back(reader.column(data.head["events"]));
        for (int column = 0; column < 6; ++column) data.bars.push_back(reader.column(data.head["bars"]));
        if (reader.at_ != reader.bytes_.size()) throw std::runtime_error("something is left behind the last column");
        return data;
    }

private:
    explicit PageReader(std::string bytes) : bytes_(std::move(bytes)) {}

    static std::string decoded(const std::string& text) {
        constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        std::string out;
        std::uint32_t bits = 0;
        int count = 0;
        for (const char c : text) {
            const std::size_t digit = kDigits.find(c);
            if (c == '=') break;
            if (digit == std::string_view::npos) throw std::runtime_error("the data is not base64");
            bits = (bits << 6U) | static_cast<std::uint32_t>(digit);
            count += 6;
            if (count < 8) continue;
            count -= 8;
            out += static_cast<char>((bits >> static_cast<unsigned>(count)) & 0xffU);
        }
        return out;
    }

    static std::string inflated(const std::string& data) {
        std::string out(data.size() * 100 + 4096, '\0');
        uLongf size = out.size();
        if (uncompress(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(data.data()),
                       data.size()) != Z_OK)
            throw std::runtime_error("the data cannot be inflated");
        out.resize(size);
        return out;
    }

    std::uint64_t number() {
        std::uint64_t value = 0;
        for (unsigned shift = 0;; shift += 7U) {
            const auto byte = static_cast<unsigned char>(bytes_.at(at_++));
            value |= std::uint64_t{byte & 0x7fU} << shift;
            if ((byte & 0x80U) == 0) return value;
        }
    }
    std::vector<std::uint64_t> column(std::size_t n) {
        std::vector<std::uint64_t> out(n);
        for (std::uint64_t& value : out) value = number();
        return out;
    }

    std::string bytes_;
    std::size_t at_ = 0;
};

}  // namespace lockstep::reports
