// What goes over the wire for every job: packets, the JSON form of a request, and hashes.
#include <benchmark/benchmark.h>

#include <string>

#include "engine/wire/job_hash.h"
#include "engine/wire/json.h"
#include "engine/wire/messages.h"
#include "engine/wire/packet.h"

namespace {

using namespace lockstep;
using namespace lockstep::engine;

cap::JobRequest request() {
    cap::JobRequest made;
    made.set_job_id("0c0c6a5e-7b0e-4f2f-9a43-6f3a2f1f2a10");
    made.set_topic("job.default");
    made.set_tenant_id("acme");
    made.set_context_ptr("redis://ctx:0c0c6a5e-7b0e-4f2f-9a43-6f3a2f1f2a10");
    (*made.mutable_env())["tenant_id"] = "acme";
    (*made.mutable_labels())["placement.zone"] = "north";
    made.mutable_meta()->set_capability("summarise");
    made.mutable_meta()->add_requires_("cpu");
    return made;
}

cap::BusPacket packet() {
    cap::BusPacket made;
    made.set_trace_id("f0b8b0a4-3d21-4a3f-8f61-0b6f5e5d9b77");
    made.set_sender_id("gateway");
    made.set_protocol_version(1);
    *made.mutable_job_request() = request();
    return made;
}

void DecodeARequest(benchmark::State& state) {
    const std::string bytes = wire::serialise(packet());
    for (auto _ : state) benchmark::DoNotOptimize(wire::decode(bytes));
}
BENCHMARK(DecodeARequest);

void EncodeARequest(benchmark::State& state) {
    const cap::BusPacket made = packet();
    for (auto _ : state) benchmark::DoNotOptimize(wire::serialise(made));
}
BENCHMARK(EncodeARequest);

void WriteARequestAsJson(benchmark::State& state) {
    const cap::JobRequest made = request();
    for (auto _ : state) benchmark::DoNotOptimize(wire::to_json(made, wire::Unpopulated::emit));
}
BENCHMARK(WriteARequestAsJson);

void ReadARequestFromJson(benchmark::State& state) {
    const std::string text = wire::to_json(request(), wire::Unpopulated::emit);
    for (auto _ : state) benchmark::DoNotOptimize(wire::from_json<cap::JobRequest>(text));
}
BENCHMARK(ReadARequestFromJson);

void HashAJob(benchmark::State& state) {
    const cap::JobRequest made = request();
    for (auto _ : state) benchmark::DoNotOptimize(wire::job_hash(made));
}
BENCHMARK(HashAJob);

}  // namespace
