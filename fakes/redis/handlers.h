// The handlers that the command table names, by the file that holds them.
#pragma once

#include "fakes/redis/command.h"

namespace lockstep::fakes::redis::handlers {

// strings.cpp
RedisValue get(Call&);
RedisValue set(Call&);
RedisValue setnx(Call&);
RedisValue setex(Call&);
RedisValue psetex(Call&);
RedisValue mget(Call&);
RedisValue getdel(Call&);
RedisValue append(Call&);
RedisValue strlen(Call&);
RedisValue getrange(Call&);
RedisValue incr(Call&);
RedisValue decr(Call&);
RedisValue incrby(Call&);
RedisValue decrby(Call&);

// keys.cpp
RedisValue del(Call&);
RedisValue exists(Call&);
RedisValue type(Call&);
RedisValue expire(Call&);
RedisValue pexpire(Call&);
RedisValue expireat(Call&);
RedisValue pexpireat(Call&);
RedisValue ttl(Call&);
RedisValue pttl(Call&);
RedisValue persist(Call&);
RedisValue keys(Call&);
RedisValue scan(Call&);
RedisValue dbsize(Call&);
RedisValue flush(Call&);

// hashes.cpp
RedisValue hset(Call&);
RedisValue hmset(Call&);
RedisValue hsetnx(Call&);
RedisValue hget(Call&);
RedisValue hmget(Call&);
RedisValue hgetall(Call&);
RedisValue hdel(Call&);
RedisValue hexists(Call&);
RedisValue hlen(Call&);
RedisValue hincrby(Call&);

// lists.cpp
RedisValue lpush(Call&);
RedisValue rpush(Call&);
RedisValue lpop(Call&);
RedisValue rpop(Call&);
RedisValue llen(Call&);
RedisValue lrange(Call&);
RedisValue lindex(Call&);
RedisValue lrem(Call&);
RedisValue ltrim(Call&);

// sets.cpp
RedisValue sadd(Call&);
RedisValue srem(Call&);
RedisValue scard(Call&);
RedisValue smembers(Call&);
RedisValue sismember(Call&);

// sorted_sets.cpp
RedisValue zadd(Call&);
RedisValue zincrby(Call&);
RedisValue zrem(Call&);
RedisValue zcard(Call&);
RedisValue zscore(Call&);
RedisValue zrank(Call&);
RedisValue zrevrank(Call&);

// sorted_set_ranges.cpp
RedisValue zrange(Call&);
RedisValue zrevrange(Call&);
RedisValue zrangebyscore(Call&);
RedisValue zrevrangebyscore(Call&);
RedisValue zcount(Call&);
RedisValue zremrangebyrank(Call&);
RedisValue zremrangebyscore(Call&);

// server_commands.cpp
RedisValue ping(Call&);
RedisValue echo(Call&);
RedisValue time(Call&);
RedisValue wait(Call&);
RedisValue select(Call&);
RedisValue role(Call&);
RedisValue info(Call&);
RedisValue eval(Call&);
RedisValue evalsha(Call&);
RedisValue script_load(Call&);
RedisValue script_exists(Call&);
RedisValue script_flush(Call&);

// transactions.cpp
RedisValue multi(Call&);
RedisValue exec(Call&);
RedisValue discard(Call&);
RedisValue watch(Call&);
RedisValue unwatch(Call&);

}  // namespace lockstep::fakes::redis::handlers
