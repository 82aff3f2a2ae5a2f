/** Tests `holdfast with`: a program whose calls pass through the service, in processes as people start them (`With.int.test.ts`: in this one). */
import { expect } from "@effect/vitest"
import { Effect } from "effect"
import { existsSync, readdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as RawEndpoint from "../gateway/RawEndpoint.ts"
import * as Process from "../service/Process.ts"
import * as It from "../It.ts"

/** An agent: asks until it is answered, as agents do whose connection breaks, and ends with 7. */
const AGENT = `
const ask = async () => {
  for (;;) try {
    const response = await fetch(process.env.ANTHROPIC_BASE_URL + "/v1/messages", {
      method: "POST",
      headers: { "content-type": "application/json", "x-api-key": "sk-of-the-client-0123", "user-agent": "claude-cli/2" },
      body: JSON.stringify({ model: "m", max_tokens: 9, messages: [{ role: "user", content: "Hello" }] })
    })
    return [response.status, await response.text(), response.headers.get("x-holdfast-attempts"), ...process.argv.slice(2)]
  } catch {
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}
console.log(JSON.stringify(await ask()))
process.exit(7)
`

const content = [{ type: "text", text: "Hi" }]
const usage = { input_tokens: 1, output_tokens: 1 }
const ANSWER = JSON.stringify({ type: "message", role: "assistant", content, stop_reason: "end_turn", usage })

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
  return { asked, directory, endpoint, run, state }
})

It.live("holdfast with takes over the service, and its agent's wait, when the process ends that had it", function* () {
  const { asked, directory, endpoint, run, state } = yield* rig
  // A first program, which has the service until `state.go`.
  const first = yield* run("node", "-e", `fetch("${endpoint.url}/hold").then((r) => r.text())`)
  yield* Process.reaches("the first program", () => endpoint.calls.length, 1)
  const second = yield* run("node", "agent.mjs", "--print", "--", "-x")
  yield* asked(2)
  state.isStuck = true
  yield* Process.reaches("a call under way", () => state.stuck, 1)
  state.go()
  expect((yield* first.exit).code).toBe(0)
  Object.assign(state, { isStuck: false, isUp: true })
  const { code, stderr, stdout } = yield* second.exit
  const [status, text, attempts, ...args] = JSON.parse(stdout)
  expect([code, status, text, args]).toEqual([7, 200, ANSWER, ["--print", "--", "-x"]])
  // The call that was under way as its process ended has no record, and is made again; one call was the first program's.
  expect(endpoint.calls.length - Number(attempts)).toBe(2)
  expect(stderr).toContain("this terminal runs its own")
  // Only the database stays.
  expect(readdirSync(directory).toSorted()).toEqual([".holdfast", "agent.mjs", "holdfast.config.json"])
  expect(existsSync(join(directory, ".holdfast/holdfast.db-wal"))).toBe(false)
})
