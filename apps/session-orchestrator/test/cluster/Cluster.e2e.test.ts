/** Several runners on one PostgreSQL, of which some die or freeze (X6), with few turns: `simulate --cluster` has many. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, type Scope, Semaphore } from "effect"
import { stillWaits, withWait } from "../service/LongerWaits.ts"
import * as ProcessSetup from "../service/ProcessSetup.ts"
import * as Process from "../service/Process.ts"
import * as Service from "../service/Service.ts"
import * as OneServer from "../storage/OneServer.ts"
import * as PostgresServer from "../storage/PostgresServer.ts"
import * as Audience from "./Audience.ts"
import * as Runners from "./Runners.ts"
import * as UnderWay from "./UnderWay.ts"
import type * as It from "../It.ts"

const { WAIT_SECONDS, WHOLE, whole } = UnderWay
const { at } = Runners

/** A guard against hanging. A test waits several times, and each of its waits has a guard of its own, which names it. */
const TIMEOUT_MS = 4 * 150_000 + 2_000 * WAIT_SECONDS

/** They wait for most of the time, and for locks to expire. The longest of them come first. */
const places = Semaphore.makeUnsafe(5)

/** What a runner logs that lives and has lost the locks of its conversations. */
const LOCKS_LOST = "Could not keep the locks of this runner"

const test = (title: string, run: Effect.Effect<void, unknown, Scope.Scope>, timeoutMs = TIMEOUT_MS) =>
  it.live(title, () => run.pipe(Effect.scoped, places.withPermits(1)), timeoutMs)

/** A test of a wait, which is longer on a machine that is too slow for it. */
const waiting = (title: string, body: It.Body<[seconds: number]>, seconds = WAIT_SECONDS) =>
  test(title, withWait(seconds, Effect.fnUntraced(body)), 2 * TIMEOUT_MS)

/** The server on which each test has a database. */
const server = OneServer.ofFile()

/** Two that share the work, on a database of their own. */
const pair = Effect.fnUntraced(function* (delays: ReadonlyArray<string>) {
  const runners = yield* Runners.make(yield* server, delays)
  const both = yield* runners.startAll(2)
  return { runners, both, first: at(both, 0), second: at(both, 1) }
})

describe.concurrent("runners", () => {
  waiting(
    "rule D4: a runner that freezes past its lock and comes back late is fenced off: nothing is there twice",
    function* (seconds) {
      const { both, first, runners, second } = yield* pair([`${seconds} seconds`])
      const turns = yield* UnderWay.begin(runners, both, seconds)
      first.child.kill("SIGSTOP")
      // A turn that wakes as its runner freezes has its call cut in two: the provider gets it when the runner resumes.
      yield* stillWaits(turns.wakesAt)
      // Subscribers of the frozen runner receive nothing until it resumes.
      const late = yield* Audience.watch([second], turns.ids)
      yield* turns.gate.open
      yield* Audience.seenEnd(late, seconds)
      const requests = runners.provider.count()
      first.child.kill("SIGCONT")
      // It finds out, and answers for all of them again.
      const { cut } = yield* UnderWay.assertEnded(first, turns)
      yield* UnderWay.assertEnded(second, turns)
      UnderWay.assertAsked(requests, cut)
      yield* runners.settled(2)
      // There was nothing left to ask for.
      assert.strictEqual(runners.provider.count(), requests)
      assert.strictEqual((yield* first.call({ path: "/readyz" })).status, 200)
      // And it takes part.
      const id = yield* first.create()
      assert.strictEqual((yield* first.call(ProcessSetup.request(id, id))).status, 200)
      assert.deepStrictEqual(yield* first.history(id), [`user: ${id}`, `assistant: ${WHOLE}`])
    }
  )

  waiting(
    "rule D4: X3: X6: of three runners one is killed; the others have its turns, and each ends once, also for its clients",
    function* (seconds) {
      const runners = yield* Runners.make(yield* server, [`${seconds} seconds`])
      const all = yield* runners.startAll(3)
      const turns = yield* UnderWay.begin(runners, all, seconds)
      const first = yield* Runners.busiest(all)
      const survivors = all.filter((runner) => runner !== first)
      yield* first.end("SIGKILL")
      yield* runners.settled(survivors.length)
      for (const { stderr } of survivors) {
        yield* Process.eventually("the take-over in the log", Effect.sync(stderr), (text) =>
          text.includes(`from runner 127.0.0.1:${first.runnerPort}, which is gone`)
        )
      }
      yield* turns.gate.open
      const { cut } = yield* UnderWay.assertEnded(at(survivors, 0), turns)
      assert.isAtLeast(cut, 1)
      UnderWay.assertAsked(runners.provider.count(), cut)
      // Later subscribers receive it too.
      const late = yield* runners.start
      yield* runners.settled(3)
      assert.deepStrictEqual(yield* late.history(turns.ids[0] ?? ""), [`user: ${turns.ids[0]}`, `assistant: ${WHOLE}`])
    }
  )

  waiting(
    "rule X6: PostgreSQL is restarted under load: turns that sleep and turns that stream pause and go on, and each ends once",
    function* (seconds) {
      const postgres = yield* PostgresServer.start
      const runners = yield* Runners.make(postgres, [`${seconds} seconds`])
      const both = yield* runners.startAll(2)
      const turns = yield* UnderWay.begin(runners, both, seconds)
      yield* postgres.stop
      yield* turns.gate.open
      const said = Effect.sync(() => both.map(({ stderr }) => stderr()).join(""))
      yield* Process.eventually("turns to pause", said, (text) => text.includes("is paused"))
      // Nothing ends that is not on disk. A turn that slept may have ended before; none that streams could, and `assertEnded` sees to all.
      for (const id of turns.streaming) {
        const types = turns.audience.get(id)?.events.map(({ type }) => type) ?? []
        assert.notInclude(types, "turn-end")
      }
      yield* postgres.start
      const { cut } = yield* UnderWay.assertEnded(at(both, 0), turns)
      yield* UnderWay.assertEnded(at(both, 1), turns)
      UnderWay.assertAsked(runners.provider.count(), cut)
      yield* runners.settled(2)
      for (const runner of both) assert.notInclude(runner.stdout() + runner.stderr(), PostgresServer.PASSWORD)
    }
  )

  test(
    "rule X6: a PostgreSQL that takes no writes is named, with what to do; turns are refused, and what was taken in is not lost",
    Effect.gen(function* () {
      const runners = yield* Runners.make(yield* server, ["20 millis"])
      const runner = yield* runners.start
      const { gate, response } = UnderWay.halved(WHOLE)
      runners.provider.fallback(whole)
      runners.provider.respond(response)
      const [id, other] = [yield* runner.create(), yield* runner.create()]
      const audience = yield* Audience.watch([runner], [id, other])
      yield* runner.open(ProcessSetup.request(id, id))
      yield* gate.reached
      const watcher = audience.get(id) ?? assert.fail("no client watches")
      // Otherwise the beginning may come when its mark cannot be recorded any more: then it is not shown, and asked for again.
      yield* Process.eventually(
        "the beginning of the answer to be seen",
        Effect.sync(() => watcher.current),
        (shown) => shown !== ""
      )
      yield* runners.setReadOnly(true)
      yield* Process.eventually("the locks to be lost", Effect.sync(runner.stderr), (text) => text.includes(LOCKS_LOST))
      yield* gate.open
      // By the turn that pauses, by the runner that loses it, or, where a busy machine has let it go before, by the cluster that asks for its lock.
      yield* Process.eventually("it to be named in the log", Effect.sync(runner.stderr), (text) =>
        /cannot execute [A-Z ]+ in a read-only transaction/.test(text)
      )
      const post = runner.call(ProcessSetup.request(other, other))
      const refused = yield* post
      assert.strictEqual(refused.status, 503)
      assert.match(refused.text, /problem-storage-unavailable/)
      assert.match(refused.text, /read-only.* Set database\.url to the primary/)
      assert.strictEqual((yield* runner.call({ path: "/readyz" })).status, 503)
      const state = yield* runner.call({ path: `/v1/conversations/${id}` })
      if (state.status === 200) assert.strictEqual(JSON.parse(state.text).status, "running")
      else assert.match(state.text, /read-only.* Set database\.url to the primary/)

      yield* runners.setReadOnly(false)
      yield* Process.eventually("a turn to be taken", post, ({ status }) => status === 200)
      yield* Audience.seenEnd(audience, 0)
      UnderWay.assertAnswered(audience)
      // The change of primaries has cut the session with the locks off. A runner looks after them every 3 s: a test that is over by then has
      // interrupted no call. Otherwise an answer that was lost with its locks is begun anew, and what was shown of it is void; a call that
      // has shown nothing is made again too, each time that locks come and go.
      const discarded = watcher.events.filter(({ type }) => type === "step-discarded").length
      if (runner.stderr().includes(LOCKS_LOST)) assert.isAtLeast(runners.provider.count(), 2 + discarded)
      else assert.deepStrictEqual([runners.provider.count(), discarded], [2, 0])
      assert.strictEqual((yield* runner.call({ path: "/readyz" })).status, 200)
      assert.notInclude(runner.stdout() + runner.stderr(), PostgresServer.PASSWORD)
    })
  )

  waiting(
    "a runner that is stopped hands its turns over, ends with 0, and those that wait wake at their time",
    function* (seconds) {
      const { both, first, runners, second } = yield* pair([`${seconds} seconds`])
      const { ids, wakesAt } = yield* UnderWay.waiting(runners, both, 8)
      // Rule X4: half of the commands come in at the runner that is not the owner.
      const until = Date.now() + 1_000 * seconds
      yield* Effect.forEach(
        ids,
        (id) =>
          Process.eventually(
            "the command to be taken",
            first.call({ path: `/v1/conversations/${id}/wait-until`, body: { until } }),
            ({ status }) => !Process.isLate(status)
          ),
        { concurrency: "unbounded" }
      )
      // A turn that woke before its command has nothing to wait for.
      yield* stillWaits(wakesAt)
      const before = yield* Effect.forEach(ids, (id) => second.state(id))
      yield* stillWaits(until)
      for (const { retryAt } of before) assert.strictEqual(retryAt, until)
      assert.strictEqual((yield* first.end("SIGTERM")).code, 0)
      const audience = yield* Audience.watch([second], ids)
      const after = yield* Effect.forEach(ids, (id) => second.state(id))
      for (const { retryAt } of before) yield* stillWaits(retryAt)
      assert.deepStrictEqual(
        after.map(({ attempt, retryAt }) => [attempt, retryAt]),
        before.map(({ attempt, retryAt }) => [attempt, retryAt])
      )
      yield* Audience.seenEnd(audience, seconds)
      UnderWay.assertAnswered(audience)
      assert.strictEqual(runners.provider.count(), 2 * ids.length)
    },
    10
  )

  test(
    "rule X6: a turn that comes in at the runner that does not own it streams through, and is asked for once",
    Effect.gen(function* () {
      const { both, runners } = yield* pair(["20 millis"])
      yield* runners.undisturbed(
        Effect.gen(function* () {
          const { gate, response } = UnderWay.halved(WHOLE)
          runners.provider.fallback(response)
          const ids = yield* UnderWay.create(both, 6)
          const requests = runners.provider.count()
          // Each is posted at one and watched at the other: one of the two does not own it. Each runner made half of them, and owns these.
          const posted = yield* Effect.forEach(ids, (id) => at(both, 1).open(ProcessSetup.request(id, id)), {
            concurrency: 6
          })
          const audience = yield* Audience.watch([at(both, 0)], ids)
          yield* Effect.forEach(posted, (live) => live.until("text-delta"), { concurrency: "unbounded" })
          yield* gate.open
          for (const live of posted) {
            const events = Service.eventsOf(yield* live.rest)
            assert.strictEqual(Service.shown(events), WHOLE)
            assert.strictEqual(events.at(-1)?.type, "turn-end")
          }
          yield* Audience.seenEnd(audience, 0)
          const said = both.map(({ stderr }) => stderr()).join("\n")
          assert.strictEqual(runners.provider.count() - requests, ids.length, said)
          for (const [i, id] of ids.entries()) {
            assert.deepStrictEqual(audience.get(id)?.faults, [])
            assert.deepStrictEqual(yield* at(both, i).history(id), [`user: ${id}`, `assistant: ${WHOLE}`])
            assert.strictEqual((yield* at(both, i).state(id)).status, "idle")
          }
        })
      )
    })
  )
})
