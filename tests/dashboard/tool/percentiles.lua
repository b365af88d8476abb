-- wrk's percentiles without the 95th are of little use: wrk -c500 -t1 -d5s -s percentiles.lua URL
done = function(summary, latency)
  local ms = function(share) return latency:percentile(share) / 1000 end
  local failed = summary.errors.connect + summary.errors.read + summary.errors.write +
    summary.errors.status + summary.errors.timeout
  io.write(string.format("%d answers, %.0f a second: p50 %.1f ms, p95 %.1f ms, p99 %.1f ms, errors %d\n",
    summary.requests, summary.requests / summary.duration * 1e6, ms(50), ms(95), ms(99), failed))
end
