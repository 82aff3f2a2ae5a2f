/** Tests the service's tools on real processes: MCP's test server, and a misbehaving one. */
import { assert, describe } from "@effect/vitest"
import * as ScriptedServer from "@holdfast/simulated/testing"
import { Effect, Schema } from "effect"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import * as PrometheusText from "../ops/telemetry/PrometheusText.ts"
import * as Receivers from "../ops/telemetry/Receivers.ts"
import * as TestToolServers from "@holdfast/mcp/testing"
import * as ProcessSetup from "./ProcessSetup.ts"
import * as Process from "./Process.ts"
import * as Service from "./Service.ts"
import { type Call, toolCalls } from "./ToolFrames.ts"
import * as SideBySide from "./SideBySide.ts"

const test = SideBySide.atOnce(2)

const everything = { command: process.execPath, args: [TestToolServers.EVERYTHING] }

/** A provider, a directory, and a function that starts a service with some tool servers over both. */
const setupOf = Effect.fnUntraced(function* (tools: object, telemetry: object = {}) {
  const directory = yield* Process.directory
  const provider = yield* ScriptedServer.start()
  return {
    directory,
    provider,
    asks: (...calls: ReadonlyArray<Call>) => provider.respond({ frames: toolCalls(...calls) }),
    answers: (text: string) => provider.respond(ProcessSetup.answer(text)),
    /** The tool results in the provider's nth request, in order. */
    resultsOf: (nth: number) => resultsIn(provider.requests()[nth]?.body ?? "{}"),
    offered: (nth: number) => toolsIn(provider.requests()[nth]?.body ?? "{}"),
    start: Process.start({ directory, config: { ...ProcessSetup.configOf(provider), tools, telemetry } })
  }
})

const turn = (service: ProcessSetup.Running, id: string, turnId = "one") => ProcessSetup.turn(service, id, turnId)

const statusOf = (events: ReturnType<typeof Service.eventsOf>) => {
  const end = events.at(-1)
  return end?.type === "turn-end" ? end.status : "no end"
}

const Body = Schema.Struct({
  messages: Schema.optionalKey(Schema.Array(Schema.Struct({ role: Schema.String, content: Schema.Json }))),
  tools: Schema.optionalKey(Schema.Array(Schema.Struct({ function: Schema.Struct({ name: Schema.String }) })))
})
const bodyOf = Schema.decodeUnknownSync(Schema.fromJsonString(Body))

const resultsIn = (body: string) =>
  (bodyOf(body).messages ?? []).filter(({ role }) => role === "tool").map(({ content }) => String(content))

const toolsIn = (body: string) => (bodyOf(body).tools ?? []).map(({ function: { name } }) => name)

/** The child processes of a process. */
const childrenOf = ({ child: { pid } }: ProcessSetup.Running): ReadonlyArray<number> => {
  const table = execFileSync("ps", ["-eo", "pid=,ppid="], { encoding: "utf8" }).trim().split("\n")
  return table.flatMap((line) => {
    const [child, parent] = line.trim().split(/\s+/).map(Number)
    return parent === pid && child !== undefined && commandOf(child).includes("Server") ? [child] : []
  })
}

const commandOf = (pid: number): string => {
  try {
    return fs.readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("server-everything", "Server")
  } catch {
    return ""
  }
}

const assertGone = (pids: ReadonlyArray<number>) =>
  Process.reaches(
    `${pids.join(", ")} to be gone`,
    () => pids.map(commandOf).filter((command) => command !== "").length,
    0
  )

const linesOf = (file: string): ReadonlyArray<string> =>
  fs.existsSync(file) ? fs.readFileSync(file, "utf8").trim().split("\n") : []

describe.concurrent("a turn with tools", () => {
  test("rule A16: calls a real server's, several at once, and continues with their results; each is counted and traced", function* () {
    const collector = yield* Receivers.receiver()
    const otlp = { endpoint: collector.url }
    const setup = yield* setupOf({ everything: { ...everything, deny: ["get-env"] } }, { otlp })
    setup.asks({ name: "get-sum", input: { a: 1, b: 2 } }, { name: "echo", input: { message: "hi" } }, { name: "no" })
    setup.answers("Three.")
    const service = yield* setup.start
    const events = yield* turn(service, yield* service.create())
    assert.deepStrictEqual([statusOf(events), Service.shown(events)], ["completed", "Three."])
    assert.include(setup.offered(0), "get-sum")
    assert.notInclude(setup.offered(0), "get-env")
    assert.deepStrictEqual(setup.offered(0), setup.offered(1))
    const results = ["The sum of 1 and 2 is 3.", "Echo: hi", "Error: There is no tool named no."]
    assert.deepStrictEqual(setup.resultsOf(1), results)
    const metrics = PrometheusText.read((yield* service.call({ path: "/metrics" })).text)
    const counted = (tool: string, outcome: string) =>
      PrometheusText.valueOf(metrics, "holdfast_tool_calls_total", { tool, outcome })
    assert.deepStrictEqual([counted("get-sum", "ok"), counted("echo", "ok"), counted("no", "error")], [1, 1, 1])
    const pids = childrenOf(service)
    assert.lengthOf(pids, 1)
    assert.strictEqual((yield* service.end("SIGTERM")).code, 0)
    yield* assertGone(pids)
    const spans = Receivers.spansOf(collector.requests)
    const step = spans.find(({ name }) => name === "step 0") ?? assert.fail("the step has no span")
    const errors = spans
      .filter(({ name, parentSpanId }) => parentSpanId === step.spanId && name.startsWith("execute_tool"))
      .map(({ attributes, name }) => [name, attributes["error.type"]])
    assert.sameDeepMembers(errors, [
      ["execute_tool echo", undefined],
      ["execute_tool get-sum", undefined],
      ["execute_tool no", "tool_error"]
    ])
  })

  test("accepts a bounded part of a flooding server's output, and its process grows no larger", function* () {
    // Each may send some 50 MB at once and is read at a rate from then on: several send in seconds as much as one in a minute.
    const names = ["a", "b", "c", "d", "e", "f"]
    const unruly = { ...TestToolServers.unrulyEntry(), allow: ["flood", "flood_lines", "endless"], maxOutput: 4_000 }
    const setup = yield* setupOf(Object.fromEntries(names.map((name) => [name, unruly])))
    const flood = (megabytes: number) => {
      setup.asks({ name: "a__flood", input: { bytes: 4_000_000 } })
      const input = { lines: megabytes, size: 1_000_000 }
      setup.asks(...names.map((name) => ({ name: `${name}__flood_lines`, input })))
      setup.asks({ name: "a__endless" })
      setup.answers("Enough.")
    }
    const service = yield* setup.start
    const id = yield* service.create()
    flood(4)
    assert.strictEqual(statusOf(yield* turn(service, id)), "completed")
    const before = yield* service.memory
    flood(52)
    assert.strictEqual(statusOf(yield* turn(service, id, "two")), "completed")
    // The six send 312 MB in all, and what was read of them may not have been collected yet.
    assert.isBelow((yield* service.memory) - before, 250)
    const [cut = "", ...passedOver] = setup.resultsOf(3)
    assert.include(cut, "[Holdfast cut this output: it has 4000000 bytes, and the first 4000 are above.]")
    assert.deepStrictEqual(
      passedOver.slice(0, -1),
      names.map(() => "flooded")
    )
    assert.include(passedOver.at(-1), "it sent a message of more than 8 MiB, and was stopped")
  })

  test("starts, is ready and answers though a server is down, and reports it", function* () {
    const setup = yield* setupOf({ broken: TestToolServers.unrulyEntry("broken"), everything })
    setup.answers("Without.")
    const service = yield* setup.start
    const events = yield* turn(service, yield* service.create())
    assert.strictEqual(statusOf(events), "completed")
    assert.include(setup.offered(0), "get-sum")
    assert.strictEqual((yield* service.call({ path: "/readyz" })).status, 200)
    assert.include(
      service.stderr(),
      "The tool server broken is down: its process ended (exit code 3); its last output: There is no database.."
    )
  })
})

describe.concurrent("a process that is killed while tools run", () => {
  test("rule X8: calls the idempotent tool again, never the other one, whose outcome it reports as unknown", function* () {
    const setup = yield* setupOf({ unruly: { ...TestToolServers.unrulyEntry(), idempotent: ["append_again"] } })
    const [file, gate] = [path.join(setup.directory, "runs"), path.join(setup.directory, "gate")]
    const input = { file, gate }
    setup.asks({ name: "append", input }, { name: "append_again", input })
    setup.answers("So be it.")
    const first = yield* setup.start
    const id = yield* first.create()
    yield* Effect.forkScoped(Effect.ignore(turn(first, id)))
    yield* Process.reaches("both to run", () => linesOf(file).length, 2)
    const pids = childrenOf(first)
    yield* first.end("SIGKILL")
    yield* assertGone(pids)

    fs.writeFileSync(gate, "")
    const second = yield* setup.start
    const events = yield* turn(second, id)
    assert.strictEqual(statusOf(events), "completed")
    assert.deepStrictEqual(linesOf(file).toSorted(), ["append", "append_again", "append_again"])
    assert.deepStrictEqual(setup.resultsOf(1), [
      "Error: The call was interrupted before a result came back. Whether it took effect is unknown.",
      "appended"
    ])
    const results = events.flatMap((event) => (event.type === "tool-result" ? [event.isError] : []))
    assert.deepStrictEqual([results, setup.provider.count()], [[true, false], 2])
  })
})
