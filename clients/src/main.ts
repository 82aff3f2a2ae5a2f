/**
 * Runs real clients from npm through the gateway (clients/README.md).
 *
 * The last line is the count.
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { bundle } from "../../tools/src/bundleProgram.ts"
import * as Service from "../../tools/src/acceptance/Service.ts"
import { isPassed, show, summary } from "../../tools/src/acceptance/Report.ts"
import * as Agents from "./Agents.ts"
import * as LongOutage from "./LongOutage.ts"
import * as LoginHost from "./LoginHost.ts"
import * as Loopback from "./Loopback.ts"
import * as Member from "./Member.ts"
import * as PlanScenarios from "./PlanScenarios.ts"
import * as Programs from "./Programs.ts"
import * as Scenarios from "./Scenarios.ts"

const { client, minutes, restarts, scenario } = parseArgs({
  options: {
    /** A regular expression for clients' names: only these run. */
    client: { type: "string", default: "" },
    /** A regular expression for scenarios' titles: only these run. */
    scenario: { type: "string", default: "" },
    /** One outage of so many minutes instead of the scenarios. */
    minutes: { type: "string" },
    /** How many times the service is killed in that outage. */
    restarts: { type: "string", default: "0" }
  }
}).values

/** Clients that run at once: most of their time passes in waits. */
const AT_ONCE = 12

/** A client that has not ended by then never will. */
const GUARD_MS = 480_000

/** A login lasts longer than any scenario. */
const LOGIN_MS = 8 * 3_600_000

Loopback.only()

// There it finds what it loads by name.
const cache = join(import.meta.dirname, "../../apps/session-orchestrator/node_modules/.cache")
mkdirSync(cache, { recursive: true })
const folder = mkdtempSync(join(cache, "clients-"))
await bundle(folder)
const program = join(folder, "main.js")
const clients = [...Agents.table, ...Programs.table].filter(({ name }) => new RegExp(client, "u").test(name))
const host = await LoginHost.start()
if (minutes === undefined) await runScenarios()
else await LongOutage.run(clients, program, host, Number(minutes), Number(restarts))
host.close()
rmSync(folder, { recursive: true })
console.log(summary())
process.exit(isPassed() ? 0 : 1)

async function runScenarios(): Promise<void> {
  const cases = [...Scenarios.all, ...PlanScenarios.all]
    .filter(({ title }) => new RegExp(scenario, "u").test(title))
    .flatMap((shown) => clients.filter(shown.fits).map((client) => ({ client, shown })))
  const members = await Member.ofEach(
    cases.map(({ client }) => client),
    host,
    Date.now() + LOGIN_MS
  )
  const service = await Service.make(program, {
    model: "simulated/steady",
    providers: Member.providers(members),
    retry: {
      schedule: { type: "steps", delays: ["10 millis"] },
      // The stall outlasts the head that the gateway sends after 20 s, and the first heartbeat.
      requestTimeout: { firstContent: "25 seconds", idle: "10 minutes" }
    }
  })
  await service.start()
  const queue = members.entries()
  const worker = async (): Promise<void> => {
    for (const [index, member] of queue) {
      const shown = cases[index]?.shown
      if (shown === undefined) continue
      await show(`${member.client.name}: ${shown.title}`, () => shown.run({ ...member, service, program }), GUARD_MS)
      member.endpoint.close()
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  await service.remove()
}
