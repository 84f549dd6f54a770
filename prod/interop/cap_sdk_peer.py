"""The other side of the protocol, as its own SDK for Python speaks it. REDIS_URL and NATS_URL say where the servers are.

  worker ID             runs job.default (answers with what it heard) and job.etl.load (fails) until SIGTERM; says "ready"
  client JOB TEXT       submits JOB with TEXT as its input, waits for its result and prints the result as JSON
  remake FILE           a packet a line, in hexadecimal: each is read, put together anew from its named fields and compared
  descriptors FILE      a FileDescriptorSet, every message and enumeration of which has to be the SDK's, by name and number
"""

import asyncio
import json
import os
import pathlib
import signal
import sys

from cap import Agent, RedisBlobStore, submit_job
from cap.pb.cordum.agent.v1 import buspacket_pb2, job_pb2, policy_pb2, safety_pb2
from cap.subjects import SUBJECT_RESULT
from google.protobuf import descriptor_pb2, descriptor_pool, json_format
import nats

LIMIT_SECONDS = 60
# What a package that its services belong to has loaded: the pool knows only files that were imported.
assert policy_pb2 and safety_pb2


async def work(worker):
    agent = Agent(worker_id=worker, pool="default", max_parallel=4, heartbeat_interval=0.2)

    @agent.job("job.default")
    async def answer(_, heard):
        return {"heard": heard}

    @agent.job("job.etl.load")
    async def fail(_, heard):
        raise RuntimeError(f"cannot load {heard}")

    await agent.start()
    print("ready", flush=True)
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    await ended.wait()
    await agent.close()


async def ask(job, text):
    connection = await nats.connect(os.environ["NATS_URL"])
    store = RedisBlobStore(os.environ["REDIS_URL"])
    answered = asyncio.get_running_loop().create_future()

    async def hear(message):
        packet = buspacket_pb2.BusPacket.FromString(message.data)
        if packet.job_result.job_id == job and not answered.done():
            answered.set_result(packet)

    await connection.subscribe(SUBJECT_RESULT, cb=hear)
    await store.set(f"ctx:{job}", text.encode())
    request = job_pb2.JobRequest(job_id=job, topic="job.default", context_ptr=f"redis://ctx:{job}", priority=job_pb2.JOB_PRIORITY_BATCH)
    request.labels.update({"of": "the SDK", "and": "sorted"})
    await submit_job(connection, request, trace_id=f"trace-{job}", sender_id="the-sdk")
    packet = await asyncio.wait_for(answered, LIMIT_SECONDS)
    output = await store.get(packet.job_result.result_ptr.removeprefix("redis://"))
    print(json.dumps({"trace": packet.trace_id, "status": job_pb2.JobStatus.Name(packet.job_result.status),
                      "worker": packet.job_result.worker_id, "output": (output or b"").decode()}))
    await store.close()
    await connection.close()


def remake(file):
    """A field that the SDK has no name for is missing from the dictionary, and then from the bytes."""
    wrong = 0
    for line in file.read_text().splitlines():
        heard = bytes.fromhex(line)
        fields = json_format.MessageToDict(buspacket_pb2.BusPacket.FromString(heard), preserving_proto_field_name=True)
        anew = json_format.ParseDict(fields, buspacket_pb2.BusPacket()).SerializeToString(deterministic=True)
        kind = buspacket_pb2.BusPacket.FromString(heard).WhichOneof("payload")
        if anew == heard:
            print("same", kind)
        else:
            wrong += 1
            print("DIFFERS", kind, heard.hex(), anew.hex(), fields)
    return 1 if wrong else 0


def shape(field):
    return field.number, field.type, field.label, field.type_name


def mistakes_in(message, prefix):
    pool = descriptor_pool.Default()
    name = f"{prefix}.{message.name}"
    try:
        theirs = pool.FindMessageTypeByName(name)
    except KeyError:
        yield f"the SDK has no message {name}"
        return
    known = descriptor_pb2.DescriptorProto()
    theirs.CopyToProto(known)
    # By the name in JSON: in C++ a field may have to be called otherwise.
    fields = {field.json_name or theirs.fields_by_name[field.name].json_name: shape(field) for field in known.field}
    for field in message.field:
        if fields.get(field.json_name) != shape(field):
            yield f"{name}.{field.json_name}: {shape(field)} here, {fields.get(field.json_name)} in the SDK"
    for nested in message.nested_type:
        yield from mistakes_in(nested, name)


def mistakes_in_enum(enum, prefix):
    try:
        theirs = descriptor_pool.Default().FindEnumTypeByName(f"{prefix}.{enum.name}")
    except KeyError:
        yield f"the SDK has no enumeration {prefix}.{enum.name}"
        return
    # A second name for a number that both have is of no concern on the wire.
    ours = {(value.name, value.number) for value in enum.value}
    for number in sorted({value.number for value in enum.value}):
        other = theirs.values_by_number.get(number)
        if other is None or (other.name, number) not in ours:
            yield f"{prefix}.{enum.name} {number}: {other and other.name} in the SDK"


def compare_descriptors(file):
    mistakes, compared = [], 0
    for part in descriptor_pb2.FileDescriptorSet.FromString(file.read_bytes()).file:
        for message in part.message_type:
            mistakes += mistakes_in(message, part.package)
            compared += len(message.field)
        for enum in part.enum_type:
            mistakes += mistakes_in_enum(enum, part.package)
            compared += len(enum.value)
    for mistake in mistakes:
        print(mistake)
    print(f"{compared} fields and values compared")
    return 1 if mistakes or compared == 0 else 0


def main(command, *arguments):
    if command == "worker":
        return asyncio.run(work(*arguments))
    if command == "client":
        return asyncio.run(ask(*arguments))
    return {"remake": remake, "descriptors": compare_descriptors}[command](pathlib.Path(arguments[0]))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
