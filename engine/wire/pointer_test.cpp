#include "engine/wire/pointer.h"

#include <gtest/gtest.h>

namespace lockstep::engine::wire {
namespace {

TEST(Pointer, LeadsToAKeyWithOrWithoutTheScheme) {
    EXPECT_EQ(key_of_pointer("redis://res:j1"), "res:j1");
    EXPECT_EQ(key_of_pointer(" ctx:j1 "), "ctx:j1");
    for (const char* none : {"", " ", "redis://", "http://x", "REDIS://res:j1"})
        EXPECT_EQ(key_of_pointer(none), "") << none;
    EXPECT_TRUE(leads_elsewhere("s3://bucket/x"));
    EXPECT_FALSE(leads_elsewhere("ctx:j1"));
    EXPECT_FALSE(leads_elsewhere(" "));
}

TEST(Pointer, DataBelongsToItsJobAndRedactedDataToo) {
    EXPECT_EQ(owner_of_data("ctx:j1"), "j1");
    EXPECT_EQ(owner_of_data("res:run:a@1"), "run:a@1");
    EXPECT_EQ(owner_of_data("res:j1:redacted:ba7816bf8f01cfea"), "j1");
    for (const char* none : {"", "ctx:", "art:1", "job:req:j1", "xctx:j1", "ctx"})
        EXPECT_EQ(owner_of_data(none), "") << none;
}

}  // namespace
}  // namespace lockstep::engine::wire
