import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Fiber, Redacted } from "effect"
import { TestClock } from "effect/testing"
import * as ToolServers from "../src/ToolServers.ts"
import * as TestToolServers from "../testing/index.ts"
import { connect, Life, offer } from "./ScriptedConnection.ts"

const { call, concealing, server } = TestToolServers

/** Servers by name, with their starts. */
const start = (starts: Readonly<Record<string, Parameters<typeof connect>[0]>>) => {
  const ways = new Map(Object.entries(starts).map(([name, starts]) => [name, connect(starts)]))
  return ToolServers.make(
    Object.keys(starts).map((name) => server(name, { startTimeout: Duration.minutes(1) })),
    ({ name }) => ways.get(name) ?? Effect.never,
    concealing
  )
}

describe("the toolbox of all servers", () => {
  it.effect("uses the names that a step was offered, although a tool of the same name appears during the step", () =>
    Effect.gen(function* () {
      const [one, two] = [new Life("find"), new Life()]
      one.answers = Effect.succeed("one's")
      const { toolbox } = yield* start({ one: [one], two: [two] })
      const tools = yield* toolbox
      assert.deepStrictEqual(
        tools.definitions.map(({ name }) => name),
        ["find"]
      )
      two.tools = [offer("find")]
      yield* two.changes
      yield* TestClock.adjust(0)
      assert.strictEqual((yield* tools.run(call("find"))).output, "one's")
      assert.deepStrictEqual(
        tools.definitions.map(({ name }) => name),
        ["one__find", "two__find"]
      )
    }).pipe(Effect.scoped)
  )

  it.effect(
    "rule X8: a tool that needs approval has the time for an answer, and does not run without it, also as a definition of before",
    () =>
      Effect.gen(function* () {
        const one = new Life("read", "send")
        one.answers = Effect.succeed("done")
        const config = server("one", { confirm: ["se*"], answerWithin: Duration.hours(2) })
        const tools = yield* (yield* ToolServers.make([config], () => connect([one]), concealing)).toolbox
        assert.deepStrictEqual(
          tools.definitions.map(({ confirmWithinMs, name }) => [name, confirmWithinMs]),
          [
            ["read", undefined],
            ["send", 7_200_000]
          ]
        )
        assert.deepInclude(yield* tools.run(call("read")), { output: "done", isError: false })
        assert.deepInclude(yield* tools.run(call("send"), true), { output: "done", isError: false })
        const refused = yield* tools.run(call("send"))
        assert.isTrue(refused.isError)
        assert.include(String(refused.output), "needs the approval of a person")
      }).pipe(Effect.scoped)
  )

  it.effect("drops names that were offered long ago, and no others, of a server that offers new ones repeatedly", () =>
    Effect.gen(function* () {
      const one = new Life()
      const { toolbox } = yield* start({ one: [one] })
      const tools = yield* toolbox
      const lists = 2_000
      for (let n = 0; n < lists; n++) {
        one.tools = ["always", `tool_${n}`].map(offer)
        yield* one.changes
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual(
          tools.definitions.map(({ name }) => name),
          ["always", `tool_${n}`]
        )
      }
      const answers = (name: string) => Effect.map(tools.run(call(name)), ({ isError }) => !isError)
      assert.isFalse(yield* answers("tool_0"))
      assert.isTrue(yield* answers(`tool_${lists - 100}`))
      one.tools = []
      yield* one.changes
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(tools.definitions, [])
      assert.isTrue(yield* answers("always"))
    }).pipe(Effect.scoped)
  )

  it.effect("turns that begin right after the start wait for servers, 10 s at most and once", () =>
    Effect.gen(function* () {
      const { toolbox } = yield* start({ slow: ["never"], good: [new Life("a")] })
      const waiting = yield* Effect.forkChild(toolbox, { startImmediately: true })
      yield* TestClock.adjust("9999 millis")
      assert.isUndefined(waiting.pollUnsafe())
      yield* TestClock.adjust("1 millis")
      const { definitions } = yield* Fiber.join(waiting)
      assert.deepStrictEqual(
        definitions.map(({ name }) => name),
        ["a"]
      )
      yield* toolbox
    }).pipe(Effect.scoped)
  )

  it.effect("reports which servers are not up and why, and waits for the required ones", () =>
    Effect.gen(function* () {
      const starts = { good: [new Life("a")], broken: ["no database of hunter2-hunter2", new Life("b")] } as const
      const connections = { good: connect(starts.good), broken: connect(starts.broken) }
      const tools = yield* ToolServers.make(
        [server("good"), server("broken", { isRequired: true, secrets: [Redacted.make("hunter2-hunter2")] })],
        ({ name }) => (name === "good" ? connections.good : connections.broken),
        concealing
      )
      const complete = yield* Effect.forkChild(tools.isComplete, { startImmediately: true })
      yield* TestClock.adjust(0)
      assert.deepStrictEqual(tools.missing(), [
        { server: "broken", isRequired: true, because: "no database of [redacted]" }
      ])
      assert.isUndefined(complete.pollUnsafe())
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(complete)
      assert.deepStrictEqual(tools.missing(), [])
    }).pipe(Effect.scoped)
  )

  it.effect("offers the tools of chosen servers alone, and reports those that are not configured", () =>
    Effect.gen(function* () {
      const servers = yield* start({ one: [new Life("a")], two: [new Life("b")], slow: ["never"] })
      assert.deepStrictEqual(servers.names, ["one", "two", "slow"])
      const chosen = servers.only(["two", "gone"])
      const ready = yield* Effect.forkChild(chosen.toolbox, { startImmediately: true })
      yield* TestClock.adjust("10 seconds")
      const tools = yield* Fiber.join(ready)
      assert.deepStrictEqual(
        tools.definitions.map(({ name }) => name),
        ["b"]
      )
      assert.isFalse((yield* tools.run(call("b"))).isError)
      assert.isTrue((yield* tools.run(call("a"))).isError)
      assert.deepStrictEqual(chosen.missing(), [{ server: "gone", isRequired: false, because: "it is not configured" }])
      assert.deepStrictEqual((yield* servers.only([]).toolbox).definitions, [])
    }).pipe(Effect.scoped)
  )

  it.effect("describes its tools without its servers' secrets", () =>
    Effect.gen(function* () {
      const one = new Life()
      const url = "postgres://me:hunter2-hunter2@db/notes"
      const inputSchema = { type: "object", properties: { sql: { type: "string", description: `Run on ${url}` } } }
      one.tools = [{ name: "query", description: `Queries ${url}`, inputSchema }]
      const secrets = [Redacted.make("hunter2-hunter2")]
      const { toolbox } = yield* ToolServers.make([server("one", { secrets })], () => connect([one]), concealing)
      const { definitions } = yield* toolbox
      assert.deepStrictEqual(definitions[0]?.description, "Queries postgres://me:[redacted]@db/notes")
      assert.deepStrictEqual(definitions[0]?.inputSchema, {
        type: "object",
        properties: { sql: { type: "string", description: "Run on postgres://me:[redacted]@db/notes" } }
      })
    }).pipe(Effect.scoped)
  )
})
