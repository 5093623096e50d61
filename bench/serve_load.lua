-- SPDX-License-Identifier: MIT
-- For wrk: posts the picture RIA_PICTURE; prints how often each status came, and times in milliseconds.
local file = assert(io.open(os.getenv("RIA_PICTURE"), "rb"))
wrk.method = "POST"
wrk.body = file:read("*a")
file:close()
statuses = {}
local threads = {}

function setup(thread) threads[#threads + 1] = thread end

function response(status) statuses[tostring(status)] = (statuses[tostring(status)] or 0) + 1 end

function done(summary, latency)
  local all = {}
  for _, thread in ipairs(threads) do
    for status, count in pairs(thread:get("statuses")) do all[status] = (all[status] or 0) + count end
  end
  for status, count in pairs(all) do print("status " .. status .. " " .. count) end
  local e = summary.errors
  print("broken " .. e.connect + e.read + e.write + e.timeout)
  for _, p in ipairs({50, 99}) do print(string.format("p%d %.3f", p, latency:percentile(p) / 1000)) end
end
