// Which cell a tenant belongs to, and the file that says so.
#include "prod/front/cells_file.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "fakes/testing/server_process.h"

namespace lockstep::prod {
namespace {

CellMap hashed(std::vector<std::string> cells) { return {std::move(cells), {}}; }

// Computed beside this program with another SHA-256: a tenant whose jobs are in one cell must not be looked for in another after an
// upgrade.
TEST(CellMap, SaysForEverWhatTheDocumentedHashSays) {
    const CellMap map = hashed({"east", "north", "west"});
    EXPECT_EQ(map.cell_of("acme"), "west");
    EXPECT_EQ(map.cell_of("globex"), "north");
    EXPECT_EQ(map.cell_of("initech"), "north");
    EXPECT_EQ(map.cell_of("default"), "west");
}

TEST(CellMap, DoesNotDependOnTheOrderOfCells) {
    const CellMap one = hashed({"east", "north", "west"});
    const CellMap other = hashed({"west", "east", "north"});
    EXPECT_EQ(one.text(), other.text());
    for (int i = 0; i < 100; ++i) EXPECT_EQ(one.cell_of(fmt::format("t{}", i)), other.cell_of(fmt::format("t{}", i)));
}

TEST(CellMap, OneMoreCellTakesItsShareAndMovesNobodyElse) {
    constexpr int kTenants = 4000;
    std::vector<std::string> cells{"c1", "c2", "c3"};
    const CellMap before = hashed(cells);
    cells.emplace_back("c4");
    const CellMap after = hashed(cells);
    int moved = 0;
    std::map<std::string, int> taken_from;
    for (int i = 0; i < kTenants; ++i) {
        const std::string tenant = fmt::format("tenant-{}", i);
        if (after.cell_of(tenant) == before.cell_of(tenant)) continue;
        EXPECT_EQ(after.cell_of(tenant), "c4") << tenant << " moved between cells that were there before";
        ++moved;
        ++taken_from[before.cell_of(tenant)];
    }
    EXPECT_GT(moved, kTenants / 4 - kTenants / 20);
    EXPECT_LT(moved, kTenants / 4 + kTenants / 20);
    EXPECT_EQ(taken_from.size(), 3U) << "each of the others gives some";
}

TEST(CellMap, ANamedTenantGoesWhereItIsNamed) {
    const CellMap map({"east"}, {{"acme", "big"}});
    EXPECT_EQ(map.cell_of("acme"), "big");
    for (int i = 0; i < 100; ++i) EXPECT_EQ(map.cell_of(fmt::format("t{}", i)), "east") << "big is for acme only";
}

class CellsFileTest : public testing::Test {
protected:
    tl::expected<CellsFile, std::string> parse(const std::string& text) {
        return parse_cells_file(text, "cells.yaml", rules);
    }
    std::string mistakes(const std::string& text) {
        const auto parsed = parse(text);
        return parsed ? "" : parsed.error();
    }
    std::string file(const std::string& name, const std::string& content) {
        const auto path = folder.path() / name;
        std::ofstream(path) << content;
        return path;
    }

    CellsFileRules rules;
    fakes::testing::TemporaryFolder folder;
};

TEST_F(CellsFileTest, SaysHowToReachEachCellAndWhoBelongsWhere) {
    rules.base.replicas = 3;
    const auto parsed = parse(
        "cells:\n  west: {nats: \"nats://10.0.2.5:4222\", username: front, password_file: " + file("pw", "secret\n") +
        "}\n  big: {nats: \"nats://10.0.3.5:4222\", dedicated: true}\ntenants:\n  acme: big\n");
    ASSERT_TRUE(parsed) << parsed.error();
    ASSERT_EQ(parsed->cells.size(), 2U);
    EXPECT_EQ(parsed->cells[1].name, "west");
    EXPECT_EQ(parsed->cells[1].nats.url, "nats://10.0.2.5:4222");
    EXPECT_EQ(parsed->cells[1].nats.user, "front");
    EXPECT_EQ(parsed->cells[1].nats.password, "secret") << "without the line break";
    EXPECT_EQ(parsed->cells[1].nats.replicas, 3);
    EXPECT_EQ(parsed->map.cell_of("acme"), "big");
    EXPECT_EQ(parsed->map.cell_of("globex"), "west");
}

// O1: each mistake by its file and line, all of them at once
TEST_F(CellsFileTest, NamesEveryMistakeWithItsPlace) {
    const std::string said = mistakes(
        "cells:\n"
        "  East: {nats: \"nats://a:1\"}\n"
        "  b: {}\n"
        "  c:\n"
        "    nats: nats://c:1\n"
        "    dedicated: perhaps\n"
        "    pasword_file: x\n"
        "  d: {nats: \"nats://front:secret@d:1\"}\n"
        "  e: {nats: \"nats://c:1\"}\n"
        "  f: {nats: \"nats://f:1\", username: u}\n"
        "  g: {nats: \"nats://g:1\", token_file: /does/not/exist}\n"
        "tenants:\n"
        "  acme: nowhere\n"
        "  \" x\": b\n"
        "shards: 4\n");
    for (const char* expected :
         {"cells.yaml:2: /cells/East a cell's name is", "cells.yaml:3: /cells/b expected \"nats:\"",
          "cells.yaml:6: /cells/c/dedicated expected true or false",
          "cells.yaml:7: /cells/c/pasword_file expected one of", "cells.yaml:8: /cells/d/nats no log-in here",
          "cells.yaml:9: /cells/e/nats nats://c:1 is the NATS of cell c already",
          "cells.yaml:10: /cells/f username and password_file",
          "cells.yaml:11: /cells/g/token_file cannot read /does/not/exist",
          "cells.yaml:13: /tenants/acme expected the name of a cell, got \"nowhere\"",
          "cells.yaml:14: /tenants/ x a tenant's name", "cells.yaml:15: /shards expected cells or tenants"})
        EXPECT_NE(said.find(expected), std::string::npos) << expected << "\nis not in\n" << said;
    EXPECT_EQ(said.find("secret"), std::string::npos) << said;
}

TEST_F(CellsFileTest, NeedsACellForThoseThatAreNotNamed) {
    EXPECT_EQ(
        mistakes(""),
        "cells.yaml: expected \"cells:\" with a name and an address at least: cells: {east: {nats: \"nats://…\"}}");
    EXPECT_EQ(mistakes("cells: {}\n"), "cells.yaml:1: /cells expected at least one cell by its name");
    EXPECT_EQ(mistakes("cells:\n  a: {nats: \"nats://a:1\", dedicated: true}\n"),
              "cells.yaml:2: /cells every cell is dedicated: tenants that are not named have nowhere to go");
}

TEST_F(CellsFileTest, NoCellHasTheNatsOfTheFront) {
    rules.front_url = "nats://x:1, nats://y:1";
    EXPECT_EQ(mistakes("cells:\n  a: {nats: \"nats://y:1\"}\n"),
              "cells.yaml:2: /cells/a/nats nats://y:1 is the NATS of the front itself already");
    const std::string login = ", token_file: " + file("token", "t") + "}\n";
    EXPECT_EQ(mistakes("cells:\n  a: {nats: \"nats://y:1\"" + login), "")
        << "an account of its own may be meant; the streams are compared when they are seen";
}

TEST_F(CellsFileTest, ProductionAsksForTls) {
    rules.only_tls = true;
    EXPECT_NE(mistakes("cells:\n  a: {nats: \"nats://a:1\"}\n")
                  .find("cells.yaml:2: /cells/a/nats production mode asks for tls://"),
              std::string::npos);
    EXPECT_EQ(mistakes("cells:\n  a: {nats: \"tls://a:1\"}\n"), "");
}

}  // namespace
}  // namespace lockstep::prod
