/**
 * Several runners on one PostgreSQL, of which some die or freeze (X6).
 *
 * `test` runs them with few turns. The nightly form runs as many as it is told to, asleep and in the middle of an answer, and says
 * what it measured:
 *
 *     HOLDFAST_CLUSTER_TURNS=500/50 vitest run --config vitest.workspace.ts Cluster.e2e
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import * as ScriptedServer from "@holdfast/providers/testing"
import { Effect, Exit, Fiber, Scope, Semaphore } from "effect"
import process from "node:process"
import * as Process from "../service/Process.ts"
import * as Service from "../service/Service.ts"
import * as PostgresServer from "../storage/PostgresServer.ts"
import * as Audience from "./Audience.ts"
import * as Runners from "./Runners.ts"

const { ErrorBody, answerFrames } = ScriptedServer

const given = (process.env.HOLDFAST_CLUSTER_TURNS ?? "").split("/").filter(Boolean).map(Number)

const isNightly = given.length > 0

/** How many turns sleep, and how many stream, when something happens to a runner. */
const [SLEEPING = 20, STREAMING = 6] = given

/** Long enough for a turn to leave its session, and for something to happen before the first wakes. */
const WAIT_SECONDS = Math.max(6, Math.ceil(SLEEPING / 10))

const TIMEOUT_MS = 90_000 + 2_000 * WAIT_SECONDS

/** They wait for most of the time, and for locks to expire. The longest of them come first. */
const places = Semaphore.makeUnsafe(5)

/** What an answer says that is interrupted, and what every other one says. */
const CUT = Array.from({ length: 12 }, (_, n) => `cut${n}`).join(" ")
const WHOLE = "The answer, once."

const whole = { frames: answerFrames("openai", WHOLE) }

const overloaded = { status: 529, body: ErrorBody.envelope("overloaded", "anthropic") }

/** An answer that stops in the middle until the gate is open. */
const halved = (text: string) => {
  const gate = ScriptedServer.gate()
  const frames = answerFrames("openai", text)
  const half = Math.floor(frames.length / 2)
  return { gate, response: { frames: [...frames.slice(0, half), gate, ...frames.slice(half)] } }
}

/** What turns are answered the first time that they ask; after that, and all others, they get the whole answer. */
const script = (
  provider: Runners.Provider,
  firsts: Iterable<readonly [id: string, first: ScriptedServer.ScriptedResponse]>
): void => {
  const left = new Map(firsts)
  provider.otherwise(({ body }) => {
    for (const [id, first] of left) {
      // The prompt of a turn is its id.
      if (!body.includes(id)) continue
      left.delete(id)
      return first
    }
    return whole
  })
}

/** A wake and an answer, on a machine that is busy with other tests; to the millisecond it is tested under a clock of its own. */
const MAX_LATE_MS = 5_000

const measured = (what: string) => (isNightly ? Effect.logInfo(what) : Effect.void)

const test = (title: string, run: Effect.Effect<void, unknown, never>) =>
  it.live(title, () => places.withPermits(1)(run), TIMEOUT_MS)

/** Conversations, each made at another runner. */
const create = (runners: ReadonlyArray<Runners.Runner>, count: number) =>
  Effect.forEach(Array.from({ length: count }), (_, i) => at(runners, i).create(), { concurrency: 8 })

/** Hands turns in, each at another runner than that which made its conversation, and goes away once something was said of it. */
const post = (runners: ReadonlyArray<Runners.Runner>, ids: ReadonlyArray<string>, until: string) =>
  Effect.forEach(
    ids,
    (id, i) =>
      at(runners, i + 1)
        .open(Runners.turnOf(id))
        .pipe(
          Effect.flatMap((live) => live.until(until)),
          Effect.scoped
        ),
    { concurrency: 8, discard: true }
  )

const at = (runners: ReadonlyArray<Runners.Runner>, i: number): Runners.Runner => {
  const runner = runners[i % runners.length]
  if (runner === undefined) throw new Error("there is no runner")
  return runner
}

/** A metric of some runners, added up. */
const total = (runners: ReadonlyArray<Runners.Runner>, name: string) =>
  Effect.map(
    Effect.forEach(runners, (runner) => Runners.metric(runner, name)),
    (values) => values.reduce<number>((sum, value) => sum + (value ?? 0), 0)
  )

/** The one that is in the middle of the most answers: conversations fall to runners by chance. */
const busiest = (runners: ReadonlyArray<Runners.Runner>) =>
  Effect.map(
    Effect.forEach(runners, (runner) => total([runner], 'holdfast_turns{status="running"}')),
    (counts) => at(runners, counts.indexOf(Math.max(...counts)))
  )

const nobodyInMemory = (runners: ReadonlyArray<Runners.Runner>) =>
  Process.eventually("nobody to be in memory", total(runners, "effect_cluster_entities"), (count) => count === 0)

/** Turns that sleep and turns that stream, and have said half of it; every second one is watched. */
const underWay = Effect.fnUntraced(function* ({ provider }: Runners.Runners, runners: ReadonlyArray<Runners.Runner>) {
  const { gate, response } = halved(CUT)
  const asleep = yield* create(runners, SLEEPING)
  const streaming = yield* create(runners, STREAMING)
  script(provider, [
    ...asleep.map((id) => [id, overloaded] as const),
    ...streaming.map((id) => [id, response] as const)
  ])
  yield* post(runners, asleep, "provider-retry")
  yield* post(runners, streaming, "text-delta")
  const ids = [...asleep, ...streaming]
  const audience = yield* Audience.watch(
    runners,
    ids.filter((_, i) => i % 2 === 0)
  )
  for (const [i, id] of streaming.entries()) {
    const onlooker = audience.get(id)
    if (onlooker === undefined) continue
    yield* Process.eventually(
      `half of turn ${i}`,
      Effect.sync(() => onlooker.current),
      (current) => current.startsWith("cut0")
    )
  }
  return { asleep, streaming, ids, gate, audience }
})

type UnderWay = Effect.Success<ReturnType<typeof underWay>>

/**
 * Every turn has ended as it should, once: for those who watched all the time, through whichever runner, and for those who come
 * now, at this one.
 */
const assertEnded = Effect.fnUntraced(function* (
  runner: Runners.Runner,
  { asleep, streaming, ids, audience }: UnderWay
) {
  yield* Audience.seenEnd(audience, WAIT_SECONDS)
  const late = yield* Audience.watch([runner], ids)
  yield* Audience.seenEnd(late, WAIT_SECONDS)
  for (const [id, onlooker] of [...audience, ...late]) {
    assert.deepStrictEqual(onlooker.faults, [])
    const ends = onlooker.events.filter((event) => event.type === "turn-end")
    assert.deepStrictEqual(
      ends.map(({ status }) => status),
      ["completed"]
    )
    assert.strictEqual(onlooker.answers.length, 1)
    const [answer] = onlooker.answers
    if (asleep.includes(id)) {
      assert.strictEqual(answer, WHOLE)
      assert.strictEqual(ends[0]?.sleptMs, WAIT_SECONDS * 1000)
    } else {
      // D4, X2: it goes on as it began, or what was shown is said to be void.
      assert.strictEqual(onlooker.has("step-discarded", id), answer === WHOLE)
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
const assertAsked = (requests: number, cut: number): void => {
  const least = 2 * SLEEPING + STREAMING + cut
  assert.isAtLeast(requests, least)
  assert.isAtMost(requests, least + SLEEPING + STREAMING)
}

let server: PostgresServer.PostgresServer | undefined
const scope = Scope.makeUnsafe()

beforeAll(async () => {
  server = await Effect.runPromise(Scope.provide(PostgresServer.start, scope))
}, 60_000)

afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)), 60_000)

/** The server on which each test has a database. */
const shared = (): PostgresServer.PostgresServer => {
  if (server === undefined) throw new Error("PostgreSQL is not up")
  return server
}

// What is measured is measured alone.
;(isNightly ? describe : describe.concurrent)("runners", () => {
  test(
    "D4: J2: a runner that freezes past its lock and comes back late is fenced off: nothing is there twice",
    Effect.gen(function* () {
      const runners = yield* Runners.make(shared(), [`${WAIT_SECONDS} seconds`])
      const both = yield* runners.startAll(2)
      const [first, second] = [at(both, 0), at(both, 1)]
      const turns = yield* underWay(runners, both)
      first.child.kill("SIGSTOP")
      const frozenAt = Date.now()
      // Those who watch through the frozen one see nothing until it goes on.
      const late = yield* Audience.watch([second], turns.ids)
      yield* turns.gate.open
      yield* Audience.seenEnd(late, WAIT_SECONDS)
      yield* measured(`one of two frozen: all ended after ${Date.now() - frozenAt} ms`)
      const requests = runners.provider.count()
      first.child.kill("SIGCONT")
      // It finds out, and answers for all of them again.
      const { cut } = yield* assertEnded(first, turns)
      yield* assertEnded(second, turns)
      assertAsked(requests, cut)
      yield* runners.settled(2)
      // There was nothing left to ask for.
      assert.strictEqual(runners.provider.count(), requests)
      assert.strictEqual((yield* first.call({ path: "/readyz" })).status, 200)
      // And it takes part.
      const id = yield* first.create()
      assert.strictEqual((yield* first.call(Runners.turnOf(id))).status, 200)
      assert.deepStrictEqual(yield* first.history(id), [`user: ${id}`, `assistant: ${WHOLE}`])
    }).pipe(Effect.scoped)
  )

  test(
    "X6: a runner that has frozen accepts nothing and asks nobody before it knows what it owns",
    Effect.gen(function* () {
      const runners = yield* Runners.make(shared(), ["20 millis"])
      const both = yield* runners.startAll(2)
      const [first, second] = [at(both, 0), at(both, 1)]
      runners.provider.otherwise(whole)
      const ids = yield* create([second], 8)
      first.child.kill("SIGSTOP")
      // What comes in at it meanwhile is the first that it sees when it goes on; half of it was its own.
      const posting = yield* Effect.forEach(ids, (id) => first.open(Runners.turnOf(id)), { concurrency: 8 }).pipe(
        Effect.forkScoped({ startImmediately: true })
      )
      yield* runners.settled(1)
      first.child.kill("SIGCONT")
      for (const { status } of yield* Fiber.join(posting)) assert.strictEqual(status, 200)
      const audience = yield* Audience.watch(both, ids)
      yield* Audience.seenEnd(audience, 0)
      for (const { answers, faults } of audience.values()) assert.deepStrictEqual([answers, faults], [[WHOLE], []])
      yield* runners.settled(2)
      assert.strictEqual(runners.provider.count(), ids.length)
    }).pipe(Effect.scoped)
  )

  test(
    "X6: a turn that waits leaves its runner's memory, and is called back at its time",
    Effect.gen(function* () {
      const runners = yield* Runners.make(shared(), ["20 seconds"])
      const both = yield* runners.startAll(2)
      const ids = yield* create(both, 12)
      script(
        runners.provider,
        ids.map((id) => [id, overloaded])
      )
      yield* post(both, ids, "provider-retry")
      yield* nobodyInMemory(both)
      assert.strictEqual(yield* total(both, 'holdfast_turns{status="retrying"}'), ids.length)
      assert.strictEqual(runners.provider.count(), ids.length)
      // Whoever looks at one sees it wait, and does not disturb it.
      const { attempt, retryAt, status } = yield* at(both, 0).state(ids[0] ?? "")
      assert.deepStrictEqual([attempt, status], [0, "retrying"])
      const audience = yield* Audience.watch(both, ids)
      yield* Audience.seenEnd(audience, 20)
      for (const onlooker of audience.values()) {
        assert.deepStrictEqual(onlooker.faults, [])
        assert.deepStrictEqual(onlooker.answers, [WHOLE])
        const end = onlooker.events.find((event) => event.type === "turn-end")
        const lateMs = (end?.endedAt ?? 0) - (onlooker.retries[0]?.retryAt ?? 0)
        assert.isTrue(lateMs >= 0 && lateMs < MAX_LATE_MS, `it ended ${lateMs} ms after its wait`)
      }
      assert.strictEqual(audience.get(ids[0] ?? "")?.retries[0]?.retryAt, retryAt)
      assert.strictEqual(runners.provider.count(), 2 * ids.length)
    }).pipe(Effect.scoped)
  )

  test(
    "X5: turns that wait on two runners are woken early, on both, out of memory, when one of them is answered",
    Effect.gen(function* () {
      const runners = yield* Runners.make(shared(), ["1 hour"], { isGated: true })
      const both = yield* runners.startAll(2)
      const ids = yield* create(both, 12)
      runners.provider.otherwise(overloaded)
      yield* post(both, ids, "provider-retry")
      yield* nobodyInMemory(both)
      runners.provider.otherwise(whole)
      // A person lets one of them try. Whoever owns it tells the other runner.
      const command = { path: `/v1/conversations/${ids[0]}/retry-now`, method: "POST" }
      assert.strictEqual((yield* at(both, 0).call(command)).status, 202)
      // Nobody asks for the others, whom that would bring into memory.
      yield* Process.eventually(
        "all to be answered",
        total(both, 'holdfast_turns{status="retrying"}'),
        (count) => count === 0
      )
      const audience = yield* Audience.watch(both, ids)
      yield* Audience.seenEnd(audience, 0)
      for (const { answers, faults } of audience.values()) assert.deepStrictEqual([answers, faults], [[WHOLE], []])
      // Each has failed once, or shared that; nobody has waited for an hour.
      assert.isAtMost(runners.provider.count(), 2 * ids.length)
    }).pipe(Effect.scoped)
  )

  // Two of which one is frozen are above, and always run.
  for (const count of isNightly ? [2, 3] : [3]) {
    test(
      `D4: X6: of ${count} runners one is killed; the others have its turns within 20 seconds, and each ends once`,
      Effect.gen(function* () {
        const runners = yield* Runners.make(shared(), [`${WAIT_SECONDS} seconds`])
        const all = yield* runners.startAll(count)
        const turns = yield* underWay(runners, all)
        const first = yield* busiest(all)
        const survivors = all.filter((runner) => runner !== first)
        const killedAt = Date.now()
        yield* first.end("SIGKILL")
        yield* runners.settled(survivors.length)
        const tookOverMs = Date.now() - killedAt
        assert.isBelow(tookOverMs, Runners.TAKE_OVER_MS)
        yield* turns.gate.open
        const { cut } = yield* assertEnded(at(survivors, 0), turns)
        yield* measured(
          `of ${count} runners one killed: taken over after ${tookOverMs} ms, ${cut} of ${STREAMING} answers begun anew, ` +
            `all ended after ${Date.now() - killedAt} ms, ${runners.provider.count()} requests`
        )
        assert.isAtLeast(cut, 1)
        assertAsked(runners.provider.count(), cut)
        // Whoever comes later has a part in it too.
        const late = yield* runners.start
        yield* runners.settled(count)
        assert.deepStrictEqual(yield* late.history(turns.ids[0] ?? ""), [
          `user: ${turns.ids[0]}`,
          `assistant: ${WHOLE}`
        ])
      }).pipe(Effect.scoped)
    )
  }

  test(
    "X4: a runner that dies right after a 202 has forgotten no command, wherever it came in",
    Effect.gen(function* () {
      const runners = yield* Runners.make(shared(), ["1 hour"])
      const both = yield* runners.startAll(2)
      const [first, second] = [at(both, 0), at(both, 1)]
      const ids = yield* create(both, 8)
      script(
        runners.provider,
        ids.map((id) => [id, overloaded])
      )
      yield* post(both, ids, "provider-retry")
      const woken = ids.slice(0, 4)
      const statuses = yield* Effect.forEach(
        ids,
        (id, i) => {
          const name = woken.includes(id) ? "retry-now" : "abort"
          return at(both, i).call({ path: `/v1/conversations/${id}/${name}`, body: { commandId: "k" } })
        },
        { concurrency: 8 }
      )
      assert.deepStrictEqual(
        statuses.map(({ status }) => status),
        ids.map(() => 202)
      )
      yield* first.end("SIGKILL")
      const audience = yield* Audience.watch([second], ids)
      yield* Audience.seenEnd(audience, 0)
      for (const [id, { answers, events, faults }] of audience) {
        const end = events.findLast((event) => event.type === "turn-end")
        assert.deepStrictEqual(answers, woken.includes(id) ? [WHOLE] : [""])
        assert.strictEqual(end?.status, woken.includes(id) ? "completed" : "aborted")
        assert.deepStrictEqual(faults, [])
      }
      for (const id of ids.slice(woken.length)) {
        // The same again finds nothing to do.
        const again = yield* second.call({ path: `/v1/conversations/${id}/abort`, method: "POST" })
        assert.strictEqual(again.status, 202)
      }
      // One failure each, and one answer each for those that were woken; one that was cut may be asked for again.
      assert.isAtMost(runners.provider.count(), ids.length + 2 * woken.length)
    }).pipe(Effect.scoped)
  )

  test(
    "X6: PostgreSQL is restarted under load: turns that sleep and turns that stream pause and go on, and each ends once",
    Effect.gen(function* () {
      const postgres = yield* PostgresServer.start
      const runners = yield* Runners.make(postgres, [`${WAIT_SECONDS} seconds`])
      const both = yield* runners.startAll(2)
      const turns = yield* underWay(runners, both)
      yield* postgres.stop
      yield* turns.gate.open
      // Nothing ends that is not on disk.
      for (const { events } of turns.audience.values())
        assert.notInclude(
          events.map(({ type }) => type),
          "turn-end"
        )
      yield* postgres.start
      const startedAt = Date.now()
      const { cut } = yield* assertEnded(at(both, 0), turns)
      yield* assertEnded(at(both, 1), turns)
      yield* measured(
        `PostgreSQL restarted: ${cut} of ${STREAMING} answers begun anew, all ended ${Date.now() - startedAt} ms after it was up`
      )
      assertAsked(runners.provider.count(), cut)
      yield* runners.settled(2)
      for (const runner of both) assert.notInclude(runner.stdout() + runner.stderr(), PostgresServer.PASSWORD)
    }).pipe(Effect.scoped)
  )

  test(
    "a runner that is stopped hands its turns over, ends with 0, and those that wait wake at their time",
    Effect.gen(function* () {
      const runners = yield* Runners.make(shared(), ["10 seconds"])
      const both = yield* runners.startAll(2)
      const [first, second] = [at(both, 0), at(both, 1)]
      const ids = yield* create(both, 8)
      script(
        runners.provider,
        ids.map((id) => [id, overloaded])
      )
      yield* post(both, ids, "provider-retry")
      const before = yield* Effect.forEach(ids, (id) => second.state(id))
      assert.strictEqual((yield* first.end("SIGTERM")).code, 0)
      const audience = yield* Audience.watch([second], ids)
      for (const [i, id] of ids.entries()) {
        const { attempt, retryAt } = yield* second.state(id)
        assert.deepStrictEqual([attempt, retryAt], [before[i]?.attempt, before[i]?.retryAt])
      }
      yield* Audience.seenEnd(audience, 10)
      for (const { answers, faults } of audience.values()) assert.deepStrictEqual([answers, faults], [[WHOLE], []])
      assert.strictEqual(runners.provider.count(), 2 * ids.length)
    }).pipe(Effect.scoped)
  )

  test(
    "X6: a turn that comes in at the runner that does not own it streams through, and is asked for once",
    Effect.gen(function* () {
      const runners = yield* Runners.make(shared(), ["20 millis"])
      const both = yield* runners.startAll(2)
      yield* runners.undisturbed(
        Effect.gen(function* () {
          const { gate, response } = halved(WHOLE)
          runners.provider.otherwise(response)
          const ids = yield* create(both, 6)
          const requests = runners.provider.count()
          // Each is posted at one and watched at the other: one of the two does not own it.
          const posted = yield* Effect.forEach(ids, (id) => at(both, 1).open(Runners.turnOf(id)), { concurrency: 6 })
          const audience = yield* Audience.watch([at(both, 0)], ids)
          yield* Effect.forEach(posted, (live) => live.until("text-delta"), { concurrency: "unbounded" })
          yield* gate.open
          for (const live of posted) {
            const events = Service.eventsOf(yield* live.rest)
            assert.strictEqual(Service.shown(events), WHOLE)
            assert.strictEqual(events.at(-1)?.type, "turn-end")
          }
          yield* Audience.seenEnd(audience, 0)
          assert.strictEqual(runners.provider.count() - requests, ids.length)
          for (const [i, id] of ids.entries()) {
            assert.deepStrictEqual(audience.get(id)?.faults, [])
            assert.deepStrictEqual(yield* at(both, i).history(id), [`user: ${id}`, `assistant: ${WHOLE}`])
            assert.strictEqual((yield* at(both, i).state(id)).status, "idle")
          }
        })
      )
    }).pipe(Effect.scoped)
  )
})
