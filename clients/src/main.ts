/**
 * Runs real clients from npm through the gateway: `npx --yes pnpm@12 test:clients`.
 *
 * The last line is the count.
 */
import { parseArgs } from "node:util"
import { join } from "node:path"
import { bundle } from "../../tools/src/bundleProgram.ts"
import * as Agents from "./Agents.ts"
import type { Client } from "./Client.ts"
import * as Endpoint from "./Endpoint.ts"
import * as LongOutage from "./LongOutage.ts"
import * as Loopback from "./Loopback.ts"
import * as Programs from "./Programs.ts"
import { isPassed, show, summary } from "./Report.ts"
import * as Scenarios from "./Scenarios.ts"
import * as Service from "./Service.ts"

const {
  client: named = "",
  only = "",
  minutes
} = parseArgs({
  options: { client: { type: "string" }, only: { type: "string" }, minutes: { type: "string" } }
}).values

/** Clients that run at once: most of their time passes in waits and starts. */
const AT_ONCE = 6

/** A client that has not ended by then never will. */
const GUARD_MS = 240_000

Loopback.only()

const folder = join(import.meta.dirname, "../../apps/session-orchestrator/node_modules/.cache/program-of-clients")
await bundle(folder)
const program = join(folder, "main.js")

const clients = [...Agents.table, ...Programs.table].filter(({ name }) => name.includes(named))
if (minutes !== undefined) {
  await LongOutage.run(clients, program, Number(minutes))
  console.log(summary())
  process.exit(isPassed() ? 0 : 1)
}

const scenarios = Scenarios.all.filter(({ title }) => title.includes(only))
const cases = await Promise.all(
  clients.flatMap((client) =>
    scenarios
      .filter(({ fits }) => fits(client))
      .map(async (scenario) => ({ client, scenario, endpoint: await Endpoint.start(client.format, client.isCounted) }))
  )
)
const nameOf = (index: number): string => `p${index}`
const providers = cases.map(({ client, endpoint }, index) => [
  nameOf(index),
  { type: client.type, baseUrl: `${endpoint.url}${client.base ?? ""}` }
])
const service = await Service.make(program, {
  model: "p0/m",
  providers: Object.fromEntries(providers),
  retry: {
    schedule: { type: "steps", delays: ["10 millis"] },
    requestTimeout: { firstContent: "5 seconds", idle: "10 minutes" }
  }
})
await service.start()

const queue = cases.entries()
const worker = async (): Promise<void> => {
  for (const [index, { client, endpoint, scenario }] of queue) {
    await show(`${client.name}: ${scenario.title}`, GUARD_MS, () =>
      scenario.run({ client, endpoint, service, program, provider: nameOf(index) })
    )
    endpoint.close()
  }
}
await Promise.all(Array.from({ length: AT_ONCE }, worker))
await service.remove()
console.log(summary())
process.exit(isPassed() ? 0 : 1)
