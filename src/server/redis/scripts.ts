import { createHash } from 'node:crypto';

/** A script that Redis runs atomically. */
export interface Script {
  text: string;
  sha: string;
}

function script(text: string): Script {
  return { text, sha: createHash('sha1').update(text).digest('hex') };
}

/**
 * Opens a log for a new owner: adds an entry with the owner's fence, so that no earlier owner can add anything, and returns all entries. Returns -1
 * when a later owner has the log. Arguments: fence, epoch of the log if it is new, how many milliseconds the log is kept.
 */
export const TAKE = script(`
local fence = tonumber(ARGV[1])
local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
local before = last and tonumber(string.match(last[1], '^%d+')) or 0
if before > fence then return -1 end
if before < fence then
  redis.call('XADD', KEYS[1], ARGV[1] .. '-0', last and last[2][1] or ARGV[2], '')
end
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return redis.call('XRANGE', KEYS[1], '-', '+')
`);

/**
 * Adds entries to logs. The id of an entry is the fence and the number of its last chunk, so Redis itself refuses an entry that is older than the
 * last one. Returns for each log: 1 the entry was added, now or by an earlier call whose answer was lost; -1 a later owner has the log; -2 there is no log.
 * Arguments: how many milliseconds logs are kept; then for each log: fence, number of the last chunk, epoch of the log, text, '1' to replace the log, id of the
 * oldest entry to keep or ''.
 */
export const APPEND = script(`
local function fenceOf(key)
  local last = redis.call('XREVRANGE', key, '+', '-', 'COUNT', 1)[1]
  return last and tonumber(string.match(last[1], '^%d+')) or 0
end
local results = {}
for i, key in ipairs(KEYS) do
  local at = 1 + (i - 1) * 6
  local fence, epoch, text, oldest = tonumber(ARGV[at + 1]), ARGV[at + 3], ARGV[at + 4], ARGV[at + 6]
  local id = ARGV[at + 1] .. '-' .. ARGV[at + 2]
  local result = 1
  if ARGV[at + 5] == '1' then
    if fenceOf(key) > fence then
      result = -1
    else
      redis.call('DEL', key)
      redis.call('XADD', key, id, epoch, text)
    end
  else
    local added
    if oldest == '' then
      added = redis.pcall('XADD', key, 'NOMKSTREAM', id, epoch, text)
    else
      added = redis.pcall('XADD', key, 'NOMKSTREAM', 'MINID', '~', oldest, id, epoch, text)
    end
    if not added then
      result = -2
    elseif type(added) == 'table' and added.err then
      if not string.find(added.err, 'equal or smaller', 1, true) then return added end
      if fenceOf(key) > fence then result = -1 end
    end
  end
  if result == 1 then redis.call('PEXPIRE', key, ARGV[1]) end
  results[i] = result
end
return results
`);

/**
 * Takes tokens from a bucket that fills by the clock of Redis, or gives some back; returns how many are left. Arguments: size of the bucket, tokens
 * per minute, number of tokens to take.
 */
export const SPEND = script(`
local burst, perMinute = tonumber(ARGV[1]), tonumber(ARGV[2])
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local had = redis.call('HMGET', KEYS[1], 'tokens', 'at')
local since = math.max(0, now - (tonumber(had[2]) or now))
local filled = math.min(burst, (tonumber(had[1]) or burst) + since * perMinute / 60000)
local left = math.max(0, math.min(burst, filled - tonumber(ARGV[3])))
redis.call('HSET', KEYS[1], 'tokens', tostring(left), 'at', tostring(now))
redis.call('PEXPIRE', KEYS[1], math.ceil(burst / perMinute * 60000) + 1000)
return tostring(left)
`);

/**
 * Stores the number of connections of a user at one node, and returns their number at all living nodes. Arguments: node, number, prefix of the alive keys
 * of nodes, how many milliseconds the numbers are kept.
 */
export const CONNECTIONS = script(`
if tonumber(ARGV[2]) > 0 then
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
else
  redis.call('HDEL', KEYS[1], ARGV[1])
end
local counts = redis.call('HGETALL', KEYS[1])
local total = 0
for i = 1, #counts, 2 do
  if counts[i] == ARGV[1] or redis.call('EXISTS', ARGV[3] .. counts[i]) == 1 then
    total = total + tonumber(counts[i + 1])
  else
    redis.call('HDEL', KEYS[1], counts[i])
  end
end
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return total
`);
