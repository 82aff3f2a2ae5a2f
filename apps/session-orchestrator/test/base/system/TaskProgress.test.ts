import { describe, expect } from "@effect/vitest"
import { Clock, Deferred, Effect, Fiber, Logger } from "effect"
import { TestClock } from "effect/testing"
import * as TaskProgress from "../../../src/base/system/TaskProgress.ts"
import * as It from "../../It.ts"

/** The log lines of an operation, under a test clock. */
const logged = Effect.fnUntraced(function* (
  run: (progress: TaskProgress.TaskProgress, done: Effect.Effect<void>) => Effect.Effect<void>,
  steps: (done: Deferred.Deferred<void>) => Effect.Effect<void>
) {
  const lines: Array<unknown> = []
  const logger = Logger.make(({ message }) => void lines.push(message))
  const done = yield* Deferred.make<void>()
  yield* Effect.gen(function* () {
    const fiber = yield* Effect.forkChild(
      TaskProgress.reported("Counting", (progress) => run(progress, Deferred.await(done))),
      { startImmediately: true }
    )
    yield* steps(done)
    yield* Deferred.succeed(done, undefined)
    yield* Fiber.join(fiber)
  }).pipe(Effect.provide(Logger.layer([logger])))
  return lines.flat()
})

describe("the progress of a long operation", () => {
  for (const [what, at, passedMs, expected] of [
    ["has no line if it ends within two seconds", "1 of 2", TaskProgress.PATIENCE_MS - 1, []],
    [
      "has a line and one at the end if it takes two seconds",
      undefined,
      TaskProgress.PATIENCE_MS,
      ["Counting: 2 s so far.", "Counting: done after 2 s."]
    ],
    [
      "has a line after two seconds, one each five seconds, and one at the end",
      "1 of 2",
      13_000,
      [...[2, 7, 12].map((s) => `Counting: ${s} s so far, 1 of 2.`), "Counting: done after 13 s."]
    ]
  ] as const)
    It.effect(what, function* () {
      const lines = yield* logged(
        (progress, done) =>
          at === undefined
            ? done
            : Effect.andThen(
                progress.at(() => at),
                done
              ),
        () => TestClock.adjust(passedMs)
      )
      expect(lines).toEqual(expected)
    })

  It.effect("is logged by work that holds the thread, when it reports", function* () {
    let now = 0
    const clock = { ...(yield* TestClock.testClockWith(Effect.succeed)), currentTimeMillisUnsafe: () => (now += 400) }
    const work = (progress: TaskProgress.TaskProgress) =>
      Effect.forEach(
        Array.from({ length: 20 }, (_, n) => n),
        (n) => progress.at(() => `${n} of 20`),
        { discard: true }
      )
    const lines = yield* logged(
      (progress) => Effect.andThen(work(progress), Effect.void),
      () => Effect.void
    ).pipe(Effect.provideService(Clock.Clock, clock))
    expect([2, 3, 4]).toContain(lines.length)
    expect(lines[0]).toMatch(/^Counting: 2 s so far, \d of 20\.$/)
  })
})
