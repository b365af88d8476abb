-- For wrk: asks for the addresses in a file, in turn, and prints one line with the 95th percentile.
-- NUMBER in an address becomes another number each time, so that no answer is shared.
-- wrk -t1 -c20 -d5s -s requests.lua URL -- FILE
local paths, turn, begun = {}, 0, os.time() * 1000

init = function(arguments)
  for line in io.lines(arguments[1]) do paths[#paths + 1] = line end
end

request = function()
  turn = turn + 1
  local path = paths[(turn - 1) % #paths + 1]
  return wrk.format("GET", (path:gsub("NUMBER", begun + turn)))
end

done = function(summary, latency)
  local ms = function(share) return latency:percentile(share) / 1000 end
  local errors = summary.errors
  local failed = errors.connect + errors.read + errors.write + errors.status + errors.timeout
  io.write(string.format("%7d answers  p50 %.1f ms  p95 %.1f ms  p99 %.1f ms  errors %d\n",
    summary.requests, ms(50), ms(95), ms(99), failed))
end
