/** The engines in memory pass the suite of `Checkpoint`; faulty engines fail the law that they break. */
import { assert, describe, it } from "@effect/vitest"
import { CheckpointSuite } from "@holdfast/kernel/testing"
import { Effect, Exit, Schema, Semaphore } from "effect"
import type { Checkpoint } from "../src/ports/Checkpoint.ts"
import type { Stored } from "../src/records/Records.ts"
import type { TurnStopped } from "../src/ports/TurnStopped.ts"
import { SimulatedProcess } from "../testing/checkpoint/SimulatedProcess.ts"

const { byName, firstBroken, forgetful, lookingAhead, suite, unnested } = CheckpointSuite

suite("memory: a turn has one life", forgetful, { lives: "one" })
suite("an engine that looks ahead and takes marks", lookingAhead)
suite("an engine that cannot look ahead", byName)
suite("an engine that forbids nesting", unnested)

type Service = Checkpoint["Service"]

/** The engine with another checkpoint; `change` is called for each turn, and its result for each life. */
const changed = (
  make: CheckpointSuite.MakeEngine,
  change: () => (checkpoint: Service) => Service
): CheckpointSuite.MakeEngine => Effect.map(make, ({ live }) => ({ live: Effect.map(live, change()) }))

/** The same with another `run`. */
const running = (make: CheckpointSuite.MakeEngine, change: () => (run: Service["run"]) => Service["run"]) =>
  changed(make, () => {
    const changing = change()
    return (checkpoint) => ({ ...checkpoint, run: changing(checkpoint.run) })
  })

/** The same with other records of the lives before. */
const knowing = (change: (known: ReadonlyArray<Stored>) => ReadonlyArray<Stored>) =>
  changed(lookingAhead, () => (checkpoint) => ({ ...checkpoint, known: change(checkpoint.known ?? []) }))

/** Records nothing under names like these. */
const losing = (name: RegExp) =>
  running(byName, () => (run) => (of, schema, effect) => (name.test(of) ? effect : run(of, schema, effect)))

/** Its lives are transactions. */
const rollingBack: CheckpointSuite.MakeEngine = Effect.sync(() => {
  let kept: ReadonlyMap<string, unknown> = new Map()
  const life = Effect.acquireRelease(
    Effect.sync(() => ({ results: new Map(kept), open: new Set<string>() })),
    ({ open, results }) => Effect.sync(() => void (kept = open.size === 0 ? results : kept))
  )
  return {
    live: Effect.map(life, ({ open, results }) => ({
      run: <A, I, E, R>(name: string, _schema: Schema.Codec<A, I>, effect: Effect.Effect<A, E, R>) =>
        Effect.suspend((): Effect.Effect<A, E, R> => {
          if (results.has(name)) return Effect.succeed(results.get(name) as A) // what was put there under this name
          open.add(name)
          return Effect.tap(effect, (result) => Effect.sync(() => (open.delete(name), results.set(name, result))))
        })
    }))
  }
})

/** Faulty engines, and the law that each of them breaks first. */
const wrong: ReadonlyArray<readonly [what: string, engine: CheckpointSuite.MakeEngine, law: string]> = [
  [
    "tries again what has failed",
    running(byName, () => (run) => (name, schema, effect) => run(name, schema, Effect.retry(effect, { times: 1 }))),
    "`run` passes on a success, a failure or a defect unchanged, at once"
  ],
  [
    "does not let itself be interrupted",
    running(byName, () => (run) => (name, schema, effect) => Effect.uninterruptible(run(name, schema, effect))),
    "rule D8: a running effect is interrupted with its turn"
  ],
  [
    "records a result when the next one comes",
    running(byName, () => {
      let held: Effect.Effect<void, TurnStopped> = Effect.void
      return (run) => {
        held = Effect.void
        return (name, schema, effect) =>
          Effect.gen(function* () {
            yield* held
            const result = yield* effect
            held = Effect.asVoid(run(name, schema, Effect.succeed(result)))
            return result
          })
      }
    }),
    "rule X1: every later life receives a recorded result, and its effect does not run"
  ],
  [
    "forgets what was waited for",
    losing(/\/sleep\//),
    "rule X1: every later life receives a recorded result, and its effect does not run"
  ],
  [
    "performs again what is recorded",
    running(byName, () => {
      const results = new Map<string, unknown>()
      return () =>
        <A, I, E, R>(name: string, _schema: Schema.Codec<A, I>, effect: Effect.Effect<A, E, R>) =>
          Effect.map(effect, (result) => {
            if (!results.has(name)) results.set(name, result)
            return results.get(name) as A // what was put there under this name
          })
    }),
    "rule X1: every later life receives a recorded result, and its effect does not run"
  ],
  [
    "loses the order of its records",
    knowing((known) => known.toReversed()),
    "order: `known` has what earlier lives recorded, oldest first; without it there are no marks"
  ],
  [
    "knows less than it has",
    knowing((known) => known.slice(0, -1)),
    "order: `known` has what earlier lives recorded, oldest first; without it there are no marks"
  ],
  [
    "takes marks that it cannot find again",
    changed(byName, () => (checkpoint) => ({ ...checkpoint, mark: () => Effect.void })),
    "order: `known` has what earlier lives recorded, oldest first; without it there are no marks"
  ],
  [
    "records a failure",
    running(byName, () => {
      const failures = new Map<string, unknown>()
      return (run) =>
        <A, I, E, R>(name: string, schema: Schema.Codec<A, I>, effect: Effect.Effect<A, E, R>) =>
          failures.has(name)
            ? Effect.fail(failures.get(name) as E) // what was put there under this name
            : Effect.tapError(run(name, schema, effect), (error) => Effect.sync(() => failures.set(name, error)))
    }),
    "a failure, a defect and an interruption are not recorded"
  ],
  [
    "takes a life back that ends in the middle of an effect",
    rollingBack,
    "rule X1: an effect that was under way when its process died runs again"
  ],
  [
    "drops its marks",
    changed(lookingAhead, () => (checkpoint) => ({ ...checkpoint, mark: () => Effect.void })),
    "rule X2: the next life finds a mark that was made during an effect, where there are marks"
  ],
  [
    "runs one effect at a time",
    running(byName, () => (run) => {
      const one = Semaphore.makeUnsafe(1)
      return (name, schema, effect) => one.withPermits(1)(run(name, schema, effect))
    }),
    "two tool calls of one response can run at the same time, and both are recorded"
  ],
  [
    "forgets that a tool call was begun",
    losing(/\/begun$/),
    "rule X8: a tool call that was running when its process died does not run again"
  ],
  ["gives the seal no record", losing(/^seal$/), "rule X1: the time of the seal is that of its record"]
]

describe("an engine with a fault", () => {
  for (const [what, engine, law] of wrong) {
    it.effect(`${what}: it breaks the law “${law}”`, () =>
      Effect.gen(function* () {
        assert.strictEqual(yield* firstBroken(engine, { runs: 20, deadlineMs: 100 }), law)
      })
    )
  }

  it.effect("an engine whose seal is in the turn's events keeps the laws of its kind", () =>
    Effect.gen(function* () {
      assert.isUndefined(yield* firstBroken(losing(/^seal$/), { runs: 20, sealIsInEvents: true }))
    })
  )
})

describe("a `run` inside a `run`", () => {
  const nested = ({ run }: Service) =>
    Effect.exit(run("step/0/attempt/0", Schema.Null, run("step/0/decision/0", Schema.Null, Effect.succeed(null))))

  it.effect("is thrown by the engine that forbids it", () =>
    Effect.gen(function* () {
      const { live } = yield* unnested
      assert.isTrue(Exit.isFailure(yield* nested(yield* live)))
    })
  )

  it.effect("is detected by the suite for any engine, and tool calls of one response are no fault", () =>
    Effect.gen(function* () {
      const { live } = yield* byName
      const process = new SimulatedProcess(() => false)
      const checkpoint = process.watched(yield* live)
      const tool = (n: number) => checkpoint.run(`step/0/tool/${n}`, Schema.Null, Effect.as(Effect.yieldNow, null))
      yield* Effect.all([tool(0), tool(1)], { concurrency: 2 })
      assert.deepStrictEqual(process.faults, [])
      yield* nested(checkpoint)
      assert.deepStrictEqual(process.faults, [
        "step/0/decision/0 is run inside step/0/attempt/0",
        "step/0/decision/0 is run while step/0/attempt/0 is under way"
      ])
    })
  )
})
