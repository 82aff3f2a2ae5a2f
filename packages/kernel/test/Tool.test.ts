import { assert, describe, it } from "@effect/vitest"
import { Scenario, ScriptedProvider, TestStrategy } from "@holdfast/kernel/testing"
import { Context, Effect, Fiber, Layer, Schema } from "effect"
import { TestClock } from "effect/testing"
import * as Tool from "../src/ports/Tool.ts"
import { Toolbox } from "../src/ports/Toolbox.ts"

const { answer, call, emits, overloaded, tools } = ScriptedProvider

const toolCall = (toolName: string, input: Schema.Json) =>
  ({ type: "tool-call", toolCallId: `call-${toolName}`, toolName, input }) as const

const weather = Tool.make({
  name: "weather",
  description: "The weather in a city",
  input: Schema.Struct({ city: Schema.String, days: Schema.optionalKey(Schema.Int) }),
  isIdempotent: true,
  run: ({ city, days = 1 }) => Effect.succeed({ city, days, sky: "grey" })
})

class Offset extends Context.Service<Offset, number>()("test/Offset") {}

const add = Tool.make({
  name: "add",
  input: Schema.Struct({ n: Schema.Number }),
  run: ({ n }) => Effect.map(Offset, (offset) => n + offset)
})

describe("a tool as a value", () => {
  it("sends the JSON Schema of its arguments to the model", () => {
    const { definition } = weather
    assert.deepStrictEqual(
      { ...definition, inputSchema: undefined },
      { name: "weather", description: "The weather in a city", isIdempotent: true, inputSchema: undefined }
    )
    const schema = Schema.decodeUnknownSync(
      Schema.Struct({ type: Schema.String, required: Schema.Array(Schema.String), properties: Schema.Json })
    )(definition.inputSchema)
    assert.strictEqual(schema.type, "object")
    assert.deepStrictEqual(schema.required, ["city"])
  })

  it.effect("keeps the definitions that a recursive schema refers to", () =>
    Effect.gen(function* () {
      interface Tree {
        readonly leaves: ReadonlyArray<Tree>
      }
      const Tree: Schema.Codec<Tree> = Schema.Struct({
        leaves: Schema.Array(Schema.suspend((): Schema.Codec<Tree> => Tree))
      }).annotate({ identifier: "Tree" })
      const tool = Tool.make({ name: "count", input: Tree, run: ({ leaves }) => Effect.succeed(leaves.length) })
      assert.include(JSON.stringify(tool.definition.inputSchema), '"$defs":{"Tree":')
      assert.deepStrictEqual(yield* tool.call({ leaves: [{ leaves: [] }] }), { output: 1, isError: false })
    })
  )

  it.effect("decodes the arguments before it runs, and answers with its result", () =>
    Effect.gen(function* () {
      const when = Tool.make({
        name: "when",
        input: Schema.Struct({ at: Schema.Date }),
        run: ({ at }) => Effect.succeed(at.getUTCFullYear())
      })
      assert.deepStrictEqual(yield* when.call({ at: "2026-03-01T00:00:00.000Z" }), { output: 2026, isError: false })
    })
  )

  it.effect("answers arguments that do not fit with all errors and their paths", () =>
    Effect.gen(function* () {
      const outcome = yield* weather.call({ city: 7, days: 1.5 })
      assert.isTrue(outcome.isError)
      const said = String(outcome.output)
      for (const part of ["do not fit", "Expected string", '["city"]', "Expected an integer", '["days"]'])
        assert.include(said, part)
    })
  )

  it.effect("answers its own failure with the message, and does not fail", () =>
    Effect.gen(function* () {
      const tool = Tool.make({
        name: "t",
        input: Schema.Struct({}),
        run: () => Effect.fail(new Error("no such table"))
      })
      assert.deepStrictEqual(yield* tool.call({}), { output: "The tool failed: no such table", isError: true })
    })
  )

  it.effect("takes its services from the context in which the toolbox is made", () =>
    Effect.gen(function* () {
      const toolbox = yield* Toolbox
      assert.deepStrictEqual(
        toolbox.definitions.map(({ name }) => name),
        ["weather", "add"]
      )
      assert.deepStrictEqual(yield* toolbox.run(toolCall("add", { n: 2 })), { output: 42, isError: false })
      const unknown = yield* toolbox.run(toolCall("subtract", {}))
      assert.deepStrictEqual(unknown, { output: "There is no tool named subtract.", isError: true })
    }).pipe(Effect.provide(Layer.provide(Tool.layer(weather, add), Layer.succeed(Offset, 40))))
  )

  it.effect("two tools of one name are a bug of the program", () =>
    Effect.gen(function* () {
      const defect = yield* Effect.exit(Tool.toolbox([weather, weather]))
      assert.include(String(defect), "two tools have the same name")
    })
  )

  Scenario.bothWays("runs in a turn, and its failure is returned to the model", (start) =>
    Effect.gen(function* () {
      const toolbox = yield* Tool.toolbox([weather])
      const run = yield* start({ scripts: [tools(call("weather")), answer("I see")], toolbox })
      const end = yield* Fiber.join(run.fiber)
      assert.strictEqual(end.status, "completed")
      const result = run.sink.persisted.find((event) => event.type === "tool-result")
      assert.isTrue(result?.type === "tool-result" && result.isError)
    })
  )
})

describe("the definitions of a toolbox", () => {
  it.effect("are the same for all attempts of a step, and read again for the next one", () =>
    Effect.gen(function* () {
      let reads = 0
      const toolbox = {
        get definitions() {
          return [{ name: `read-${reads++}`, inputSchema: {} }]
        },
        run: () => Effect.succeed({ output: "", isError: false })
      }
      const run = yield* Scenario.straight({
        scripts: [emits(overloaded), emits(overloaded), tools(call("t")), answer("ok")],
        strategy: new TestStrategy.TestStrategy({ delays: [1_000, 1_000] }),
        toolbox
      })
      yield* TestClock.adjust("1 hour")
      yield* Fiber.join(run.fiber)
      const offered = run.provider.requests.map(({ tools }) => tools[0]?.name)
      assert.strictEqual(new Set(offered.slice(0, 3)).size, 1)
      assert.notStrictEqual(offered[3], offered[0])
    })
  )
})
