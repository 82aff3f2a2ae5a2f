/** Tests the counts of calls that were answered at once, under a test clock. */
import { describe, expect } from "@effect/vitest"
import { StorageError } from "@holdfast/journal"
import { Duration, Effect, Exit, Scope } from "effect"
import { TestClock } from "effect/testing"
import { CallCounts, RecentCalls } from "../../src/engine/gate/RecentCalls.ts"
import * as EndedCalls from "../../src/gateway/EndedCalls.ts"
import { AnsweredCalls, type AnsweredCallsRow, HOUR_MS } from "../../src/storage/AnsweredCalls.ts"
import * as Configurations from "../config/Configurations.ts"
import * as It from "../It.ts"
import * as Observations from "../ops/telemetry/Observations.ts"

const TARGET = { provider: "own", model: "m" }

const rig = Effect.gen(function* () {
  const written: Array<ReadonlyArray<AnsweredCallsRow>> = []
  let isAway = false
  const scope = yield* Scope.make()
  const add = yield* EndedCalls.writing((rows) =>
    isAway ? Effect.fail(new StorageError({ message: "away" })) : Effect.sync(() => void written.push(rows))
  ).pipe(Scope.provide(scope))
  return { add, written, away: (is: boolean) => void (isAway = is), close: Scope.close(scope, Exit.void) }
})

const row = (calls: number, input: number, unreported = 0, hour = 0): AnsweredCallsRow => ({
  hour,
  target: "own/m",
  calls,
  unreported,
  tokens: { input, output: 0, cachedInput: 0, cacheWrite: 0 }
})

describe("calls that were answered at once", () => {
  It.effect("are in the report; health has refused ones too, and neither a call that was not made", function* () {
    const added: Array<AnsweredCallsRow> = []
    const recent = new CallCounts(0)
    yield* Effect.gen(function* () {
      const count = yield* EndedCalls.make(Configurations.config(), (text) => text)
      const failed = { status: "failed", error: Observations.overloaded, usage: { inputTokens: 7 } } as const
      count(TARGET, Observations.seal().end)
      count(TARGET, Observations.seal(failed).end)
      count(TARGET, Observations.seal({ ...failed, error: { ...failed.error, shared: true } }).end)
    }).pipe(
      Effect.scoped,
      Effect.provideService(RecentCalls, recent),
      Effect.provideService(AnsweredCalls, {
        add: (rows) => Effect.sync(() => void added.push(...rows)),
        between: () => Effect.succeed([])
      })
    )
    expect(added.map(({ calls, tokens }) => [calls, tokens.input])).toEqual([[1, 10]])
    expect(recent.read(9_000).map(({ lastHour: { calls, failed } }) => [calls, failed])).toEqual([[2, 1]])
  })

  It.effect("are written together, some seconds later", function* () {
    const { add, written } = yield* rig
    add(TARGET, { inputTokens: 2, outputTokens: 0 }, 5)
    add(TARGET, { inputTokens: 3 }, 6)
    yield* TestClock.adjust(Duration.millis(1))
    add(TARGET, {}, HOUR_MS)
    yield* TestClock.adjust(Duration.millis(EndedCalls.WRITE_MS - 2))
    expect(written).toEqual([])
    yield* TestClock.adjust(Duration.millis(1))
    expect(written).toEqual([[row(2, 5, 1), row(1, 0, 1, HOUR_MS)]])
    add(TARGET, {}, 7)
    yield* TestClock.adjust(Duration.millis(EndedCalls.WRITE_MS - 1))
    expect(written.length).toBe(1)
    yield* TestClock.adjust(Duration.minutes(1))
    expect(written.slice(1)).toEqual([[row(1, 0, 1)]])
  })

  It.effect("are written when the service stops, with those that could not be written before", function* () {
    const { add, away, close, written } = yield* rig
    away(true)
    add(TARGET, { inputTokens: 2, outputTokens: 0 }, 5)
    yield* TestClock.adjust(Duration.seconds(6))
    away(false)
    add(TARGET, { inputTokens: 3, outputTokens: 0 }, 6)
    yield* close
    expect(written).toEqual([[row(2, 5)]])
  })
})
