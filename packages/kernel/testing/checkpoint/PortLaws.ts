/** Laws of the `Checkpoint` port alone: what it records, orders and repeats. */
import { assert } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import type { Checkpoint } from "../../src/ports/Checkpoint.ts"
import * as Records from "../../src/records/Records.ts"
import type { Engine } from "./Engine.ts"
import { type Law, ofLives, ofOneLife, within } from "./Law.ts"

type Service = Checkpoint["Service"]

const ATTEMPT = Records.nameOf("Attempt", 0)
const TOOLS = [Records.nameOf("Tool", 0, 0), Records.nameOf("Tool", 0, 1)] as const

/**
 * One life, which ends with `body`. An effect that hangs in it is detached, so that an engine that ignores interruption does not block the
 * test.
 */
const living = <A, E>(
  { live }: Engine,
  body: (checkpoint: Service) => Effect.Effect<A, E>
): Effect.Effect<A, unknown> => Effect.scoped(Effect.flatMap(live, body))

/** Runs an effect that counts its runs. */
const counting = (performed: Array<string>, checkpoint: Service, name: string, value: Schema.Json) =>
  checkpoint.run(
    name,
    Schema.Json,
    Effect.sync(() => {
      performed.push(name)
      return value
    })
  )

/** Results by name, in the order in which a turn records them; with values that encoding may lose. */
const RESULTS: ReadonlyArray<readonly [name: string, value: Schema.Json]> = [
  [Records.nameOf("Route", 0), { route: "a" }],
  [ATTEMPT, { text: 'quoted "\\" \u{1f6f6} \0 \u2028', none: null, empty: [], zero: 0 }],
  [Records.nameOf("Decision", 0), "Retry"],
  [Records.nameOf("Wake", 0), false],
  [Records.nameOf("Attempt", 0, 1), ""],
  [Records.nameOf("Tool", 0), [1, [2.5, { deep: [null] }]]],
  [Records.nameOf("Attempt", 1), null]
]

/** The laws of the port. */
export const laws: ReadonlyArray<Law> = [
  ofOneLife("`run` passes on a success, a failure or a defect unchanged, at once", (make) =>
    Effect.gen(function* () {
      const engine = yield* make
      let performed = 0
      const ending = (exit: Exit.Exit<never, string>) => Effect.suspend(() => (performed++, exit))
      yield* living(engine, ({ run }) =>
        Effect.gen(function* () {
          for (const [name, value] of RESULTS) {
            assert.deepStrictEqual(yield* run(name, Schema.Json, Effect.succeed(value)), value)
          }
          const failing = run(Records.nameOf("Attempt", 2), Schema.Json, ending(Exit.fail("no")))
          assert.strictEqual(yield* Effect.flip(failing), "no")
          const dying = run(Records.nameOf("Attempt", 2, 1), Schema.Json, ending(Exit.die("a bug")))
          assert.isTrue(Exit.isFailure(yield* Effect.exit(dying)))
          // Only the turn retries: an engine must not.
          assert.strictEqual(performed, 2)
        })
      )
    })
  ),
  ofOneLife("rule D8: a running effect is interrupted with its turn", (make, traits) =>
    Effect.gen(function* () {
      const engine = yield* make
      yield* living(engine, ({ run }) =>
        Effect.gen(function* () {
          const [began, ended] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
          const effect = Effect.andThen(Deferred.succeed(began, undefined), Effect.never)
          const noticing = Effect.onInterrupt(effect, () => Deferred.succeed(ended, undefined))
          const fiber = yield* Effect.forkDetach(run(ATTEMPT, Schema.Json, noticing))
          yield* within(traits, "the effect begins", Deferred.await(began))
          const exit = yield* within(
            traits,
            "the effect is interrupted",
            Effect.andThen(Fiber.interrupt(fiber), Effect.andThen(Deferred.await(ended), Fiber.await(fiber)))
          )
          assert.isTrue(Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause))
        })
      )
    })
  ),
  ofLives("rule X1: every later life receives a recorded result, and its effect does not run", (make, { waits }) =>
    Effect.gen(function* () {
      const engine = yield* make
      const performed: Array<string> = []
      const isAgain = (name: string, i: number) =>
        waits === "engine" && name === Records.nameOf("Wake", 0) && performed.indexOf(name) < i
      for (const [last] of RESULTS.entries()) {
        const results = yield* living(engine, (checkpoint) =>
          Effect.forEach(RESULTS.slice(0, last + 1), ([name, value], i) =>
            counting(performed, checkpoint, name, i === last ? value : "performed again")
          )
        )
        assert.deepStrictEqual(
          performed.filter((name, i) => !isAgain(name, i)),
          RESULTS.slice(0, last + 1).map(([name]) => name)
        )
        assert.deepStrictEqual(
          results,
          RESULTS.slice(0, last + 1).map(([, value]) => value)
        )
      }
    })
  ),
  ofLives("order: `known` has what earlier lives recorded, oldest first; without it there are no marks", (make) =>
    Effect.gen(function* () {
      const engine = yield* make
      for (const [last, [name, value]] of RESULTS.entries()) {
        yield* living(engine, ({ known, mark, run }) =>
          Effect.gen(function* () {
            if (known === undefined) assert.isUndefined(mark, "a mark that cannot be found again")
            else {
              assert.deepStrictEqual(
                known.map((stored) => [stored.name, JSON.parse(stored.value)]),
                RESULTS.slice(0, last).map((each) => [...each])
              )
            }
            yield* run(name, Schema.Json, Effect.succeed(value))
          })
        )
      }
    })
  ),
  ofLives("a failure, a defect and an interruption are not recorded", (make) =>
    Effect.gen(function* () {
      for (const way of ["fails", "dies", "is interrupted"] as const) {
        const engine = yield* make
        yield* living(engine, ({ run }) =>
          Effect.gen(function* () {
            const began = yield* Deferred.make<void>()
            const hanging = Effect.andThen(Deferred.succeed(began, undefined), Effect.never)
            const effect = way === "fails" ? Effect.fail("no") : way === "dies" ? Effect.die("a bug") : hanging
            const fiber = yield* Effect.forkDetach(run(ATTEMPT, Schema.Json, effect))
            if (way === "is interrupted") {
              yield* Deferred.await(began)
              yield* Fiber.interrupt(fiber)
            }
            assert.isTrue(Exit.isFailure(yield* Fiber.await(fiber)), way)
          })
        )
        const performed: Array<string> = []
        yield* living(engine, (checkpoint) =>
          Effect.gen(function* () {
            assert.deepStrictEqual(checkpoint.known ?? [], [], way)
            assert.strictEqual(yield* counting(performed, checkpoint, ATTEMPT, way), way)
          })
        )
        assert.deepStrictEqual(performed, [ATTEMPT], way)
      }
    })
  ),
  ofLives("rule X1: an effect that was under way when its process died runs again", (make, traits) =>
    Effect.gen(function* () {
      const engine = yield* make
      yield* living(engine, ({ run }) =>
        Effect.gen(function* () {
          const began = yield* Deferred.make<void>()
          yield* run(Records.nameOf("Route", 0), Schema.Json, Effect.succeed("a"))
          const effect = Effect.andThen(Deferred.succeed(began, undefined), Effect.never)
          yield* Effect.forkDetach(run(ATTEMPT, Schema.Json, effect))
          yield* within(traits, "the effect begins", Deferred.await(began))
        })
      )
      const performed: Array<string> = []
      yield* living(engine, (checkpoint) =>
        Effect.gen(function* () {
          assert.strictEqual(yield* counting(performed, checkpoint, Records.nameOf("Route", 0), "b"), "a")
          assert.strictEqual(yield* counting(performed, checkpoint, ATTEMPT, "b"), "b")
        })
      )
      assert.deepStrictEqual(performed, [ATTEMPT])
    })
  ),
  ofLives("rule X2: the next life finds a mark that was made during an effect, where there are marks", (make) =>
    Effect.gen(function* () {
      const engine = yield* make
      const marked = Records.nameOf("Content", 0)
      yield* living(engine, ({ mark, run }) =>
        Effect.gen(function* () {
          yield* run(Records.nameOf("Route", 0), Schema.Json, Effect.succeed("a"))
          if (mark === undefined) return
          const dying = Effect.andThen(mark(marked), Effect.fail("died"))
          assert.strictEqual(yield* Effect.flip(run(ATTEMPT, Schema.Json, dying)), "died")
        })
      )
      yield* living(engine, ({ known, mark }) =>
        Effect.sync(() => {
          if (mark === undefined) return
          assert.deepStrictEqual(
            known?.map(({ name }) => name),
            [Records.nameOf("Route", 0), marked]
          )
        })
      )
    })
  ),
  ofOneLife("two tool calls of one response can run at the same time, and both are recorded", (make, traits) =>
    Effect.gen(function* () {
      const engine = yield* make
      yield* living(engine, ({ run }) =>
        Effect.gen(function* () {
          const [first, second] = [yield* Deferred.make<string>(), yield* Deferred.make<string>()]
          const results = yield* within(
            traits,
            "both tool calls are under way",
            Effect.all(
              [
                run(TOOLS[0], Schema.Json, Effect.andThen(Deferred.succeed(first, "1"), Deferred.await(second))),
                run(TOOLS[1], Schema.Json, Effect.andThen(Deferred.succeed(second, "2"), Deferred.await(first)))
              ],
              { concurrency: 2 }
            )
          )
          assert.deepStrictEqual(results, ["2", "1"])
        })
      )
    })
  )
]
