/** Several runners on one PostgreSQL, of which some die or freeze (X6). */
import { assert, describe, it } from "@effect/vitest"
import * as ScriptedServer from "@holdfast/providers/testing"
import { Effect } from "effect"
import process from "node:process"
import * as Service from "../service/Service.ts"
import * as PostgresServer from "../storage/PostgresServer.ts"
import * as Runners from "./Runners.ts"

const { ErrorBody, answerFrames } = ScriptedServer

/** How many turns sleep and stream when a runner dies; more in a nightly run: `HOLDFAST_CLUSTER_TURNS=500/50`. */
const [SLEEPING = 20, STREAMING = 5] = (process.env.HOLDFAST_CLUSTER_TURNS ?? "").split("/").filter(Boolean).map(Number)

/** Long enough for a turn to leave memory, and for all of them to be handed in before the first wakes. */
const WAIT_SECONDS = Math.max(6, Math.ceil(SLEEPING / 20))

const TIMEOUT_MS = 60_000 + 2_000 * WAIT_SECONDS

const ANSWER = "The answer, once."
const answer = { frames: answerFrames("openai", ANSWER) }

const overloaded = { status: 529, body: ErrorBody.envelope("overloaded", "anthropic") }

describe("two runners", () => {
  it.live(
    "X6: a turn that comes in at the runner that does not own it streams through",
    () =>
      Effect.gen(function* () {
        const runners = yield* Runners.make(["20 millis"])
        const [first, second] = yield* Effect.all([runners.start, runners.start], { concurrency: 2 })
        const gate = ScriptedServer.gate()
        const frames = answerFrames("openai", "The answer, once.")
        runners.provider.otherwise({ frames: [...frames.slice(0, 3), gate, ...frames.slice(3)] })
        const ids = yield* Effect.forEach(Array.from({ length: 6 }), () => first.create())
        // Each is posted at one and watched at the other: one of the two does not own it.
        const posted = yield* Effect.forEach(ids, (id) => second.open(Runners.turnOf(id)), { concurrency: 6 })
        const watched = yield* Effect.forEach(ids, (id) =>
          first.open({ path: `/v1/conversations/${id}/events?after=0` })
        )
        yield* Effect.forEach([...posted, ...watched], (live) => live.until("text-delta"), { concurrency: "unbounded" })
        yield* gate.open
        for (const live of posted) {
          const events = Service.eventsOf(yield* live.rest)
          assert.strictEqual(Service.shown(events), "The answer, once.")
          assert.strictEqual(events.at(-1)?.type, "turn-end")
        }
        yield* Effect.forEach(watched, (live) => live.until("turn-end"), { concurrency: "unbounded" })
        // A conversation may still move to the runner that has just come, and is asked for once more there.
        assert.isAtLeast(runners.provider.count(), ids.length)
        assert.isAtMost(runners.provider.count(), 2 * ids.length)
        for (const [i, id] of ids.entries()) {
          const runner = i % 2 === 0 ? first : second
          assert.deepStrictEqual(yield* runner.history(id), [`user: ${id}`, "assistant: The answer, once."])
          assert.strictEqual((yield* runner.state(id)).status, "idle")
        }
      }),
    TIMEOUT_MS
  )
})

describe("turns that wait on two runners", () => {
  it.live(
    "X5: are woken early, on both, when one of them is answered",
    () =>
      Effect.gen(function* () {
        const runners = yield* Runners.make(["1 hour"], { isGated: true })
        const [first, second] = yield* Effect.all([runners.start, runners.start], { concurrency: 2 })
        runners.provider.otherwise(overloaded)
        const ids = yield* Effect.forEach(Array.from({ length: 12 }), () => first.create())
        yield* Effect.forEach(
          ids,
          (id) => Effect.flatMap(second.open(Runners.turnOf(id)), (live) => live.until("provider-retry")),
          { discard: true }
        )
        runners.provider.otherwise(answer)
        // A person lets one of them try. Whoever owns it tells the other runner.
        yield* first.call({ method: "POST", path: `/v1/conversations/${ids[0]}/retry-now` })
        yield* assertEnded(second, ids)
        // Each has failed once, or shared that; nobody has waited for an hour.
        assert.isAtMost(runners.provider.count(), 2 * ids.length)
      }),
    TIMEOUT_MS
  )
})

/** Turns that sleep and turns that stream, handed in at both runners; those that stream have said half of it. */
const underWay = Effect.fnUntraced(function* (runners: Runners.Runners, first: Runners.Runner, second: Runners.Runner) {
  const create = (count: number) =>
    Effect.forEach(Array.from({ length: count }), (_, i) => (i % 2 === 0 ? first : second).create(), { concurrency: 8 })
  const post = (ids: ReadonlyArray<string>, until: string) =>
    Effect.forEach(
      ids,
      (id, i) => Effect.flatMap((i % 2 === 0 ? second : first).open(Runners.turnOf(id)), (live) => live.until(until)),
      { concurrency: 8, discard: true }
    )
  runners.provider.otherwise(overloaded)
  const asleep = yield* create(SLEEPING)
  yield* post(asleep, "provider-retry")
  const half = answer.frames.slice(0, 3)
  const gate = ScriptedServer.gate()
  runners.provider.otherwise({ frames: [...half, gate, ...answer.frames.slice(3)] })
  const streaming = yield* create(STREAMING)
  yield* post(streaming, "text-delta")
  runners.provider.otherwise(answer)
  return { asleep, streaming, ids: [...asleep, ...streaming], gate }
})

/** Every turn has ended as it should, once, by what this runner says of it. */
const assertEnded = Effect.fnUntraced(function* (runner: Runners.Runner, ids: ReadonlyArray<string>) {
  yield* Effect.forEach(
    ids,
    (id) =>
      Effect.gen(function* () {
        const live = yield* runner.open({ path: `/v1/conversations/${id}/events?after=0` })
        const text = yield* Runners.inTime(`the end of ${id}`, WAIT_SECONDS, live.until('"turn-end"'))
        const numbers = Array.from(text.matchAll(/^id: (\d+)$/gm), ([, n]) => Number(n))
        assert.deepStrictEqual(
          numbers,
          numbers.map((_, i) => i + 1)
        )
        assert.match(text, /"status":"completed"/)
        assert.deepStrictEqual(yield* runner.history(id), [`user: ${id}`, `assistant: ${ANSWER}`])
        yield* live.hangUp
      }).pipe(Effect.scoped),
    { concurrency: 8, discard: true }
  )
})

describe("a runner that dies", () => {
  it.live(
    "X6: its turns are taken over within 20 seconds, those that sleep and those that stream, and each ends once",
    () =>
      Effect.gen(function* () {
        const runners = yield* Runners.make([`${WAIT_SECONDS} seconds`])
        const [first, second] = yield* Effect.all([runners.start, runners.start], { concurrency: 2 })
        const { asleep, gate, ids, streaming } = yield* underWay(runners, first, second)
        const killedAt = Date.now()
        yield* first.end("SIGKILL")
        yield* gate.open
        yield* assertEnded(second, ids)
        assert.isBelow(Date.now() - killedAt, Math.max(Runners.TAKE_OVER_MS, WAIT_SECONDS * 1000) + 5_000)
        // One failure and one answer each; a turn in the middle of an answer has to be asked again.
        assert.isAtMost(runners.provider.count(), 2 * asleep.length + 2 * streaming.length)
        // Whoever comes later has a part in it too.
        const third = yield* runners.start
        yield* assertEnded(third, ids.slice(0, 5))
      }),
    TIMEOUT_MS
  )
})

describe("a runner that dies right after a 202", () => {
  it.live(
    "X4: has forgotten no command, wherever it came in: what was woken is answered, what was aborted is sealed",
    () =>
      Effect.gen(function* () {
        const runners = yield* Runners.make(["1 hour"])
        const [first, second] = yield* Effect.all([runners.start, runners.start], { concurrency: 2 })
        runners.provider.otherwise(overloaded)
        const ids = yield* Effect.forEach(Array.from({ length: 8 }), () => first.create())
        yield* Effect.forEach(
          ids,
          (id) => Effect.flatMap(first.open(Runners.turnOf(id)), (live) => live.until("provider-retry")),
          { concurrency: 8, discard: true }
        )
        runners.provider.otherwise(answer)
        const woken = ids.slice(0, 4)
        const statuses = yield* Effect.forEach(
          ids,
          (id, i) => {
            const [name, body] = i < woken.length ? ["retry-now", { commandId: "k" }] : ["abort", {}]
            return (i % 2 === 0 ? first : second).call({ path: `/v1/conversations/${id}/${name}`, body })
          },
          { concurrency: 8 }
        )
        assert.deepStrictEqual(
          statuses.map(({ status }) => status),
          ids.map(() => 202)
        )
        yield* first.end("SIGKILL")
        yield* assertEnded(second, woken)
        for (const id of ids.slice(woken.length)) {
          const live = yield* second.open({ path: `/v1/conversations/${id}/events?after=0` })
          const text = yield* Runners.inTime(`the seal of ${id}`, 0, live.until('"turn-end"'))
          assert.match(text, /"type":"turn-end".*"status":"aborted"/)
          // The same again finds nothing to do.
          const again = yield* second.call({ path: `/v1/conversations/${id}/abort`, method: "POST" })
          assert.strictEqual(again.status, 202)
        }
        // One failure each, and one answer each for those that were woken; one that was cut may be asked for again.
        assert.isAtMost(runners.provider.count(), ids.length + 2 * woken.length)
      }),
    TIMEOUT_MS
  )
})

describe("a runner that freezes", () => {
  it.live(
    "J2: past its lock, and comes back late, is fenced off: nothing is there twice",
    () =>
      Effect.gen(function* () {
        const runners = yield* Runners.make([`${WAIT_SECONDS} seconds`])
        const [first, second] = yield* Effect.all([runners.start, runners.start], { concurrency: 2 })
        const { gate, ids } = yield* underWay(runners, first, second)
        first.child.kill("SIGSTOP")
        yield* gate.open
        yield* assertEnded(second, ids)
        first.child.kill("SIGCONT")
        // It finds out, and answers for all of them again.
        yield* assertEnded(first, ids)
        yield* assertEnded(second, ids)
        assert.strictEqual((yield* first.call({ path: "/readyz" })).status, 200)
        // And it takes part.
        const id = yield* first.create()
        const events = Service.eventsOf((yield* first.call(Runners.turnOf(id))).text)
        assert.strictEqual(Service.shown(events), ANSWER)
      }),
    TIMEOUT_MS
  )
})

describe("a runner that is stopped", () => {
  it.live(
    "hands its turns over on SIGTERM, ends with 0, and those that wait wake at their time",
    () =>
      Effect.gen(function* () {
        const runners = yield* Runners.make([`${WAIT_SECONDS} seconds`])
        const [first, second] = yield* Effect.all([runners.start, runners.start], { concurrency: 2 })
        runners.provider.otherwise(overloaded)
        const ids = yield* Effect.forEach(Array.from({ length: 8 }), () => first.create())
        yield* Effect.forEach(
          ids,
          (id) => Effect.flatMap(first.open(Runners.turnOf(id)), (live) => live.until("provider-retry")),
          { concurrency: 8 }
        )
        runners.provider.otherwise(answer)
        const before = yield* Effect.forEach(ids, (id) => second.state(id))
        assert.strictEqual((yield* first.end("SIGTERM")).code, 0)
        for (const [i, id] of ids.entries()) {
          const { attempt, retryAt } = yield* second.state(id)
          assert.deepStrictEqual([attempt, retryAt], [before[i]?.attempt, before[i]?.retryAt])
        }
        yield* assertEnded(second, ids)
        assert.strictEqual(runners.provider.count(), 2 * ids.length)
      }),
    TIMEOUT_MS
  )
})

describe("a PostgreSQL that is restarted", () => {
  it.live(
    "X6: under load, turns pause and go on, and each ends once",
    () =>
      Effect.gen(function* () {
        const runners = yield* Runners.make([`${WAIT_SECONDS} seconds`])
        const [first, second] = yield* Effect.all([runners.start, runners.start], { concurrency: 2 })
        const { gate, ids } = yield* underWay(runners, first, second)
        yield* runners.postgres.stop
        yield* gate.open
        yield* runners.postgres.start
        yield* assertEnded(first, ids)
        yield* assertEnded(second, ids)
        for (const runner of [first, second]) {
          assert.notInclude(runner.stdout() + runner.stderr(), PostgresServer.PASSWORD)
        }
      }),
    TIMEOUT_MS
  )
})
