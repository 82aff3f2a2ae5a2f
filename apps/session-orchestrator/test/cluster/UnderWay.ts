/**
 * Turns under way on several runners, asleep and in the middle of an answer, and what has to be true of them in the end, whatever
 * has happened to a runner.
 */
import { assert } from "@effect/vitest"
import * as ScriptedServer from "@holdfast/simulated/testing"
import { Effect, Schedule } from "effect"
import * as Socket from "../http/Socket.ts"
import { WaitIsOver } from "../service/LongerWaits.ts"
import * as ProcessSetup from "../service/ProcessSetup.ts"
import * as Process from "../service/Process.ts"
import * as Audience from "./Audience.ts"
import * as Runners from "./Runners.ts"

/** How many turns sleep, and how many stream, when something happens to a runner. */
const SLEEPING = 20
const STREAMING = 6

/** Long enough for a turn to leave its session, and for something to happen before the first wakes. */
export const WAIT_SECONDS = 6

/** The text of an interrupted answer, and of every other answer. */
const CUT = Array.from({ length: 12 }, (_, n) => `cut${n}`).join(" ")
export const WHOLE = "The answer, once."

export const whole = ProcessSetup.answer(WHOLE)

/** An answer that stops in the middle until the gate is open. */
export const halved = (text: string) =>
  ProcessSetup.gated(text, Math.floor(ScriptedServer.answerFrames("openai", text).length / 2))

/** Has turns that are answered once with a failure wait: each made at one runner and handed in at another. `wakesAt`: the first of them does. */
export const waiting = Effect.fnUntraced(function* (
  { provider }: Runners.Runners,
  runners: ReadonlyArray<Runners.Runner>,
  count: number
) {
  const ids = yield* create(runners, count)
  script(
    provider,
    ids.map((id) => [id, ProcessSetup.overloaded])
  )
  return { ids, wakesAt: firstOf(yield* post(runners, ids, "provider-retry")) }
})

/** Sleeping turns, and streaming turns in the middle of their text; every second one has a subscriber. */
export const begin = Effect.fnUntraced(function* (
  { provider }: Runners.Runners,
  runners: ReadonlyArray<Runners.Runner>,
  waitSeconds = WAIT_SECONDS
) {
  const { gate, response } = halved(CUT)
  const asleep = yield* create(runners, SLEEPING)
  const streaming = yield* create(runners, STREAMING)
  script(provider, [
    ...asleep.map((id) => [id, ProcessSetup.overloaded] as const),
    ...streaming.map((id) => [id, response] as const)
  ])
  const waits = yield* post(runners, asleep, "provider-retry")
  yield* post(runners, streaming, "text-delta")
  const ids = [...asleep, ...streaming]
  const audience = yield* Audience.watch(
    runners,
    ids.filter((_, i) => i % 2 === 0)
  )
  for (const [i, id] of streaming.entries()) {
    const watcher = audience.get(id)
    if (watcher === undefined) continue
    // Where a busy machine moves its conversation it is asked for again, gets the whole answer, and may have ended.
    const { isOver } = yield* Process.eventually(
      `half of turn ${i}`,
      Effect.sync(() => ({ current: watcher.current, isOver: watcher.events.some(({ type }) => type === "turn-end") })),
      ({ current, isOver }) => isOver || current.startsWith("cut0")
    )
    if (isOver) return yield* new WaitIsOver()
  }
  return { asleep, streaming, ids, gate, audience, waitSeconds, wakesAt: firstOf(waits) }
})

export type UnderWay = Effect.Success<ReturnType<typeof begin>>

/**
 * Every turn has ended correctly, once: for subscribers of the whole time, through any runner, and for subscribers that come
 * now, at this one.
 */
export const assertEnded = Effect.fnUntraced(function* (
  runner: Runners.Runner,
  { asleep, streaming, ids, audience, waitSeconds }: UnderWay
) {
  yield* Audience.seenEnd(audience, waitSeconds)
  const late = yield* Audience.watch([runner], ids)
  yield* Audience.seenEnd(late, waitSeconds)
  for (const [id, watcher] of [...audience, ...late]) {
    assert.deepStrictEqual(watcher.faults, [])
    const ends = watcher.events.filter((event) => event.type === "turn-end")
    const statuses = ends.map(({ status }) => status)
    assert.deepStrictEqual(statuses, ["completed"])
    assert.strictEqual(watcher.answers.length, 1)
    const [answer] = watcher.answers
    if (asleep.includes(id)) {
      assert.strictEqual(answer, WHOLE)
      assert.strictEqual(ends[0]?.sleptMs, waitSeconds * 1000, JSON.stringify(watcher.retries))
    } else {
      // D4, X2: it continues as it began, or `step-discarded` voids the shown text.
      assert.strictEqual(watcher.has("step-discarded", id), answer === WHOLE)
      assert.include([CUT, WHOLE], answer)
    }
  }
  yield* Effect.forEach(
    ids,
    (id) =>
      Effect.map(runner.history(id), (history) =>
        assert.deepStrictEqual(history, [`user: ${id}`, `assistant: ${late.get(id)?.answers[0]}`])
      ),
    { concurrency: 8, discard: true }
  )
  return {
    /** Streaming turns whose answer was begun anew. */
    cut: streaming.filter((id) => late.get(id)?.answers[0] === WHOLE).length
  }
})

/**
 * One failure and one answer each, and once more what was cut. A turn that moves while its provider has said nothing yet is asked
 * for anew, and shows nothing of it.
 */
export const assertAsked = (requests: number, cut: number): void => {
  const least = 2 * SLEEPING + STREAMING + cut
  assert.isAtLeast(requests, least)
  assert.isAtMost(requests, least + SLEEPING + STREAMING)
}

/** Everybody who watched has seen one answer, whole, and nothing twice. */
export const assertAnswered = (audience: Audience.Audience): void => {
  for (const { answers, faults } of audience.values()) assert.deepStrictEqual([answers, faults], [[WHOLE], []])
}

/** Conversations, each made at another runner. */
export const create = (runners: ReadonlyArray<Runners.Runner>, count: number) =>
  Effect.forEach(Array.from({ length: count }), (_, i) => Runners.at(runners, i).create(), { concurrency: 8 })

/**
 * Submits turns, each to another runner than the one of its conversation, and disconnects after an event. Returns what was received. Where a busy
 * machine moves a conversation the answer is over early, and where the database, the owner or the request itself is late a turn is refused: it is asked for
 * again, as clients do, and is the same turn. Where it is so late that the turn has ended, nothing is shown. Any other failure counts.
 */
export const post = (runners: ReadonlyArray<Runners.Runner>, ids: ReadonlyArray<string>, until: string) =>
  Effect.forEach(
    ids,
    (id, i) =>
      Runners.inTime(
        `${until} of turn ${id}`,
        0,
        Runners.at(runners, i + 1)
          .open(ProcessSetup.request(id, id))
          .pipe(
            Effect.tap(({ rest, status }) =>
              Process.isLate(status)
                ? Effect.flatMap(rest, (text) => Effect.fail(new Socket.AnswerIsOver({ text })))
                : Effect.sync(() => assert.strictEqual(status, 200))
            ),
            Effect.flatMap((live) => live.until(until)),
            Effect.scoped,
            Effect.mapError((error) =>
              error instanceof Socket.AnswerIsOver && error.text.includes('"turn-end"') ? new WaitIsOver() : error
            ),
            Effect.retry({
              schedule: Schedule.spaced("100 millis"),
              while: (error) => error instanceof Socket.AnswerIsOver
            })
          )
      ),
    { concurrency: 8 }
  )

/** When the first of the turns wakes whose waits these streams show. */
const firstOf = (waits: ReadonlyArray<string>): number =>
  Math.min(...waits.map((text) => Number(/"retryAt":(\d+)/.exec(text)?.[1])))

/** What turns are answered the first time that they ask; after that, and all others, they get the whole answer. */
const script = (
  provider: Runners.Provider,
  firsts: Iterable<readonly [id: string, first: ScriptedServer.ScriptedResponse]>
): void => {
  const left = new Map(firsts)
  provider.fallback(({ body }) => {
    for (const [id, first] of left) {
      // The prompt of a turn is its id.
      if (!body.includes(id)) continue
      left.delete(id)
      return first
    }
    return whole
  })
}
