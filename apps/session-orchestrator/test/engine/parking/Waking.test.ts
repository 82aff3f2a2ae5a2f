/** Tests a crowd of parked turns whose times come together. */
import { assert, it } from "@effect/vitest"
import { Records } from "@holdfast/kernel"
import { ScriptedProvider } from "@holdfast/kernel/testing"
import { Ids } from "@holdfast/wire"
import { Deferred, Effect } from "effect"
import { TestClock } from "effect/testing"
import { NEAR_MS } from "../../../src/engine/parking/Parking.ts"
import type { TurnLog } from "../../../src/storage/TurnLog.ts"
import { waits, withService } from "../conversation/ConversationSetup.ts"

const { answer, emits, overloaded } = ScriptedProvider

/** Several times the number that is taken up at once. */
const CROWD = 200

/** Turns that go on at the same time (`WakeQueue`). */
const PLACES = 64

/** Fewer than all: shows that turns are not read all together. */
const AT_MOST = 100

const crowd = Array.from({ length: CROWD }, (_, i) => Ids.TurnId.make(`turn-${i}`))

/** Counts how many do something at the same time. */
class Inside {
  most = 0
  private now = 0
  during<A, E>(effect: Effect.Effect<A, E>, count = 1): Effect.Effect<A, E> {
    return Effect.suspend(() => {
      this.now += count
      this.most = Math.max(this.most, this.now)
      return Effect.ensuring(
        effect,
        Effect.sync(() => (this.now -= count))
      )
    })
  }
}

const turnOfTheLoop = Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)))

/** Lets all work run that is possible at this time. */
const settle = TestClock.adjust(0)

const isWake = ({ name }: Records.Stored): boolean => Records.positionOf(name)?.kind === "Wake"

/** A log whose appends of ends of waits pass through `during`, with the turns that they are of. */
const recordingWakes =
  (during: <A, E>(append: Effect.Effect<A, E>, turnIds: ReadonlyArray<string>) => Effect.Effect<A, E>) =>
  (real: TurnLog["Service"]): Pick<TurnLog["Service"], "append"> => ({
    append: (appends) => {
      const turnIds = appends.flatMap(({ records, turnId }) => (records.some(isWake) ? [turnId] : []))
      return turnIds.length === 0 ? real.append(appends) : during(real.append(appends), turnIds)
    }
  })

const parksThenAnswers = [...crowd.map(() => emits(overloaded)), ...crowd.map(() => answer("At last"))]

it.effect(
  "Waking.U1: turns that are due together call in the order of their times, and are read and continue a few at a time",
  () => {
    const reading = new Inside()
    const goingOn = new Inside()
    return withService(
      {
        scripts: parksThenAnswers,
        retry: waits(60),
        store: (real) => ({ resumption: (turnId) => reading.during(real.resumption(turnId)) }),
        log: recordingWakes((append, turnIds) => goingOn.during(append, turnIds.length))
      },
      Effect.fnUntraced(function* ({ conversations, provider }) {
        for (const turnId of crowd) {
          const c = yield* conversations.create({})
          yield* conversations.prompt(c, { prompt: "Hi", turnId })
        }
        yield* Effect.repeat(conversations.counts, { until: ({ retrying }) => retrying === CROWD })
        reading.most = 0
        yield* TestClock.adjust("2 minutes")
        for (const turnId of crowd) yield* conversations.result(turnId)
        // They were parked in the order in which they had failed.
        const asked = provider.requests.map(({ turnId }) => turnId)
        assert.deepStrictEqual(asked.slice(CROWD), asked.slice(0, CROWD))
        assert.isAtMost(reading.most, AT_MOST)
        assert.isAtMost(goingOn.most, AT_MOST)
      })
    )
  }
)

it.effect("Waking.U1: a turn that is due while it is being read does not pass the waiting turns", () => {
  const [admitted, read] = [Deferred.makeUnsafe<void>(), Deferred.makeUnsafe<void>()]
  const [inside, outside, slow] = [crowd.slice(0, PLACES), crowd.slice(PLACES, 72), crowd.slice(72, 80)]
  const all = [...inside, ...outside, ...slow]
  const wakes: Array<string> = []
  let areParked = false
  let reading = 0
  return withService(
    {
      scripts: [...all.map(() => emits(overloaded)), ...all.map(() => answer("At last"))],
      retry: waits(60),
      store: (real) => ({
        resumption: (turnId) => {
          if (!areParked || !slow.includes(turnId)) return real.resumption(turnId)
          reading++
          return Effect.andThen(Deferred.await(read), real.resumption(turnId))
        }
      }),
      log: recordingWakes((append, turnIds) => {
        wakes.push(...turnIds)
        return inside.some((turnId) => turnIds.includes(turnId))
          ? Effect.andThen(Deferred.await(admitted), append)
          : append
      })
    },
    Effect.fnUntraced(function* ({ conversations, provider }) {
      for (const turnId of all) {
        const c = yield* conversations.create({})
        yield* conversations.prompt(c, { prompt: "Hi", turnId })
      }
      yield* Effect.repeat(conversations.counts, { until: ({ retrying }) => retrying === all.length })
      areParked = true
      yield* TestClock.adjust(60_000 - NEAR_MS)
      yield* Effect.repeat(settle, { until: () => reading === slow.length })
      yield* TestClock.adjust(NEAR_MS)
      yield* Effect.repeat(settle, { until: () => wakes.length >= inside.length })
      yield* Deferred.succeed(read, undefined)
      yield* Effect.repeat(settle, { times: 40 })
      const goneOn = [...wakes]
      yield* Deferred.succeed(admitted, undefined)
      for (const turnId of all) yield* conversations.result(turnId)
      assert.deepStrictEqual(goneOn, inside)
      const asked = provider.requests.map(({ turnId }) => turnId)
      assert.deepStrictEqual(asked.slice(all.length), all)
    })
  )
})

it.effect("Waking.U1: a turn with a command passes the waiting turns", () => {
  const door = Deferred.makeUnsafe<void>()
  const wanted = crowd.at(-1)
  let inside = 0
  return withService(
    {
      scripts: parksThenAnswers,
      retry: waits(60),
      log: recordingWakes((append, turnIds) => {
        if (turnIds.every((turnId) => turnId === wanted)) return append
        inside += turnIds.length
        return Effect.andThen(Deferred.await(door), append)
      })
    },
    Effect.fnUntraced(function* ({ conversations }) {
      let c: Ids.ConversationId | undefined
      for (const turnId of crowd) {
        c = yield* conversations.create({})
        yield* conversations.prompt(c, { prompt: "Hi", turnId })
      }
      if (c === undefined || wanted === undefined) return assert.fail("there is no crowd")
      yield* Effect.repeat(conversations.counts, { until: ({ retrying }) => retrying === CROWD })
      yield* TestClock.adjust("1 minute")
      // The record of a turn that came inside together with the command would take the command's with it.
      yield* Effect.repeat(settle, { until: () => inside === PLACES })
      assert.isTrue(yield* conversations.steer({ type: "retry-now", conversationId: c }, "a test"))
      assert.strictEqual((yield* conversations.result(wanted)).text, "At last")
      yield* Deferred.succeed(door, undefined)
      for (const turnId of crowd) yield* conversations.result(turnId)
    })
  )
})

it.effect("Waking.U1: a command, a prompt and a fault in the crowd cost no turn its place", () =>
  withService(
    {
      scripts: [...parksThenAnswers, ...crowd.map(() => answer("Again"))],
      retry: waits(60),
      store: (real) => {
        const seen = new Set<string>()
        return {
          resumption: (turnId) => {
            const isBack = seen.has(turnId)
            seen.add(turnId)
            // Every third turn cannot be run when it is due.
            return isBack && Number(turnId.slice(5)) % 3 === 0 ? Effect.die(new Error("boom")) : real.resumption(turnId)
          }
        }
      }
    },
    Effect.fnUntraced(function* ({ conversations }) {
      const ids = new Map<Ids.TurnId, Ids.ConversationId>()
      for (const turnId of crowd) {
        const c = yield* conversations.create({})
        ids.set(turnId, c)
        yield* conversations.prompt(c, { prompt: "Hi", turnId })
      }
      yield* Effect.repeat(conversations.counts, { until: ({ retrying }) => retrying === CROWD })
      // All are due, and most of them wait outside.
      yield* TestClock.adjust("1 minute")
      const behind: Array<Ids.TurnId> = []
      for (const [i, turnId] of crowd.entries()) {
        const c = ids.get(turnId)
        if (c === undefined) continue
        if (i % 5 === 1) yield* Effect.forkScoped(Effect.exit(conversations.abort(c)), { startImmediately: true })
        if (i % 5 === 2) {
          const command = { type: "retry-now" as const, conversationId: c }
          yield* Effect.forkScoped(Effect.exit(conversations.steer(command, "a test")), { startImmediately: true })
        }
        if (i % 5 > 0) behind.push(yield* conversations.prompt(c, { prompt: "And?" }))
      }
      for (const turnId of crowd) yield* Effect.exit(conversations.result(turnId))
      for (const turnId of behind) yield* conversations.result(turnId)
      yield* Effect.repeat(conversations.counts, {
        until: ({ running, retrying, queued }) => running + retrying + queued === 0
      })
    })
  )
)

it.effect("Waking.U1: turns whose end is moved while they wait for a place cost no other turn its place", () => {
  const door = Deferred.makeUnsafe<void>()
  const [inside, moved] = [crowd.slice(0, PLACES), crowd.slice(PLACES, 134)]
  const behind = crowd.slice(134, 140)
  const all = [...inside, ...moved, ...behind]
  const held = new Set<string>()
  return withService(
    {
      scripts: [...all.map(() => emits(overloaded)), ...all.map(() => answer("At last"))],
      retry: waits(60),
      // Slow: most turns are due before they could be read ahead. What is near then is not near any more when its end has moved.
      store: (real) => ({
        resumption: (turnId) => Effect.andThen(Effect.repeat(turnOfTheLoop, { times: 200 }), real.resumption(turnId))
      }),
      log: recordingWakes((append, turnIds) => {
        const isHeld = inside.some((turnId) => turnIds.includes(turnId))
        for (const turnId of isHeld ? turnIds : []) held.add(turnId)
        return isHeld ? Effect.andThen(Deferred.await(door), append) : append
      })
    },
    Effect.fnUntraced(function* ({ conversations, provider }) {
      const ids = new Map<Ids.TurnId, Ids.ConversationId>()
      for (const turnId of all) {
        const c = yield* conversations.create({})
        ids.set(turnId, c)
        yield* conversations.prompt(c, { prompt: "Hi", turnId })
      }
      yield* Effect.repeat(conversations.counts, { until: ({ retrying }) => retrying === all.length })
      yield* TestClock.adjust("1 minute")
      // As above.
      yield* Effect.repeat(settle, { until: () => held.size === PLACES })
      const until = 10 * 60_000
      for (const turnId of moved) {
        const conversationId = ids.get(turnId) ?? assert.fail("it was not prompted")
        assert.isTrue(yield* conversations.steer({ type: "wait-until", conversationId, until }, "a test"))
      }
      assert.strictEqual(provider.requests.length, all.length)
      yield* Deferred.succeed(door, undefined)
      for (const turnId of [...inside, ...behind]) yield* conversations.result(turnId)
      yield* TestClock.adjust("10 minutes")
      for (const turnId of moved) assert.isAtLeast((yield* conversations.result(turnId)).end.endedAt, until)
    })
  )
})
