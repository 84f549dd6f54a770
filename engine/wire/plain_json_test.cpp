#include "engine/wire/plain_json.h"

#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <optional>

#include "engine/wire/json.h"
#include "engine/wire/messages.h"

namespace lockstep::engine::wire {
namespace {

using google::protobuf::util::MessageDifferencer;

template <class M>
std::optional<M> plainly(std::string_view text) {
    M message;
    if (!read_plain_json(text, message)) return std::nullopt;
    return message;
}

/// By protobuf's own reader, as strict as ours.
template <class M>
std::optional<M> by_protobuf(const std::string& text) {
    M message;
    if (!google::protobuf::util::JsonStringToMessage(text, &message).ok()) return std::nullopt;
    return message;
}

cap::JobRequest full_request() {
    cap::JobRequest job;
    job.set_job_id("j1");
    job.set_topic("job.default");
    job.set_priority(cap::JOB_PRIORITY_BATCH);
    job.set_step_index(-7);
    (*job.mutable_env())["a"] = "1";
    (*job.mutable_labels())["zone"] = "eu";
    (*job.mutable_labels())["arch"] = "";
    job.mutable_budget()->set_deadline_ms(9'223'372'036'854'775'807);
    job.mutable_context_hints()->set_allow_retrieval(true);
    job.mutable_context_hints()->add_tags("t");
    job.mutable_meta()->add_requires_("net");
    job.mutable_compensation()->mutable_meta()->set_actor_type(cap::ACTOR_TYPE_SERVICE);
    return job;
}

// A request that is not read here is read by protobuf, and only time is lost. So nothing else would show it.
TEST(PlainJson, ReadsARequestAsItIsStored) {
    for (const auto form : {Unpopulated::emit, Unpopulated::omit}) {
        const auto read = plainly<cap::JobRequest>(to_json(full_request(), form));
        ASSERT_TRUE(read);
        EXPECT_TRUE(MessageDifferencer::Equals(*read, full_request()));
        EXPECT_TRUE(plainly<cap::JobRequest>(to_json(cap::JobRequest(), form)));
    }
    const auto unset = plainly<cap::JobRequest>(to_json(cap::JobRequest(), Unpopulated::emit));
    ASSERT_TRUE(unset);
    EXPECT_FALSE(unset->has_compensation() || unset->has_meta());
    EXPECT_TRUE(plainly<cap::JobRequest>(R"({"budget":{}})")->has_budget());
}

TEST(PlainJson, ReadsFieldsInAnyOrderAndWithSpace) {
    google::protobuf::util::JsonPrintOptions spaced;
    spaced.add_whitespace = true;
    spaced.always_print_primitive_fields = true;
    std::string theirs;
    ASSERT_TRUE(google::protobuf::util::MessageToJsonString(full_request(), &theirs, spaced).ok());
    const auto read = plainly<cap::JobRequest>(theirs);
    ASSERT_TRUE(read) << theirs;
    EXPECT_TRUE(MessageDifferencer::Equals(*read, full_request()));
}

TEST(PlainJson, LeavesToProtobufWhatIsNotPlain) {
    for (const char* text : {
             "",
             "null",
             "[]",
             "{",
             "{}}",
             "{} x",
             R"({"jobId":)",
             R"({"jobId":"j")",
             R"({"jobId":"j",})",
             R"({"job_id":"j"})",             // its other name
             R"({"jobId":"j","jobId":"j"})",  // twice
             R"({"invented":1})",             // a later version
             R"({"jobId":null})",             // a default
             R"({"jobId":"\u0073"})",
             "{\"jobId\":\"\xc3\xa9\"}",
             "{\"jobId\":\"\n\"}",
             R"({"jobId":1})",
             R"({"stepIndex":"1"})",
             R"({"stepIndex":1.0})",
             R"({"stepIndex":1e1})",
             R"({"stepIndex":01})",
             R"({"stepIndex":-0})",
             R"({"stepIndex":2147483648})",
             R"({"stepIndex":- 1})",
             R"({"budget":{"deadlineMs":1}})",
             R"({"budget":{"deadlineMs":" 1"}})",
             R"({"budget":{"deadlineMs":"1 "}})",
             R"({"budget":{"deadlineMs":"9223372036854775808"}})",
             R"({"priority":1})",
             R"({"priority":"job_priority_batch"})",
             R"({"priority":"NONE"})",
             R"({"labels":{"a":1}})",
             R"({"labels":{"a":"1","a":"2"}})",
             R"({"labels":null})",
             R"({"labels":[]})",
             R"({"meta":{"requires":["a",]}})",
             R"({"meta":{"requires":[null]}})",
             R"({"meta":{"requires":"a"}})",
             R"({"meta":[]})",
             R"({"contextHints":{"allowRetrieval":"true"}})",
             R"({"contextHints":{"allowRetrieval":tru}})",
         })
        EXPECT_FALSE(plainly<cap::JobRequest>(text)) << text;
    for (const char* text : {
             R"({"createdAt":"2023-11-14T22:13:20Z"})",
             R"({"createdAt":{"seconds":"1"}})",
             R"({"signature":"/w=="})",
             R"({"heartbeat":{"cpuLoad":0}})",
             R"({"jobCancel":{},"alert":{}})",  // two of a oneof
             R"({"jobCancel":null})",
         })
        EXPECT_FALSE(plainly<cap::BusPacket>(text)) << text;
    EXPECT_EQ(plainly<cap::BusPacket>(R"({"jobCancel":{"jobId":"j"}})")->job_cancel().job_id(), "j");
}

cap::JobRequest any_request() {
    // Few letters that need an escape, or else nearly every request had one.
    const auto letter = rc::gen::weightedOneOf<char>({{
                                                          60,
                                                          rc::gen::inRange('#', '['),
                                                      },
                                                      {1, rc::gen::inRange(' ', '\x7f')}});
    const auto text = [&letter] { return *rc::gen::container<std::string>(letter); };
    cap::JobRequest job;
    job.set_job_id(text());
    job.set_workflow_id(text());
    job.set_priority(static_cast<cap::JobPriority>(*rc::gen::inRange(0, 4)));
    job.set_step_index(*rc::gen::arbitrary<std::int32_t>());
    for (int i = *rc::gen::inRange(0, 4); i > 0; --i) (*job.mutable_labels())[text()] = text();
    for (int i = *rc::gen::inRange(0, 3); i > 0; --i) job.mutable_meta()->add_risk_tags(text());
    if (*rc::gen::arbitrary<bool>()) job.mutable_budget()->set_max_input_tokens(*rc::gen::arbitrary<std::int64_t>());
    if (*rc::gen::arbitrary<bool>()) job.mutable_compensation()->set_topic(text());
    return job;
}

/// Something that a text may have more, at a place where it may stand or not.
void damage(std::string& text) {
    static const std::vector<std::string> kPieces{"",
                                                  " ",
                                                  "\n",
                                                  "\v",
                                                  ",",
                                                  ":",
                                                  "{",
                                                  "}",
                                                  "[",
                                                  "]",
                                                  "\"",
                                                  "\\",
                                                  "\\u0061",
                                                  "0",
                                                  "-",
                                                  ".",
                                                  "1",
                                                  "e",
                                                  "null",
                                                  "true",
                                                  "é",
                                                  "\x7f",
                                                  "\xff",
                                                  R"("topic":"t",)",
                                                  R"("step_index":1,)",
                                                  R"("jobId":"k",)",
                                                  R"("meta":{},)",
                                                  R"("workflowId":null,)",
                                                  R"("compensation":{"topic":"t"},)",
                                                  R"("compensation":null,)",
                                                  R"("budget":{"deadlineMs":"1"},)",
                                                  R"("priority":"JOB_PRIORITY_BATCH",)"};
    const auto at = *rc::gen::inRange<std::size_t>(0, text.size() + 1);
    const auto gone = *rc::gen::element<std::size_t>(0, 0, 1, 2, 9);
    // Half of them where a member may begin, which is where they may be sound.
    const auto member = *rc::gen::arbitrary<bool>() ? std::string::npos : text.find_first_of("{,", at);
    const auto place = member == std::string::npos ? at : member + 1;
    text.replace(place, std::min(gone, text.size() - place), *rc::gen::elementOf(kPieces));
}

// Goal: whatever is read here is what protobuf would have read. Method: requests as they are stored, damaged at some places.
RC_GTEST_PROP(PlainJson, AgreesWithProtobufWhereverItReads, ()) {
    std::string text = to_json(any_request(), *rc::gen::element(Unpopulated::emit, Unpopulated::omit));
    for (int i = *rc::gen::inRange(0, 4); i > 0; --i) damage(text);
    RC_LOG() << text;
    const auto ours = plainly<cap::JobRequest>(text);
    if (!ours) return RC_TAG("left to protobuf");
    RC_TAG("read");
    const auto theirs = by_protobuf<cap::JobRequest>(text);
    RC_ASSERT(theirs.has_value());
    RC_ASSERT(MessageDifferencer::Equals(*ours, *theirs));
}

RC_GTEST_PROP(PlainJson, ReadsEveryRequestWithoutEscapes, ()) {
    const cap::JobRequest request = any_request();
    const std::string text = to_json(request, Unpopulated::emit);
    const auto read = plainly<cap::JobRequest>(text);
    RC_ASSERT(read.has_value() == (text.find('\\') == std::string::npos));
    RC_ASSERT((!read || MessageDifferencer::Equals(*read, request)));
}

}  // namespace
}  // namespace lockstep::engine::wire
