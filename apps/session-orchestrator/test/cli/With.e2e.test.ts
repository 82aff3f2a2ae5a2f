/** Tests `holdfast with`: a program whose calls pass through the service, in processes as people start them. */
import { describe, expect } from "@effect/vitest"
import { Effect } from "effect"
import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as RawEndpoint from "../gateway/RawEndpoint.ts"
import * as Process from "../service/Process.ts"
import * as It from "../It.ts"

/** An agent: asks until it is answered, as agents do whose connection breaks, and ends with 7. An SDK's program asks once. */
const AGENT = `
const AGENT = process.argv.includes("--sdk") ? "OpenAI/JS 7" : "claude-cli/2"
const ask = async () => {
  for (;;) try {
    const response = await fetch(process.env.ANTHROPIC_BASE_URL + "/v1/messages", {
      method: "POST",
      headers: { "content-type": "application/json", "x-api-key": "sk-of-the-client-0123", "user-agent": AGENT },
      body: JSON.stringify({ model: "m", max_tokens: 9, messages: [{ role: "user", content: "Hello" }] })
    })
    return [response.status, await response.text(), response.headers.get("x-holdfast-attempts"), ...process.argv.slice(2)]
  } catch (error) {
    if (AGENT !== "claude-cli/2") throw error
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}
console.log(JSON.stringify(await ask()))
process.exit(7)
`

const ANSWER = JSON.stringify({
  type: "message",
  role: "assistant",
  content: [{ type: "text", text: "Hi" }],
  stop_reason: "end_turn",
  usage: { input_tokens: 1, output_tokens: 1 }
})

const rig = Effect.gen(function* () {
  const directory = yield* Process.directory
  const state = { isUp: false, isStuck: false, stuck: 0, go: () => {} }
  const endpoint = yield* RawEndpoint.start(({ response, url }) => {
    if (url === "/hold") state.go = () => response.end()
    else if (state.isStuck) state.stuck++
    else if (state.isUp) response.writeHead(200, { "content-type": "application/json" }).end(ANSWER)
    else response.writeHead(529).end()
  })
  const config = {
    server: { port: 0 },
    providers: { anthropic: { type: "anthropic", baseUrl: endpoint.url } },
    model: "anthropic/m",
    retry: { schedule: { type: "steps", delays: ["100 millis"], tail: "100 millis" } }
  }
  writeFileSync(join(directory, "holdfast.config.json"), JSON.stringify(config))
  writeFileSync(join(directory, "agent.mjs"), AGENT)
  const run = (...args: ReadonlyArray<string>) => Process.run({ args: ["with", ...args], directory })
  const asked = (n: number) =>
    Process.eventually(
      "calls at the endpoint",
      Effect.sync(() => endpoint.calls.filter(({ url }) => url !== "/hold").length),
      (count) => count >= n
    )
  /** A first program, which has the service until `state.go`. */
  const holding = Effect.gen(function* () {
    const first = yield* run("node", "-e", `fetch("${endpoint.url}/hold").then((r) => r.text())`)
    yield* Process.reaches("the first program", () => endpoint.calls.length, 1)
    return first
  })
  return { asked, directory, endpoint, holding, run, state }
})

describe.concurrent("holdfast with", () => {
  It.live("runs a program through an outage with its arguments and exit code; only the database stays", function* () {
    const { asked, directory, run, state } = yield* rig
    const { exit } = yield* run("node", "agent.mjs", "--print", "--", "-x")
    yield* asked(2)
    state.isUp = true
    const { code, stderr, stdout } = yield* exit
    const [status, text, attempts, ...args] = JSON.parse(stdout)
    expect([code, status, text, args]).toEqual([7, 200, ANSWER, ["--print", "--", "-x"]])
    expect(Number(attempts)).toBeGreaterThan(2)
    expect(stderr).toContain("this terminal runs its own")
    expect(readdirSync(directory).toSorted()).toEqual([".holdfast", "agent.mjs", "holdfast.config.json"])
    expect(existsSync(join(directory, ".holdfast/holdfast.db-wal"))).toBe(false)
  })

  It.live("takes over the service, and its agent's wait, when the process ends that had it", function* () {
    const { asked, endpoint, holding, run, state } = yield* rig
    const first = yield* holding
    const second = yield* run("node", "agent.mjs")
    yield* asked(2)
    state.isStuck = true
    yield* Process.reaches("a call under way", () => state.stuck, 1)
    state.go()
    expect((yield* first.exit).code).toBe(0)
    Object.assign(state, { isStuck: false, isUp: true })
    const { code, stdout } = yield* second.exit
    const [status, text, attempts] = JSON.parse(stdout)
    expect([code, status, text]).toEqual([7, 200, ANSWER])
    // The call that was under way as its process ended has no record, and is made again; one call was the first program's.
    expect(endpoint.calls.length - Number(attempts)).toBe(2)
  })

  It.live("stays while a call of another program waits that does not ask again", function* () {
    const { asked, holding, run, state } = yield* rig
    const first = yield* holding
    const second = yield* run("node", "agent.mjs", "--sdk")
    yield* asked(2)
    state.go()
    const words = "1 call of another program waits in this terminal: it stays until then."
    yield* Process.eventually("its words", Effect.sync(first.stderr), (text) => text.includes(words))
    state.isUp = true
    const { stdout } = yield* second.exit
    const [status, text] = JSON.parse(stdout)
    expect([status, text, (yield* first.exit).code]).toEqual([200, ANSWER, 0])
  })

  It.live("has a line for each wait where its program draws no screen", function* () {
    const { directory, run, state } = yield* rig
    const config = JSON.parse(readFileSync(join(directory, "holdfast.config.json"), "utf8"))
    writeFileSync(
      join(directory, "holdfast.config.json"),
      JSON.stringify({ ...config, retry: { schedule: { type: "steps", delays: ["1 hour"] } } })
    )
    const agent = yield* run("node", "-e", 'console.error(process.env.ANTHROPIC_BASE_URL); import("./agent.mjs")')
    const lines = (text: string) => text.match(/Holdfast: 1 call held, overloaded, next at \d\d:\d\d:\d\d\n/g)
    yield* Process.eventually("the line", Effect.sync(agent.stderr), (text) => lines(text) !== null)
    state.isUp = true
    const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(agent.stderr()) ?? []
    const body = JSON.stringify({ command: { type: "retry-now" }, filter: { status: "waiting" } })
    const init = { method: "POST", headers: { "content-type": "application/json" }, body }
    yield* Effect.promise(() => fetch(`${url}/v1/turns/commands`, init))
    const { code, stderr } = yield* agent.exit
    expect([code, lines(stderr)?.length]).toEqual([7, 1])
  })

  It.live("names a program that is not there, and one that has its base URL elsewhere", function* () {
    const { run } = yield* rig
    const missing = yield* (yield* run("no-such-agent")).exit
    expect([missing.code, missing.stderr]).toEqual([
      127,
      expect.stringContaining('There is no program "no-such-agent" in PATH.')
    ])
    const pi = yield* (yield* run("pi", "--version")).exit
    expect([pi.code, pi.stderr]).toEqual([2, expect.stringContaining("`holdfast connect pi --write`")])
  })
})
