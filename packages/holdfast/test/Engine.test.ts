/** Turns in the journal of a durable engine. */
import { CheckpointSuite } from "@holdfast/kernel/testing"
import * as Effect from "effect/Effect"
import * as fc from "fast-check"
import { assert, describe, it } from "vitest"
import { holdfast, type Engine, HoldfastError, type Model, type Options, tool } from "../src/index.ts"
import * as EngineJournal from "../src/internal/EngineJournal.ts"
import { JournaledEngine } from "./JournaledEngine.ts"

const engine: CheckpointSuite.MakeEngine = Effect.sync(() => {
  const journaled = new JournaledEngine()
  return {
    live: Effect.map(
      Effect.acquireRelease(
        Effect.sync(() => journaled.live()),
        ({ end }) => Effect.sync(end)
      ),
      (life) => EngineJournal.portsOf(life.engine, () => {}).checkpoint
    )
  }
})

CheckpointSuite.suite("a durable engine", engine, { waits: "engine", runs: 30 })

const HOURS = { schedule: { type: "steps", delays: ["3 hours"], tail: "3 hours" }, jitter: "none" } as const

/** 503, three tools at once, a cut stream, an answer. */
const MODEL: Model = async function* ({ attempt, messages, step }) {
  if (step === 0 && attempt === 0) throw Object.assign(new Error("Overloaded"), { status: 503 })
  if (step === 0) {
    for (const name of ["pay", "look", "send"])
      yield { type: "tool-call", toolCallId: `call-${name}`, toolName: name, input: {} }
    yield { type: "finish", finishReason: "tool-calls" }
  } else if (attempt === 0) throw new TypeError("fetch failed")
  else yield* [`${messages.length} messages`]
}

/** A program whose tools count their runs. */
const program = (options: Partial<Options> = {}) => {
  const ran: Array<string> = []
  const counted = (name: string, idempotent: boolean) =>
    tool({
      idempotent,
      execute: () => {
        ran.push(name)
        return "done"
      }
    })
  const tools = { pay: counted("pay", false), look: counted("look", true), send: counted("send", false) }
  return { hf: holdfast({ model: MODEL, tools, retry: HOURS, ...options }), ran }
}

/** Runs a turn until it has a result: each death is the number of the point at which a process dies. */
const lives = async (
  journaled: JournaledEngine,
  deaths: ReadonlyArray<number>,
  hf: ReturnType<typeof program>["hf"]
) => {
  for (const death of [...deaths, Infinity]) {
    let points = 0
    const { engine } = journaled.live(() => points++ === death)
    const result = await hf.turn("Hello", { engine }).result.catch((error: unknown) => error)
    if (!(result instanceof HoldfastError)) return result
    assert.strictEqual(result.code, "closed")
  }
  throw new Error("The last life has no death.")
}

describe("a turn in an engine", () => {
  it("waits for hours by the timer of the engine, and answers once", async () => {
    const journaled = new JournaledEngine()
    const { hf, ran } = program()
    const result = await hf.turn("Hello", { engine: journaled.live().engine }).result
    assert.deepInclude(result, { status: "completed", text: "3 messages", attempts: 4 })
    assert.deepStrictEqual(ran, ["pay", "look", "send"])
    assert.deepStrictEqual(journaled.faults, [])
    assert.deepStrictEqual(
      journaled.journal.map(({ name }) => name).filter((name) => name.startsWith("wait/")),
      ["wait/0", "wait/1"]
    )
  })

  it("rule X8: wherever its processes die, and in whatever order answers come, its journal agrees and no tool runs twice", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.nat(30), { maxLength: 4 }),
        fc.array(fc.nat(3), { minLength: 1, maxLength: 9 }),
        async (deaths, lateness) => {
          let drawn = 0
          const journaled = new JournaledEngine(() => lateness[drawn++ % lateness.length] ?? 0)
          const { hf, ran } = program()
          const result = await lives(journaled, deaths, hf)
          assert.deepInclude(result, { status: "completed", text: "3 messages" })
          assert.deepStrictEqual(journaled.faults, [])
          for (const name of ["pay", "send"]) assert.isAtMost(ran.filter((each) => each === name).length, 1)
          assert.include(ran, "look")
        }
      ),
      { numRuns: 60 }
    )
  })

  it("keeps its model and its start over its runs, and takes a history", async () => {
    const journaled = new JournaledEngine()
    const targets: Array<string> = []
    const model: Model = async function* ({ messages, target }) {
      targets.push(`${target.provider}/${target.model}`)
      yield `${messages.length}`
    }
    const first = await program().hf.turn("One", { engine: new JournaledEngine().live().engine }).result
    const history = first.status === "parked" ? [] : first.messages
    const { engine } = journaled.live((at, name) => at === "recorded" && name === "facts")
    const before = holdfast({ model }).turn("Two", { engine, history, model: "a/one" })
    await before.result.catch(() => {})
    const after = holdfast({ model }).turn("Two", { engine: journaled.live().engine, history, model: "a/two" })
    assert.deepInclude(await after.result, { text: `${history.length + 1}` })
    assert.deepStrictEqual(targets, ["a/one"])
  })

  it("is aborted when the engine cancels it, in a wait as in a call", async () => {
    for (const name of ["wait/0", "step/0/attempt/0"]) {
      const { engine } = new JournaledEngine().live()
      const cancelling: Engine = {
        ...engine,
        run: (of, work) => (of === name ? Promise.reject(new Error("cancelled")) : engine.run(of, work)),
        sleep: (of, ms) => (of === name ? Promise.reject(new Error("cancelled")) : engine.sleep(of, ms)),
        isCancelled: (error) => error instanceof Error && error.message === "cancelled"
      }
      const result = await program().hf.turn("Hello", { engine: cancelling }).result
      assert.strictEqual(result.status, "aborted", name)
    }
  })

  it("stops unsealed where the engine rejects, and says so", async () => {
    const { engine } = new JournaledEngine().live()
    const failing: Engine = { ...engine, sleep: () => Promise.reject(new Error("no timers here")) }
    const error = await program()
      .hf.turn("Hello", { engine: failing })
      .result.catch((error: unknown) => error)
    assert.strictEqual(error instanceof HoldfastError && error.code, "store-failed")
    assert.include(String(error), "no timers here")
  })

  it("names what is wrong with its options", () => {
    const { engine } = new JournaledEngine().live()
    const history = [{ role: "user" }] as never
    assert.throws(() => program().hf.turn("Hello", { engine, history }), HoldfastError, /history: .*\n?.*/)
    assert.throws(() => program().hf.turn("Hello", { history: [] }), /history: a turn has that of its conversation/)
    const { signal } = new AbortController()
    assert.throws(() => program().hf.turn("Hello", { engine, signal }), /signal: a turn in an engine is cancelled/)
    const turn = program().hf.turn("Hello", { engine: { ...engine, run: () => new Promise(() => {}) } })
    assert.throws(() => turn.abort(), /abort: turn .* runs in an engine, which cancels it/)
    const guarded = program({ retry: { spendGuard: { after: "1 hour", maxTurnTokens: 1 } } }).hf
    assert.throws(() => guarded.turn("Hello", { engine }), /retry\.spendGuard: a turn in an engine takes no answers/)
  })
})
