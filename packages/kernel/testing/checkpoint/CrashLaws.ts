/** Laws of a turn whose process dies after content or a tool's effect has left. */
import { assert } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as fc from "fast-check"
import * as ModelContext from "../../src/turn/ModelContext.ts"
import type { ProviderRequest } from "../../src/ports/Provider.ts"
import * as Records from "../../src/records/Records.ts"
import * as Property from "../Property.ts"
import { answer, call, tools } from "../ScriptedProvider.ts"
import { type Law, ofLives, ofOneLife, within } from "./Law.ts"
import type { Point } from "./SimulatedProcess.ts"
import { type TurnSetup, TurnLives } from "./TurnLives.ts"
import { dyingAt } from "./TurnLaws.ts"

/** Two steps with tools, of which `look` and `read` are idempotent, and an answer; the attempt after a void one has the same script. */
const TOOLS: TurnSetup = {
  scripts: ({ step }: ProviderRequest) =>
    [tools(call("pay"), call("look"), call("send")), tools(call("read"), call("post"))][step] ?? answer("Done."),
  tools: ["look", "read"].map((name) => ({ name, inputSchema: {}, isIdempotent: true }))
}

const SAFE = new Set(["call-look", "call-read"])

/** A death after a tool's effect, before its result is recorded. */
const doneWith = (number: number) => ({
  dies: ({ at, name }: Point) => at === "done" && name === Records.nameOf("Tool", 0, number)
})

/** The laws of crashes. */
export const laws: ReadonlyArray<Law> = [
  ofLives(
    "rule X2: content that had left is voided by `step-discarded`; without marks its attempt is made again",
    (make) =>
      Effect.gen(function* () {
        const engine = yield* make
        const lives = new TurnLives(engine, { scripts: () => answer("Hel", "lo") })
        const hasMarks = yield* Effect.scoped(Effect.map(engine.live, ({ mark }) => mark !== undefined))
        yield* lives.life({ dies: ({ at, name }) => at === "done" && name === Records.nameOf("Attempt", 0) })
        const end = yield* lives.toSeal()
        assert.strictEqual(end.status, "completed")
        assert.strictEqual(lives.sink.shown, "HelloHello")
        assert.deepStrictEqual(
          lives.requests.map(({ attempt }) => attempt),
          hasMarks ? [0, 1] : [0, 0]
        )
        assert.deepStrictEqual(lives.sink.types, [
          "turn-start",
          "message",
          "step-start",
          "text-delta",
          ...(hasMarks ? (["step-discarded"] as const) : []),
          "step-start",
          "text-delta",
          "usage",
          "message",
          "turn-end"
        ])
      })
  ),
  ofLives("rule X8: a tool call that was running when its process died does not run again", (make) =>
    Effect.gen(function* () {
      for (const number of [0, 2]) {
        const lives = new TurnLives(yield* make, TOOLS)
        yield* lives.toSeal(doneWith(number))
        const id = number === 0 ? "call-pay" : "call-send"
        assert.strictEqual(lives.ran.filter((ran) => ran === id).length, 1)
        const result = lives.sink.of("tool-result").find(({ toolCallId }) => toolCallId === id)
        assert.isTrue(result?.isError)
        assert.strictEqual(result?.output, ModelContext.INTERRUPTED)
      }
    })
  ),
  ofLives("rule X8: a tool that is declared idempotent runs again, and its result is the answer", (make) =>
    Effect.gen(function* () {
      const lives = new TurnLives(yield* make, TOOLS)
      yield* lives.toSeal(doneWith(1))
      assert.strictEqual(lives.ran.filter((ran) => ran === "call-look").length, 2)
      const result = lives.sink.of("tool-result").find(({ toolCallId }) => toolCallId === "call-look")
      assert.deepStrictEqual([result?.isError, result?.output], [false, "done"])
    })
  ),
  ofLives(
    "rule X8: wherever its processes die, a tool that is not idempotent never runs twice, and no result is invented",
    (make, { runs }) =>
      Effect.promise(() =>
        Property.assert(
          fc.array(fc.nat(45), { minLength: 1, maxLength: 4 }),
          (deaths) =>
            Effect.gen(function* () {
              const lives = new TurnLives(yield* make, TOOLS)
              const end = yield* lives.toSeal(...deaths.map((n) => dyingAt(n, () => true)))
              assert.strictEqual(end.status, "completed")
              const results = lives.sink.of("tool-result")
              assert.deepStrictEqual(
                results.map(({ toolName }) => toolName),
                ["pay", "look", "send", "read", "post"]
              )
              for (const { isError, output, toolCallId } of results) {
                const ran = lives.ran.filter((id) => id === toolCallId).length
                if (SAFE.has(toolCallId)) assert.strictEqual(output, "done")
                else assert.isAtMost(ran, 1)
                if (!isError) assert.isAtLeast(ran, 1)
                else assert.strictEqual(output, ModelContext.INTERRUPTED)
              }
            }),
          { numRuns: runs }
        )
      )
  ),
  ofOneLife("the tool calls of one response run at the same time", (make, traits) =>
    Effect.gen(function* () {
      const open = yield* Deferred.make<void>()
      let running = 0
      const meeting = Effect.suspend(() => {
        running++
        return running === 3 ? Deferred.succeed(open, undefined) : Deferred.await(open)
      })
      const lives = new TurnLives(yield* make, {
        ...TOOLS,
        run: (name) =>
          name === "read" || name === "post"
            ? Effect.succeed({ output: "done", isError: false })
            : Effect.as(Effect.orDie(within(traits, "all three tool calls are open", meeting)), {
                output: "done",
                isError: false
              })
      })
      yield* lives.toSeal()
      assert.deepStrictEqual(
        lives.sink.of("tool-result").map(({ isError, toolName }) => [toolName, isError]),
        ["pay", "look", "send", "read", "post"].map((name) => [name, false])
      )
    })
  )
]
