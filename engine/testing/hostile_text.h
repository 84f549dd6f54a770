// Texts that a person, another program or a broken file may put where a setting or an option is expected.
#pragma once

#include <fmt/format.h>
#include <rapidcheck.h>

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::engine::testing {

/// From a list of known troublemakers, from numbers of every size, from durations made of them, and from any bytes.
[[nodiscard]] inline rc::Gen<std::string> hostile_text() {
    static const std::vector<std::string> kKnown{"",
                                                 " ",
                                                 "\t\n",
                                                 "-1",
                                                 "-0",
                                                 "+1",
                                                 "0",
                                                 "00",
                                                 "0x10",
                                                 "1e9",
                                                 "1e400",
                                                 "1e-400",
                                                 "nan",
                                                 "-nan",
                                                 "inf",
                                                 "-inf",
                                                 "1.5",
                                                 ".",
                                                 "true",
                                                 "2147483648",
                                                 "4294967296",
                                                 "4294967297",
                                                 "9223372036854775807",
                                                 "9223372036854775808",
                                                 "18446744073709551615",
                                                 "18446744073709551616",
                                                 "-9223372036854775808",
                                                 "99999999999999999999999999",
                                                 "0s",
                                                 "-5s",
                                                 "1ns",
                                                 "87600h",
                                                 "87600h1ns",
                                                 "99999999999h",
                                                 "600000h600000h600000h600000h600000h",
                                                 "1.99999999999999999999s",
                                                 "1\xc2\xb5s",
                                                 "\xff",
                                                 "\xc0\xaf",
                                                 "\xed\xa0\x80",
                                                 "caf\xe9",
                                                 "a=b",
                                                 "=",
                                                 "k=\xff",
                                                 "${x}",
                                                 "%s%n",
                                                 "*",
                                                 ">",
                                                 "a b",
                                                 std::string(1, '\0'),
                                                 std::string(5000, '9'),
                                                 std::string(70'000, 'x')};
    const auto number =
        rc::gen::map(rc::gen::arbitrary<std::int64_t>(), [](std::int64_t n) { return std::to_string(n); });
    const auto duration =
        rc::gen::map(rc::gen::pair(rc::gen::arbitrary<std::uint64_t>(), rc::gen::element("ns", "ms", "s", "m", "h")),
                     [](const auto& of) { return fmt::format("{}{}", of.first, of.second); });
    return rc::gen::oneOf(rc::gen::elementOf(kKnown), number, duration, rc::gen::arbitrary<std::string>());
}

}  // namespace lockstep::engine::testing
