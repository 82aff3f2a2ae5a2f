/** Tests `holdfast with` in this process, whose service is its own. `With.e2e.test.ts` has what outlives a process. */
import { describe, expect } from "@effect/vitest"
import { defined } from "@holdfast/wire"
import { Effect, Fiber } from "effect"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import * as ProgramParts from "../../src/ProgramParts.ts"
import * as RawEndpoint from "../gateway/RawEndpoint.ts"
import * as Process from "../service/Process.ts"
import * as CommandLine from "./CommandLine.ts"
import * as Recorder from "./Recorder.ts"
import * as It from "../It.ts"

const rig = Effect.gen(function* () {
  const directory = yield* Process.directory
  const state = { isUp: false, go: () => {} }
  const endpoint = yield* RawEndpoint.start(({ response, url }) => {
    if (url.startsWith("/?")) state.go = () => response.end()
    else response.writeHead(state.isUp ? 400 : 529).end("{}")
  })
  const provider = { type: "anthropic", baseUrl: endpoint.url }
  const config = {
    server: { port: 0 },
    providers: { anthropic: provider, own: provider },
    model: "anthropic/m",
    database: { path: join(directory, "data/holdfast.db") },
    retry: { schedule: { type: "steps", delays: ["1 hour"] } }
  }
  const file = join(directory, "holdfast.json")
  writeFileSync(file, JSON.stringify(config))
  const recorder = Recorder.make({ stdout: false, stderr: false })
  const parts = ProgramParts.make({ PATH: process.env["PATH"], HOME: directory })
  const at =
    (recorder?: Recorder.Recorder) =>
    (...args: ReadonlyArray<string>) =>
      CommandLine.run(["with", "--config", file, ...args], { parts, isOnDisk: true, ...defined({ recorder }) })
  const asked = (count: number) => Process.reaches("the calls", () => endpoint.calls.length, count)
  /** What was written, without times and folders. */
  const stderr = () => recorder.stderr().replaceAll(/\S+(?=with\.log)|(?<=next at ).*/g, "")
  return { asked, beside: at(), directory, endpoint, run: at(recorder), state, stderr }
})

/** A program: it reports its addresses and arguments, and ends with 7 when it is answered. */
const programOf = (url: string) =>
  `const { ANTHROPIC_BASE_URL: a, OPENAI_BASE_URL: o } = process.env
  fetch("${url}/?" + encodeURIComponent(JSON.stringify([a, o, ...process.argv.slice(1)])))
    .then((r) => r.text()).then(() => process.exit(7))`

const FIRST = "No service is running: this terminal runs its own. Warnings go to with.log\n"

describe.concurrent("holdfast with", () => {
  const held = "it stays until then. Ctrl-C stops it; turns go on with the next start, such a call ends.\n"
  const kept = "it stays until then. Ctrl-C stops it; they go on with the next start.\n"
  const here = "in this terminal"
  for (const [calls, turns, words] of [
    [1, 1, `1 turn of the service ${here} has not ended, and 1 call of another program waits ${here}: ${held}`],
    [2, 0, `2 calls of another program wait ${here}: ${held}`],
    [0, 2, `2 turns of the service ${here} have not ended: ${kept}`],
    [0, 0, ""]
  ] as const)
    It.live(`has a line for a wait, and stays until ${calls} calls and ${turns} turns have ended`, function* () {
      const { asked, beside, endpoint, run, state, stderr } = yield* rig
      const program = ["node", "-e", programOf(endpoint.url), "x", "y"]
      const running = yield* Effect.forkChild(run("--provider", "own", ...program))
      yield* asked(1)
      const [to = "", ...others] = JSON.parse(decodeURIComponent(endpoint.calls[0]?.url.slice(2) ?? ""))
      const { origin } = new URL(to)
      // A provider that is named is that of the libraries of its format.
      expect([to, ...others]).toEqual([`${origin}/to/own`, `${origin}/to/openai`, "x", "y"])
      const headers = { "content-type": "application/json", "user-agent": "OpenAI/JS 7", prefer: "respond-async" }
      const post = (path: string, body: object) =>
        fetch(`${origin}${path}`, { method: "POST", headers, body: JSON.stringify(body) })
      const message = { model: "m", max_tokens: 9, messages: [{ role: "user", content: "Hello" }] }
      const call = () => post("/to/own/v1/messages", message)
      const ended = calls > 0 ? [call()] : []
      const line = calls > 0 ? `${FIRST}Holdfast: 1 call held, overloaded, next at \n` : FIRST
      yield* Process.reaches("the line", stderr, line)
      if (calls > 1) ended.push(call())
      for (let n = 0; n < turns; n++)
        yield* Effect.promise(async () => {
          const created: unknown = await (await post("/v1/conversations", {})).json()
          const { conversationId } = created as { readonly conversationId: string }
          await post(`/v1/conversations/${conversationId}/turns`, { prompt: "Hi", turnId: `t-${n}` })
        })
      yield* asked(1 + calls + turns)
      // Another one works through the service of the first, or of its address.
      for (const named of [[], ["--url", origin]])
        expect(yield* beside(...named, "sh", "-c", "kill -9 $$")).toMatchObject({ code: 137 })
      state.go()
      yield* Process.reaches("the words", stderr, line + words)
      state.isUp = true
      const again = { command: { type: "retry-now" }, filter: { status: "waiting" } }
      if (words !== "") yield* Effect.promise(() => post("/v1/turns/commands", again))
      expect(yield* Fiber.join(running)).toMatchObject({ code: 7, stdout: "" })
      for (const answer of ended) expect((yield* Effect.promise(() => answer)).status).toBe(400)
      expect(stderr()).toBe(line + words)
    })

  It.live("starts a known program; names one that is not there, and one whose base URL is elsewhere", function* () {
    const { directory, run, stderr } = yield* rig
    const codex = join(directory, "codex")
    writeFileSync(codex, '#!/bin/sh\n[ "$1 $3" = "-c x" ] && exit 9\n', { mode: 0o755 })
    expect(yield* run(codex, "x")).toMatchObject({ code: 9, stdout: "" })
    expect(yield* run("no-such-agent")).toMatchObject({ code: 127, stdout: "" })
    expect(yield* run(directory)).toMatchObject({ code: 127, stdout: "" })
    expect(yield* run("pi", "--version")).toMatchObject({ code: 2, stdout: "" })
    expect(yield* run("--url", "http://127.0.0.1:9", "pi")).toMatchObject({ code: 1, stdout: "" })
    expect(stderr().split("\n")).toEqual([
      FIRST.trim(),
      FIRST.trim(),
      'holdfast: There is no program "no-such-agent" in PATH.',
      FIRST.trim(),
      `holdfast: spawn ${directory} EACCES`,
      FIRST.trim(),
      "holdfast: pi has its base URL in its own configuration alone: `holdfast connect pi --write` sets it there.",
      "holdfast: The service at http://127.0.0.1:9 does not answer (bad port). Start it with `holdfast serve`, or name it with --url.",
      ""
    ])
  })
})
