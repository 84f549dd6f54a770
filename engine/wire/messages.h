// All messages of the protocol, for sources. Headers include "engine/wire/fwd.h" instead.
#pragma once

#include "cordum/agent/v1/alert.pb.h"
#include "cordum/agent/v1/common.pb.h"
#include "cordum/agent/v1/handshake.pb.h"
#include "cordum/agent/v1/heartbeat.pb.h"
#include "cordum/agent/v1/job.pb.h"
#include "cordum/agent/v1/packet.pb.h"
#include "cordum/agent/v1/safety.pb.h"
#include "cordum/v1/output_policy.pb.h"
#include "engine/wire/fwd.h"
