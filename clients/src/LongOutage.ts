/**
 * A long outage, with every client at once: `--minutes 30`. It prints the record as a table.
 *
 * - The service has no settings but its providers: its waits are those of a new installation.
 * - A client's outage begins with its first call. Every call of it fails until the minutes are over.
 * - A client with a login runs twice: once more with a limit of its plan, which ends with the minutes. Each login ends after half of them.
 * - With restarts, the service is killed so many times at equal distances, and started again. Only clients run that repeat a call after the
 *   head of its answer.
 */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import * as Service from "../../tools/src/acceptance/Service.ts"
import { count } from "../../tools/src/acceptance/Report.ts"
import type { Client } from "./Client.ts"
import * as Endpoint from "./Endpoint.ts"
import * as Login from "./Login.ts"
import type { LoginHost } from "./LoginHost.ts"
import * as Member from "./Member.ts"
import * as Run from "./Run.ts"
import * as Turns from "./Turns.ts"

/** Runs the outage. */
export const run = async (
  clients: ReadonlyArray<Client>,
  program: string,
  host: LoginHost,
  minutes: number,
  restarts: number
): Promise<void> => {
  const chosen = clients.filter(({ repeats }) => restarts === 0 || repeats === "always")
  const limited = chosen
    .filter(({ vendor }) => vendor !== undefined)
    .map((client) => ({ ...client, name: `${client.name}, a limit of its plan` }))
  const length = minutes * MINUTE_MS
  const members = await Member.ofEach([...chosen, ...limited], host, Date.now() + length / 2)
  // The model is for turns that are submitted: there are none.
  const service = await Service.make(program, { model: "simulated/steady", providers: Member.providers(members) })
  await service.start()
  say(`${members.length} clients, an outage of ${minutes} minutes, ${restarts} restarts.`)
  const begun = await Promise.all(members.map((member, index) => one(member, service, length, index >= chosen.length)))
  say("The first call of each has failed.")
  const halfway = after(length / 2).then(() => {
    for (const { login } of members) if (login !== undefined) Login.end(login.login)
    say("The logins have ended.")
  })
  const killing = (async () => {
    for (let done = 0; done < restarts; done++) {
      await after(length / (restarts + 1))
      await service.kill()
      await service.start()
      say("The service was killed, and has started again.")
    }
  })()
  console.log(
    "| client | version | answered after | attempts | renewals of its login | what was seen |\n|---|---|---|---|---|---|"
  )
  await Promise.all([killing, halfway, ...begun.map(({ ended }) => ended)])
  await service.remove()
}

// --- internal

const MINUTE_MS = 60_000

const after = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

const say = (sentence: string): void => console.log(`${new Date().toISOString()} ${sentence}`)

/** Starts a client, and returns when its first call has arrived. `ended` is the end of its outage. */
const one = async (
  member: Member.Member,
  service: Service.Service,
  length: number,
  isLimited: boolean
): Promise<{ readonly ended: Promise<void> }> => {
  const { client, endpoint, login, provider } = member
  const text = `The night was quiet, said ${provider}.`
  let until: number | undefined
  const end = (): number => (until ??= Date.now() + length)
  endpoint.down = isLimited ? { limitUntil: end } : "overload"
  endpoint.plan({ answer: { text } })
  const run = await Run.start(member, `${service.url}/to/${provider}`, "Say how the night was.")
  await Promise.race([endpoint.reached, run.ended])
  const beganAt = performance.now()
  setTimeout(() => (endpoint.down = undefined), end() - Date.now())
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
      `| ${client.name} | ${versions(client)} | ${clock(tookMs)} | ${attempts} | ${login?.login.renewals ?? ""} | ${seen} |`
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
