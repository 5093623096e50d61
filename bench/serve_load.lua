-- SPDX-License-Identifier: MIT
-- For wrk: posts the picture RIA_PICTURE; prints how often each status came, and times in milliseconds: of whole
-- requests, and of the library's stages that answers name.
local file = assert(io.open(os.getenv("RIA_PICTURE"), "rb"))
wrk.method = "POST"
wrk.body = file:read("*a")
file:close()
statuses = {}
stages = {}
local threads = {}

function setup(thread) threads[#threads + 1] = thread end

function response(status, _, body)
  statuses[tostring(status)] = (statuses[tostring(status)] or 0) + 1
  local describe, search = body:match('"describe":%s*([%d.e-]+),%s*"search":%s*([%d.e-]+)')
  if describe then stages[#stages + 1] = describe + search end
end

function done(summary, latency)
  local all, spent = {}, {}
  for _, thread in ipairs(threads) do
    for _, ms in ipairs(thread:get("stages")) do spent[#spent + 1] = ms end
    for status, count in pairs(thread:get("statuses")) do all[status] = (all[status] or 0) + count end
  end
  for status, count in pairs(all) do print("status " .. status .. " " .. count) end
  local e = summary.errors
  print("broken " .. e.connect + e.read + e.write + e.timeout)
  table.sort(spent)
  if #spent > 0 then print(string.format("stages %.3f", spent[math.floor((#spent + 1) / 2)])) end
  for _, p in ipairs({50, 99}) do print(string.format("p%d %.3f", p, latency:percentile(p) / 1000)) end
end
