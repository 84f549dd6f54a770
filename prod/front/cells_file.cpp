#include "prod/front/cells_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "engine/wire/json_text.h"
#include "engine/wire/text.h"
#include "prod/config/yaml.h"

namespace lockstep::prod {

namespace {

using nlohmann::json;

constexpr std::size_t kCellNameMax = 32;
constexpr std::size_t kSecretMax = 64 * 1024;

bool is_cell_name(std::string_view name) {
    constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789-";
    return !name.empty() && name.size() <= kCellNameMax && name.front() != '-' &&
           name.find_first_not_of(kLetters) == std::string_view::npos;
}

/// Each address of the list `nats://a:1,nats://b:2`.
std::vector<std::string> addresses_of(const std::string& url) {
    std::vector<std::string> all;
    for (std::size_t from = 0; from <= url.size();) {
        const std::size_t comma = std::min(url.find(',', from), url.size());
        all.emplace_back(engine::wire::trim(std::string_view(url).substr(from, comma - from)));
        from = comma + 1;
    }
    return all;
}

class CellsReader {
public:
    CellsReader(const YamlDocument& yaml, const CellsFileRules& rules) : yaml_(yaml), rules_(rules) {
        for (const std::string& address : addresses_of(rules.front_url))
            if (!address.empty()) owners_[address] = "the front itself";
    }

    tl::expected<CellsFile, std::string> read() {
        const json document = engine::wire::sound_json(yaml_.json);
        if (!document.is_object()) {
            mistake("", "expected \"cells:\" with a name and an address at least: cells: {east: {nats: \"nats://…\"}}");
            return refused();
        }
        for (const auto& [key, value] : document.items())
            if (key != "cells" && key != "tenants") mistake("/" + key, "expected cells or tenants");
        read_cells(document.value("cells", json()));
        read_tenants(document.value("tenants", json::object()));
        if (mistakes_.empty() && shared_.empty())
            mistake("/cells", "every cell is dedicated: tenants that are not named have nowhere to go");
        if (!mistakes_.empty()) return refused();
        return CellsFile{std::move(cells_), CellMap(std::move(shared_), std::move(named_))};
    }

private:
    void mistake(const std::string& pointer, std::string_view what) {
        mistakes_ += fmt::format("{}{}: {}{}{}", mistakes_.empty() ? "" : "\n", yaml_.place(pointer), pointer,
                                 pointer.empty() ? "" : " ", what);
    }
    [[nodiscard]] tl::unexpected<std::string> refused() const { return tl::make_unexpected(mistakes_); }

    void read_cells(const json& cells) {
        if (!cells.is_object() || cells.empty()) return mistake("/cells", "expected at least one cell by its name");
        for (const auto& [name, cell] : cells.items()) {
            known_.insert(name);
            const std::string at = "/cells/" + name;
            if (!is_cell_name(name))
                mistake(at, "a cell's name is 1 to 32 of a-z, 0-9 and -, and does not begin with -");
            else if (!cell.is_object())
                mistake(at, "expected a map with \"nats:\", its address");
            else
                read_cell(name, at, cell);
        }
    }

    void read_cell(const std::string& name, const std::string& at, const json& cell) {
        CellAddress address{name, rules_.base};
        NatsOptions& nats = address.nats;
        const std::map<std::string, std::function<void(const std::string& where, const std::string& text)>, std::less<>>
            members{
                {"nats", [&](const auto&, const auto& text) { nats.url = text; }},
                {"creds", [&](const auto&, const auto& text) { nats.credentials_file = text; }},
                {"username", [&](const auto&, const auto& text) { nats.user = text; }},
                {"password_file",
                 [&](const auto& where, const auto& text) { read_secret(where, text, nats.password); }},
                {"token_file", [&](const auto& where, const auto& text) { read_secret(where, text, nats.token); }},
                {"nkey_file", [&](const auto& where, const auto& text) { read_secret(where, text, nats.nkey_seed); }},
                {"tls_ca", [&](const auto&, const auto& text) { nats.tls_ca = text; }},
                {"tls_cert", [&](const auto&, const auto& text) { nats.tls_certificate = text; }},
                {"tls_key", [&](const auto&, const auto& text) { nats.tls_key = text; }},
                {"tls_server_name", [&](const auto&, const auto& text) { nats.tls_server_name = text; }}};
        nats.url.clear();
        bool dedicated = false;
        const std::size_t had = mistakes_.size();
        for (const auto& [key, value] : cell.items()) {
            const std::string where = at + "/" + key;
            if (key == "dedicated" && value.is_boolean())
                dedicated = value.get<bool>();
            else if (key == "dedicated")
                mistake(where, "expected true or false");
            else if (const auto member = members.find(key); member == members.end())
                mistake(where, fmt::format("expected one of dedicated, {}", names_of(members)));
            else if (!value.is_string() || value.get_ref<const std::string&>().empty())
                mistake(where, "expected a text");
            else
                member->second(where, value.get_ref<const std::string&>());
        }
        check_address(at, nats);
        if (mistakes_.size() != had) return;
        if (const auto usable = library_options(nats); !usable) return mistake(at, usable.error());
        if (!dedicated) shared_.push_back(name);
        cells_.push_back(std::move(address));
    }

    template <class Members>
    static std::string names_of(const Members& members) {
        std::string all;
        for (const auto& member : members) all += (all.empty() ? "" : ", ") + member.first;
        return all;
    }

    void check_address(const std::string& at, const NatsOptions& nats) {
        if (nats.url.empty()) return mistake(at, "expected \"nats:\", the address of its NATS");
        const std::string where = at + "/nats";
        if (nats.url.find('@') != std::string::npos)
            return mistake(where, "no log-in here, where it is shown: write username and password_file");
        if (rules_.only_tls && !wants_tls(nats.url))
            mistake(where, "production mode asks for tls://, or CORDUM_NATS_ALLOW_PLAINTEXT=true");
        if (nats.user.empty() != nats.password.empty()) mistake(at, "username and password_file work together only");
        // Addresses of one server may well be two cells, by their accounts.
        if (!nats.user.empty() || !nats.token.empty() || !nats.nkey_seed.empty() || !nats.credentials_file.empty())
            return;
        for (const std::string& address : addresses_of(nats.url)) {
            const auto [owner, is_new] =
                owners_.emplace(address, "cell " + at.substr(std::string_view("/cells/").size()));
            if (!is_new) return mistake(where, fmt::format("{} is the NATS of {} already", address, owner->second));
        }
    }

    void read_secret(const std::string& where, const std::string& file, std::string& target) {
        auto text = read_file(file, kSecretMax);
        if (!text) return mistake(where, text.error());
        if (text->ends_with('\n')) text->pop_back();
        if (text->empty()) return mistake(where, fmt::format("{} is empty", file));
        target = std::move(*text);
    }

    void read_tenants(const json& tenants) {
        if (!tenants.is_object()) return mistake("/tenants", "expected cells by tenants: {acme: east}");
        for (const auto& [tenant, cell] : tenants.items()) {
            const std::string at = (json::json_pointer("/tenants") / tenant).to_string();
            if (tenant.empty() || engine::wire::trim(tenant) != tenant)
                mistake(at, "a tenant's name is not empty, and blanks around it do not count");
            else if (!cell.is_string() || !known_.contains(cell.get_ref<const std::string&>()))
                mistake(at, fmt::format("expected the name of a cell, got {}", engine::wire::json_text(cell)));
            else
                named_[tenant] = cell.get<std::string>();
        }
    }

    const YamlDocument& yaml_;
    const CellsFileRules& rules_;
    std::string mistakes_;
    std::set<std::string, std::less<>> known_;  // names of cells, those with mistakes too
    std::vector<CellAddress> cells_;
    std::vector<std::string> shared_;
    std::map<std::string, std::string, std::less<>> named_;
    std::map<std::string, std::string> owners_;  // by address
};

}  // namespace

tl::expected<CellsFile, std::string> parse_cells_file(const std::string& text, const std::string& file,
                                                      const CellsFileRules& rules) {
    const auto yaml = parse_yaml(text, file);
    if (!yaml) return tl::make_unexpected(yaml.error());
    return CellsReader(*yaml, rules).read();
}

}  // namespace lockstep::prod
