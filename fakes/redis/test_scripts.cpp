#include "fakes/redis/test_commands.h"

namespace lockstep::fakes::redis {

const std::vector<std::string>& test_scripts() {
    static const std::vector<std::string> kScripts = {
        // The first three run the command that is given as arguments.
        "return redis.call(unpack(ARGV))",
        "local reply = redis.pcall(unpack(ARGV))\nif type(reply) == 'table' and reply.err then return 'E:' .. "
        "reply.err end\n"
        "return reply",
        "redis.call('set', 'a', 'written')\nlocal ok, reply = pcall(redis.call, unpack(ARGV))\n"
        "if ok then return reply end\nreturn {'failed', tostring(reply)}",
        // What scripts return.
        "return {1, 2.9, -2.9, 'x', true, {ok = 'fine'}, {err = 'My error'}, {1, {2}}, false, nil, 5}",
        "return 1e300",
        "return {1, nil, 3}",
        "return redis.status_reply('done')",
        "return redis.error_reply('-CODE text')",
        "return redis.error_reply('word')",
        "return redis.error_reply(5)",
        "return {err = 'plain'}",
        "return {ok = 5}",
        "return function() end",
        "return",
        // What they compute.
        "return ARGV[1] .. #ARGV .. #KEYS",
        "return tostring(1790000000000001) .. ' ' .. string.format('%.0f', 1790000000000001) .. ' ' .. 0.1",
        "return redis.sha1hex(ARGV[1])",
        "redis.call('set', 'b', 1790000000000001)\nreturn redis.call('get', 'b')",
        "redis.call('set', 'b', 0.1)\nreturn redis.call('get', 'b')",
        "redis.call('set', 'b', -3)\nreturn redis.call('incr', 'b')",
        "return redis.log(redis.LOG_NOTICE, 'x')",
        "return {tonumber('0x10'), tonumber('1e3'), tonumber(''), 1}",
        "return {type(redis.call('get', 'nothing')), type(redis.call('hgetall', 'nothing')), math.floor(-1.5)}",
        "local t = {}\nfor i = 1, 40 do t[i] = i end\nredis.call('del', 'a')\nredis.call('rpush', 'a', unpack(t))\n"
        "return redis.call('lrange', 'a', 0, -1)",
        // How they fail.
        "return redis.call('lpush')",
        "return redis.call()",
        "return redis.call({})",
        "return redis.call('get', true)",
        "return redis.call('multi')",
        "return redis.call('nosuch', 'x')",
        "return nothing",
        "nothing = 1",
        "KEYS = {}",
        "string.x = 1",
        "redis.call('set', 'a', 'x')\nlocal t = nil\nreturn t.x",
        "error('raised')",
        "error('raised', 0)",
        "error(5)",
        "error()",
        "error({err = 'OWN text'})",
        "local function f()\n  return redis.call('lpop', 'a', 'x')\nend\nlocal r = f()\nreturn r",
        "local ok, e = pcall(redis.call, 'nosuch')\nerror(e)",
        "local ok, e = pcall(error, {err = 'text'})\nreturn {tostring(ok), e}",
        "return redis.pcall('nosuch').err",
        "return redis.log()",
        "return redis.log('x', 'y')",
        "return redis.log(7, 'y')",
        "return redis.sha1hex()",
        "return if",
        "return 'two\\nlines'",
        "return {err = 'two\\nlines'}",
        "return {ok = 'two\\nlines'}",
    };
    return kScripts;
}

}  // namespace lockstep::fakes::redis
