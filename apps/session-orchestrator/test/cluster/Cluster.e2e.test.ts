/**
 * Several runners on one PostgreSQL, of which some die or freeze (X6).
 *
 * `test` runs them with few turns. The nightly form runs as many as it is told to, asleep and in the middle of an answer, and says
 * what it measured:
 *
 *     HOLDFAST_CLUSTER_TURNS=500/50 vitest run --config vitest.workspace.ts Cluster.e2e
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import * as ScriptedServer from "@holdfast/simulated/testing"
import { Effect, Exit, Fiber, Scope, Semaphore } from "effect"
import * as fs from "node:fs"
import * as path from "node:path"
import process from "node:process"
import { stillWaits, WaitIsOver, withWait } from "../service/LongerWaits.ts"
import * as ProcessSetup from "../service/ProcessSetup.ts"
import * as Process from "../service/Process.ts"
import * as Service from "../service/Service.ts"
import { toolCalls } from "../service/ToolFrames.ts"
import * as PostgresServer from "../storage/PostgresServer.ts"
import * as TestToolServers from "@holdfast/mcp/testing"
import * as Audience from "./Audience.ts"
import * as Runners from "./Runners.ts"
import * as UnderWay from "./UnderWay.ts"

const { WAIT_SECONDS, WHOLE, isNightly, whole } = UnderWay
const { at } = Runners

/** A guard against hanging. A test waits several times, and each of its waits has a guard of 90 s of its own, which names it. */
const TIMEOUT_MS = 4 * 90_000 + 2_000 * WAIT_SECONDS

/** They wait for most of the time, and for locks to expire. The longest of them come first. */
const places = Semaphore.makeUnsafe(5)

/** An incident is reported as soon as it begins. */
const NOTIFIED = { notifications: { after: "1 milli", command: [process.execPath, "-e", ""] } }

const openIncidents = (runner: Runners.Runner, expected: number) =>
  Process.eventually(
    `${expected} open incidents`,
    Runners.total([runner], "holdfast_incidents_open"),
    (count) => count === expected
  )

/** Longer than a turn that waits stays in memory, with room to look at it from outside. */
const PARKED_SECONDS = 20

/** What a runner logs that lives and has lost the locks of its conversations. */
const LOCKS_LOST = "Could not keep the locks of this runner"

const measured = (what: string) => (isNightly ? Effect.logInfo(what) : Effect.void)

const test = (title: string, run: Effect.Effect<void, unknown, Scope.Scope>, timeoutMs = TIMEOUT_MS) =>
  it.live(title, () => run.pipe(Effect.scoped, places.withPermits(1)), timeoutMs)

let server: PostgresServer.PostgresServer | undefined
const scope = Scope.makeUnsafe()

beforeAll(async () => {
  server = await Effect.runPromise(Scope.provide(PostgresServer.start, scope))
})

afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

/** The server on which each test has a database. */
const shared = (): PostgresServer.PostgresServer => {
  if (server === undefined) throw new Error("PostgreSQL is not up")
  return server
}

/** Two that share the work, on a database of their own. */
const pair = Effect.fnUntraced(function* (delays: ReadonlyArray<string>, options?: Runners.Options) {
  const runners = yield* Runners.make(shared(), delays, options)
  const both = yield* runners.startAll(2)
  return { runners, both, first: at(both, 0), second: at(both, 1) }
})

// What is measured is measured alone.
;(isNightly ? describe : describe.concurrent)("runners", () => {
  test(
    "rule D4: a runner that freezes past its lock and comes back late is fenced off: nothing is there twice",
    withWait(
      WAIT_SECONDS,
      Effect.fnUntraced(function* (seconds) {
        const { both, first, runners, second } = yield* pair([`${seconds} seconds`])
        const turns = yield* UnderWay.begin(runners, both, seconds)
        first.child.kill("SIGSTOP")
        // A turn that wakes as its runner freezes has its call cut in two: the provider gets it when the runner resumes.
        yield* stillWaits(turns.wakesAt)
        const frozenAt = Date.now()
        // Subscribers of the frozen runner receive nothing until it resumes.
        const late = yield* Audience.watch([second], turns.ids)
        yield* turns.gate.open
        yield* Audience.seenEnd(late, seconds)
        yield* measured(`one of two frozen: all ended after ${Date.now() - frozenAt} ms`)
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
      })
    ),
    2 * TIMEOUT_MS
  )

  test(
    "rule X6: a runner that was frozen accepts nothing and calls no provider before it is sure of its ownership",
    Effect.gen(function* () {
      const { both, first, runners } = yield* pair(["20 millis"])
      runners.provider.fallback(whole)
      // Half of them are its own: a conversation belongs to the runner that made it.
      const ids = yield* UnderWay.create(both, 8)
      first.child.kill("SIGSTOP")
      // What comes in at it meanwhile is the first that it sees when it resumes.
      const posting = yield* Effect.forEach(ids, (id) => first.open(ProcessSetup.request(id, id)), {
        concurrency: 8
      }).pipe(Effect.forkScoped({ startImmediately: true }))
      yield* runners.settled(1)
      first.child.kill("SIGCONT")
      for (const { status } of yield* Fiber.join(posting)) assert.strictEqual(status, 200)
      const audience = yield* Audience.watch(both, ids)
      yield* Audience.seenEnd(audience, 0)
      UnderWay.assertAnswered(audience)
      yield* runners.settled(2)
      assert.isAtLeast(runners.provider.count(), ids.length)
      // The frozen one lost its locks once. A busy machine may take locks from a runner that lives: its turns begin their calls again.
      const losses = both.map(({ stderr }) => stderr().split(LOCKS_LOST).length - 1)
      if (losses[0] === 1 && losses[1] === 0) assert.strictEqual(runners.provider.count(), ids.length)
    })
  )

  test(
    "rule X14: deaths are counted over take-overs: a turn that kills each of its runners is sealed by the next",
    Effect.gen(function* () {
      const { both, first, runners } = yield* pair(["1 hour"])
      let calls = 0
      /** Calls in the middle of their answer, whose runner has not died. */
      let open = 0
      const pass = Effect.acquireUseRelease(
        Effect.sync(() => open++),
        () => Effect.never,
        () => Effect.sync(() => open--)
      )
      const frames = [...ProcessSetup.answer(WHOLE).frames.slice(0, 3), { ...ScriptedServer.gate(), pass }]
      runners.provider.fallback(() => {
        calls++
        return { frames }
      })
      const id = yield* first.create()
      const { until } = yield* first.open(ProcessSetup.request(id, "killer"))
      yield* until("turn-start")
      const lives = [...both]
      let alive = both
      // Where a runner that lives loses its locks, the turn makes a call that no death ends. So no calls are counted here: what matters is that
      // a runner dies in one.
      const seen = Process.eventually(
        "a runner in a call, or the seal",
        Effect.gen(function* () {
          const { text } = yield* at(alive, 0).call({ path: `/v1/conversations/${id}/turns/killer/explain` })
          const counts = yield* Effect.forEach(alive, (runner) =>
            Runners.total([runner], 'holdfast_turns{status="running"}')
          )
          return { text, place: open > 0 ? counts.findIndex((count) => count > 0) : -1 }
        }),
        ({ place, text }) => place >= 0 || text.includes('"seal"')
      )
      let { place, text } = yield* seen
      while (!text.includes('"seal"')) {
        const victim = at(alive, place)
        yield* victim.end("SIGKILL")
        const next = yield* runners.start
        lives.push(next)
        alive = [...alive.filter((runner) => runner !== victim), next]
        ;({ place, text } = yield* seen)
      }
      const { interruption, seal } = JSON.parse(text)
      assert.deepInclude(interruption, { deaths: 4, rules: ["X14"] })
      assert.deepInclude(seal, { status: "failed", rules: ["X14"] })
      assert.deepInclude(seal.error, { reason: "unknown", retryable: false, defect: true })
      // A busy machine may take the locks from a runner that lives, or start one so late that the turn is taken up before, and given to
      // it: the turn goes on elsewhere, with a call that no death has ended.
      const logs = lives.map((runner) => runner.stderr()).join("\n--\n")
      const hasMoved =
        logs.includes(LOCKS_LOST) || /Took over [1-9]\d* unfinished [^"]*(?:now share|earlier runners or)/.test(logs)
      if (!hasMoved) assert.strictEqual(calls, 4, logs)
      assert.isAtLeast(calls, 4)
      assert.deepStrictEqual(yield* at(alive, 1).history(id), ["user: killer"])
    }),
    // Four take-overs, one after the other.
    2 * TIMEOUT_MS
  )

  test(
    "rule X12: a runner whose turns have moved while it was frozen has no incident open any more; the other one has",
    Effect.gen(function* () {
      const { both, first, runners, second } = yield* pair(["1 hour"], { telemetry: NOTIFIED })
      yield* UnderWay.waiting(runners, both, 12)
      for (const runner of both) yield* openIncidents(runner, 1)
      first.child.kill("SIGSTOP")
      yield* runners.settled(1)
      first.child.kill("SIGCONT")
      yield* openIncidents(first, 0)
      yield* openIncidents(second, 1)
    })
  )

  test(
    "rule X6: a turn that waits leaves its runner's memory, and is called back at its time",
    withWait(
      PARKED_SECONDS,
      Effect.fnUntraced(function* (seconds) {
        const { both, runners } = yield* pair([`${seconds} seconds`])
        const ids = yield* UnderWay.waiting(runners, both, 12)
        yield* Runners.nobodyInMemory(both)
        const waiting = yield* Runners.total(both, 'holdfast_turns{status="retrying"}')
        const requests = runners.provider.count()
        // A client that looks at one sees it wait, and does not disturb it.
        const states = yield* Effect.forEach(ids, (id) => at(both, 0).state(id))
        for (const { retryAt } of states) yield* stillWaits(retryAt)
        const { attempt, retryAt = 0, status } = states[0] ?? assert.fail("there is no turn")
        assert.deepStrictEqual([waiting, requests, attempt, status], [ids.length, ids.length, 0, "retrying"])
        const audience = yield* Audience.watch(both, ids)
        yield* Process.eventually(
          "all to be watched",
          Effect.sync(() => Date.now() >= retryAt || audience.values().every(({ retries }) => retries.length > 0)),
          Boolean
        )
        yield* stillWaits(retryAt)
        yield* Audience.seenEnd(audience, seconds)
        for (const watcher of audience.values()) {
          assert.deepStrictEqual(watcher.faults, [])
          assert.deepStrictEqual(watcher.answers, [WHOLE])
          const end = watcher.events.find((event) => event.type === "turn-end")
          const lateMs = (end?.endedAt ?? 0) - (watcher.retries[0]?.retryAt ?? 0)
          // To the millisecond it is tested under a clock of its own; here a wait that began anew would last as long again. A machine that
          // is as late for another reason has shown nothing.
          assert.isAtLeast(lateMs, 0)
          if (lateMs >= seconds * 1000) return yield* Effect.fail(new WaitIsOver())
        }
        assert.strictEqual(audience.get(ids[0] ?? "")?.retries[0]?.retryAt, retryAt)
        assert.strictEqual(runners.provider.count(), 2 * ids.length)
      })
    ),
    2 * TIMEOUT_MS
  )

  test(
    "rule X5: turns that wait on two runners are woken early, on both, out of memory, when one of them is answered",
    Effect.gen(function* () {
      const { both, runners } = yield* pair(["1 hour"], { isGated: true })
      const ids = yield* UnderWay.create(both, 12)
      runners.provider.fallback(ProcessSetup.overloaded)
      yield* UnderWay.post(both, ids, "provider-retry")
      yield* Runners.nobodyInMemory(both)
      runners.provider.fallback(whole)
      // A person retries one of them. Its owner shares the result with the other runner.
      const command = { path: `/v1/conversations/${ids[0]}/retry-now`, method: "POST" }
      assert.strictEqual((yield* at(both, 0).call(command)).status, 202)
      // The others are not requested, because that would bring them into memory.
      yield* Process.eventually(
        "all to be answered",
        Runners.total(both, 'holdfast_turns{status="retrying"}'),
        (count) => count === 0
      )
      const audience = yield* Audience.watch(both, ids)
      yield* Audience.seenEnd(audience, 0)
      UnderWay.assertAnswered(audience)
      // Each has failed once, or shared a failure; none has waited for an hour.
      assert.isAtMost(runners.provider.count(), 2 * ids.length)
    })
  )

  // Two of which one is frozen are above, and always run.
  for (const count of isNightly ? [2, 3] : [3]) {
    test(
      `rule D4: X3: X6: of ${count} runners one is killed; the others have its turns, and each ends once, also for its clients`,
      withWait(
        WAIT_SECONDS,
        Effect.fnUntraced(function* (seconds) {
          const runners = yield* Runners.make(shared(), [`${seconds} seconds`])
          const all = yield* runners.startAll(count)
          const turns = yield* UnderWay.begin(runners, all, seconds)
          const first = yield* Runners.busiest(all)
          const survivors = all.filter((runner) => runner !== first)
          const killedAt = Date.now()
          yield* first.end("SIGKILL")
          yield* runners.settled(survivors.length)
          const tookOverMs = Date.now() - killedAt
          for (const { stderr } of survivors) {
            yield* Process.eventually("the take-over in the log", Effect.sync(stderr), (text) =>
              text.includes(`from runner 127.0.0.1:${first.runnerPort}, which is gone`)
            )
          }
          yield* turns.gate.open
          const { cut } = yield* UnderWay.assertEnded(at(survivors, 0), turns)
          yield* measured(
            `of ${count} runners one killed: taken over after ${tookOverMs} ms, ${cut} of ${UnderWay.STREAMING} answers begun anew, ` +
              `all ended after ${Date.now() - killedAt} ms, ${runners.provider.count()} requests`
          )
          assert.isAtLeast(cut, 1)
          UnderWay.assertAsked(runners.provider.count(), cut)
          // Later subscribers receive it too.
          const late = yield* runners.start
          yield* runners.settled(count)
          assert.deepStrictEqual(yield* late.history(turns.ids[0] ?? ""), [
            `user: ${turns.ids[0]}`,
            `assistant: ${WHOLE}`
          ])
        })
      ),
      2 * TIMEOUT_MS
    )
  }

  test(
    "rule X4: a runner that dies right after a 202 has forgotten no command, wherever it came in",
    Effect.gen(function* () {
      const { both, first, runners, second } = yield* pair(["1 hour"])
      const ids = yield* UnderWay.waiting(runners, both, 8)
      const woken = ids.slice(0, 4)
      /** Queued behind each of them, and aborted. */
      const queued = ids.map((id) => `${id}-2`)
      yield* Effect.forEach(ids, (id) => first.call(ProcessSetup.submission(id, `${id}-2`, "Never asked")))
      const aborted = yield* Effect.forEach(
        queued,
        (turn, i) => at(both, i).call({ path: `/v1/turns/${turn}/abort`, method: "POST" }),
        { concurrency: 8 }
      )
      assert.deepStrictEqual(
        aborted.map(({ status }) => status),
        ids.map(() => 202)
      )
      const statuses = yield* Effect.forEach(
        ids,
        (id, i) => {
          const name = woken.includes(id) ? "retry-now" : "abort"
          // Of each kind, half comes in at the owner and half at the other runner.
          return at(both, i >> 1).call({ path: `/v1/conversations/${id}/${name}`, body: { commandId: "k" } })
        },
        { concurrency: 8 }
      )
      assert.deepStrictEqual(
        statuses.map(({ status }) => status),
        ids.map(() => 202)
      )
      yield* first.end("SIGKILL")
      const audience = yield* Audience.watch([second], ids)
      // The end of the queued turn, and that of the turn before it.
      yield* Audience.seenEnd(audience, 0, 2)
      for (const [id, { answers, events, faults }] of audience) {
        const end = events.findLast((event) => event.type === "turn-end")
        assert.deepStrictEqual(answers, woken.includes(id) ? [WHOLE] : [""])
        assert.strictEqual(end?.status, woken.includes(id) ? "completed" : "aborted")
        assert.deepStrictEqual(faults, [])
      }
      for (const turn of queued)
        assert.include((yield* second.call({ path: `/v1/turns/${turn}` })).text, '"status":"aborted"')
      for (const id of ids.slice(woken.length)) {
        // The same again finds nothing to do.
        const again = yield* second.call({ path: `/v1/conversations/${id}/abort`, method: "POST" })
        assert.strictEqual(again.status, 202)
      }
      // One failure each, and one answer each for the woken turns; a cut answer may be requested again.
      assert.isAtMost(runners.provider.count(), ids.length + 2 * woken.length)
    })
  )

  test(
    "rule X6: PostgreSQL is restarted under load: turns that sleep and turns that stream pause and go on, and each ends once",
    withWait(
      WAIT_SECONDS,
      Effect.fnUntraced(function* (seconds) {
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
        const startedAt = Date.now()
        const { cut } = yield* UnderWay.assertEnded(at(both, 0), turns)
        yield* UnderWay.assertEnded(at(both, 1), turns)
        yield* measured(
          `PostgreSQL restarted: ${cut} of ${UnderWay.STREAMING} answers begun anew, all ended ${Date.now() - startedAt} ms after it was up`
        )
        UnderWay.assertAsked(runners.provider.count(), cut)
        yield* runners.settled(2)
        for (const runner of both) assert.notInclude(runner.stdout() + runner.stderr(), PostgresServer.PASSWORD)
      })
    ),
    2 * TIMEOUT_MS
  )

  test(
    "rule X8: a runner dies while tools run: the next one runs the idempotent one again, never the other one, and ends the turn",
    Effect.gen(function* () {
      const directory = yield* Process.directory
      const [file, gate] = [path.join(directory, "runs"), path.join(directory, "gate")]
      const names = ["append", "append_again"]
      const unruly = { ...TestToolServers.unrulyEntry(), allow: names, idempotent: ["append_again"] }
      const { both, first, runners } = yield* pair(["20 millis"], { tools: { unruly } })
      const calls = toolCalls(...names.map((name) => ({ name, input: { file, gate } })))
      runners.provider.respond({ frames: calls }, whole)
      const id = yield* first.create()
      yield* first.open(ProcessSetup.request(id, id))
      const runs = () => (fs.existsSync(file) ? fs.readFileSync(file, "utf8").trim().split("\n").toSorted() : [])
      yield* Process.eventually("both tools to run", Effect.sync(runs), ({ length }) => length === 2)
      const owner = yield* Runners.busiest(both)
      const survivors = both.filter((runner) => runner !== owner)
      // A client subscribes at the runner that dies, and continues at the other.
      const audience = yield* Audience.watch([owner, ...survivors], [id])
      const watcher = audience.get(id) ?? assert.fail("nobody watches")
      yield* Process.eventually(
        "the calls to be seen",
        Effect.sync(() => watcher.has("tool-call", id)),
        Boolean
      )
      yield* owner.end("SIGKILL")
      fs.writeFileSync(gate, "")

      yield* Audience.seenEnd(audience, 0)
      assert.deepStrictEqual(runs(), ["append", "append_again", "append_again"])
      const results = watcher.events.flatMap((event) =>
        event.type === "tool-result" ? [[event.toolName, event.isError, event.output]] : []
      )
      const unknown = "The call was interrupted before a result came back. Whether it took effect is unknown."
      assert.deepStrictEqual(results, [
        ["append", true, unknown],
        ["append_again", false, "appended"]
      ])
      assert.include(runners.provider.requests()[1]?.body, unknown)
      assert.deepStrictEqual([watcher.faults, watcher.answers], [[], ["", WHOLE]])
      assert.strictEqual(watcher.events.at(-1)?.type, "turn-end")
      assert.strictEqual(runners.provider.count(), 2)
    })
  )

  test(
    "rule X6: a runner dies while a turn with files waits: the next one sends the provider the same bytes",
    Effect.gen(function* () {
      const unruly = { ...TestToolServers.unrulyEntry(), allow: ["picture"] }
      const { both, first, runners } = yield* pair(["1 hour"], { tools: { unruly } })
      const calls = toolCalls({ name: "picture", input: { bytes: 90_000 } })
      runners.provider.respond({ frames: calls }, ProcessSetup.overloaded, whole)
      const id = yield* first.create()
      const path = `/v1/conversations/${id}`
      const image = { type: "file", mediaType: "image/png", data: Buffer.alloc(90_000, 7).toString("base64") }
      const prompt = [{ type: "text", text: "Is it like this?" }, image]
      yield* first.call({
        path: `${path}/turns`,
        headers: { prefer: "respond-async" },
        body: { prompt, turnId: id }
      })
      const shows = (runner: Runners.Runner, status: string) =>
        Process.eventually(`a turn that is ${status}`, runner.call({ path: `/v1/turns/${id}` }), ({ text }) =>
          text.includes(`"${status}"`)
        )
      yield* shows(first, "waiting")
      // The turn has left memory, and its files are in the database alone.
      yield* Runners.nobodyInMemory(both)
      yield* first.end("SIGKILL")
      const survivor = at(both, 1)
      yield* runners.settled(1)
      yield* Process.eventually(
        "the retry",
        survivor.call({ path: `${path}/retry-now`, body: {} }),
        ({ status }) => status === 202
      )
      yield* shows(survivor, "completed")
      const [, failed, answered, ...more] = runners.provider.requests().map(({ body }) => body)
      assert.isEmpty(more)
      assert.strictEqual(answered, failed)
      for (const data of [image.data, Buffer.alloc(90_000).toString("base64")]) assert.include(answered, data)
      const { messages } = JSON.parse((yield* survivor.call({ path: `${path}/messages` })).text)
      assert.deepStrictEqual(messages[0].content, prompt)
    })
  )

  // At once, when its turn still tries to record the answer; and when it has lost its locks, and with them the turn.
  for (const when of ["at once", "after its locks are lost"] as const) {
    test(
      `rule X6: a PostgreSQL that takes no writes is named, ${when}, with what to do; turns are refused, and what was taken in is not lost`,
      Effect.gen(function* () {
        const runners = yield* Runners.make(shared(), ["20 millis"])
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
        if (when === "after its locks are lost") {
          yield* Process.eventually("the locks to be lost", Effect.sync(runner.stderr), (text) =>
            text.includes(LOCKS_LOST)
          )
        }
        yield* gate.open
        // By the turn that pauses, or by the runner that loses it: a busy machine decides which comes first.
        yield* Process.eventually("it to be named in the log", Effect.sync(runner.stderr), (text) =>
          /Could not [^"]*\\"cannot execute [A-Z ]+ in a read-only transaction\\".* to the primary/.test(text)
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
  }

  test(
    "a runner that is stopped hands its turns over, ends with 0, and those that wait wake at their time",
    withWait(
      10,
      Effect.fnUntraced(function* (seconds) {
        const { both, first, runners, second } = yield* pair([`${seconds} seconds`])
        const ids = yield* UnderWay.waiting(runners, both, 8)
        const before = yield* Effect.forEach(ids, (id) => second.state(id))
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
      })
    ),
    2 * TIMEOUT_MS
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
          assert.strictEqual(runners.provider.count() - requests, ids.length)
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
