#include "sim/scenario/schema.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "sim/scenario/file_format.h"

namespace lockstep::sim {
namespace {

TEST(Schema, TheCommittedFileIsTheOneThatTheTableGives) {
    std::ifstream in(LOCKSTEP_SCHEMA_FILE, std::ios::binary);
    const std::string committed(std::istreambuf_iterator<char>(in), {});
    EXPECT_TRUE(committed == scenario_schema())
        << "write it anew: lockstep list --schema > scenarios/scenario.schema.json";
}

TEST(Schema, EveryReferenceHasItsDefinition) {
    const auto schema = nlohmann::json::parse(scenario_schema());
    const auto flat = schema.flatten();
    for (const auto& [pointer, value] : flat.items()) {
        if (!pointer.ends_with("/$ref")) continue;
        const std::string target = value.get<std::string>();
        ASSERT_TRUE(target.starts_with("#/")) << target;
        EXPECT_TRUE(schema.contains(nlohmann::json::json_pointer(target.substr(1)))) << target;
    }
}

TEST(Schema, ObjectsAreClosed) {
    const auto schema = nlohmann::json::parse(scenario_schema());
    EXPECT_EQ(schema["additionalProperties"], false);
    EXPECT_EQ(schema["properties"]["cluster"]["additionalProperties"], false);
    EXPECT_EQ(schema["required"], nlohmann::json::array({"name"}));
}

}  // namespace
}  // namespace lockstep::sim
