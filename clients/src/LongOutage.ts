/**
 * A long outage, with every client at once: `--minutes 30`. It prints the record as a table.
 *
 * LongOutage.L1. The service has no settings but its providers: its waits are those of a new installation.
 * LongOutage.L2. A client's outage begins with its first call. Every call of it fails until the minutes are over.
 * LongOutage.L3. Clients that repeat a call after the head of its answer run twice: once more over a service that is killed after a third of the time, and started again.
 */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import * as Service from "../../tools/src/acceptance/Service.ts"
import { count } from "../../tools/src/acceptance/Report.ts"
import type { Client } from "./Client.ts"
import * as Endpoint from "./Endpoint.ts"
import * as Member from "./Member.ts"
import * as Run from "./Run.ts"
import * as Turns from "./Turns.ts"

/** Runs the outage. */
export const run = async (clients: ReadonlyArray<Client>, program: string, minutes: number): Promise<void> => {
  const killed = clients.filter(({ repeats }) => repeats === "always")
  const groups = await Promise.all([group(program, clients), group(program, killed)])
  console.log("| client | version | service | answered after | attempts | what was seen |\n|---|---|---|---|---|---|")
  const runs = groups.map(({ members, service }, index) =>
    Promise.all(members.map((member) => one(member, service, minutes, index === 1)))
  )
  const begun = await Promise.all(runs)
  const killing = (async () => {
    await after((minutes * MINUTE_MS) / 3)
    await groups[1].service.kill()
    await groups[1].service.start()
    console.log(`The second service was killed and started at ${new Date().toISOString()}.`)
  })()
  await Promise.all([killing, ...begun.flat().map(({ ended }) => ended)])
  for (const { service } of groups) await service.remove()
}

// --- internal

const MINUTE_MS = 60_000

const after = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

const group = async (program: string, clients: ReadonlyArray<Client>) => {
  const members = await Member.ofEach(clients)
  // L1; the model is for turns that are submitted: there are none.
  const service = await Service.make(program, { model: "simulated/steady", providers: Member.providers(members) })
  await service.start()
  return { members, service }
}

/** Starts a client, and returns when its first call has arrived. `ended` is the end of its outage. */
const one = async (
  member: Member.Member,
  service: Service.Service,
  minutes: number,
  isKilled: boolean
): Promise<{ readonly ended: Promise<void> }> => {
  const { client, endpoint, provider } = member
  const text = `The night was quiet, said ${provider}.`
  endpoint.isDown = true
  endpoint.plan({ answer: { text } })
  const run = await Run.start(member, `${service.url}/to/${provider}`, "Say how the night was.")
  await Promise.race([endpoint.reached, run.ended])
  const beganAt = performance.now()
  setTimeout(() => (endpoint.isDown = false), minutes * MINUTE_MS) // L2
  const ended = run.ended.then(async ({ exitCode, stderr, stdout }) => {
    const tookMs = performance.now() - beganAt
    const turns = await Turns.of(service.url, provider).catch(() => [])
    const shown = stdout.split(text).length - 1
    const answers = Endpoint.answered(endpoint).length
    const isHeld = shown === 1 && exitCode === 0 && answers === 1
    const seen = isHeld
      ? "one answer"
      : `exit code ${exitCode}, shown ${shown} times, ${answers} answers: ${lastLine(stderr) || lastLine(stdout)}`
    if (!isHeld) console.log(`${client.name}:\n${stdout}\n${stderr}`)
    const attempts = turns.map((turn) => `${turn.attempts} (${turn.status})`).join(", ")
    console.log(
      `| ${client.name} | ${versions(client)} | ${isKilled ? "killed once" : "kept"} | ${clock(tookMs)} | ${attempts} | ${seen} |`
    )
    count(isHeld)
    endpoint.close()
    await run.remove()
  })
  return { ended }
}

const clock = (ms: number): string => {
  const seconds = Math.round(ms / 1_000)
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
}

const lastLine = (text: string): string => (text.trim().split("\n").at(-1) ?? "").replaceAll("|", "/").slice(0, 200)

const versions = ({ packages }: Client): string =>
  packages
    .map((name) => {
      const manifest = join(import.meta.dirname, "../node_modules", name, "package.json")
      return (JSON.parse(readFileSync(manifest, "utf8")) as { readonly version: string }).version
    })
    .join(", ")
