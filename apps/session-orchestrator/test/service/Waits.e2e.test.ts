/** Kills a process during waits at gates (rule X5) and for answers (rule X11). */
import { assert, describe, it } from "@effect/vitest"
import { Records } from "@holdfast/kernel"
import * as ScriptedServer from "@holdfast/simulated/testing"
import { Effect } from "effect"
import { HOLD_STEP_MS } from "../../src/engine/gate/Gatekeeper.ts"
import * as Audience from "../cluster/Audience.ts"
import * as ProcessSetup from "./ProcessSetup.ts"
import * as Process from "./Process.ts"
import * as DatabaseReads from "./DatabaseReads.ts"

const { gate } = ScriptedServer
const { overloaded } = ProcessSetup

const answer = ProcessSetup.answer("At last")

/** Far more refusals in a row than an endpoint needs that counts as off, so that the gate lets none of two due turns try. */
const CROWD = 40

describe.concurrent("a process that is killed while turns are held by a gate", () => {
  it.live(
    "rule X5: has the next one take them up: one calls, the other shares its failure, and an answer frees both",
    () =>
      Effect.gen(function* () {
        const { database, provider, start } = yield* ProcessSetup.setup({ delays: ["300 millis", "1 hour"] })
        const [refusals, ownRefusals] = [gate(), gate()]
        const hinted = { ...overloaded, headers: { "retry-after": "3600" } }
        /** The calls of the two turns, in order. */
        const calls: Array<string> = []
        provider.fallback(({ body }) => {
          if (body.includes("crowd")) return { ...hinted, hold: refusals }
          if (body.includes("lucky")) return answer
          calls.push(body.includes("amber") ? "amber" : "violet")
          if (calls.length <= 2) return { ...overloaded, hold: ownRefusals }
          return calls.length === 3 ? overloaded : answer
        })
        const first = yield* start
        const lives = [first]
        /** Posts a turn, which a client watches from one process to the next. */
        const post = Effect.fnUntraced(function* (turnId: string, retry: object = {}) {
          const id = yield* first.create({ retry })
          const audience = yield* Audience.watch(lives, [id])
          const watcher = audience.get(id) ?? assert.fail("nobody watches")
          yield* first.open(ProcessSetup.request(id, turnId))
          return { id, turnId, audience, watcher }
        })

        // The endpoint has answered once, and then refuses so often that it counts as off. It has asked for an hour without calls, so that no
        // turn probes it meanwhile. The two turns have begun their calls before that: a first attempt is never held.
        const turns = yield* Effect.forEach(["amber", "violet"], (turnId) => post(turnId))
        yield* provider.received(2)
        yield* Audience.seenEnd((yield* post("lucky")).audience, 0)
        const crowd = yield* Effect.forEach(Array.from({ length: CROWD }), (_, nth) =>
          post(`crowd-${nth}`, { enabled: false })
        )
        yield* provider.received(3 + CROWD)
        yield* refusals.open
        yield* Audience.seenEnd(new Map(crowd.flatMap(({ audience }) => [...audience])), 0)
        const refusedAt = Date.now()
        yield* ownRefusals.open
        for (const { turnId, watcher } of turns)
          yield* Process.eventually(
            `${turnId} to be held`,
            Effect.sync(() => watcher.retries.at(-1)?.retryAt ?? 0),
            (until) => until >= refusedAt + HOLD_STEP_MS
          )
        assert.lengthOf(calls, 2)
        yield* first.end("SIGKILL")

        const next = yield* start
        lives[0] = next
        for (const { turnId, watcher } of turns)
          yield* Process.eventually(
            `${turnId} to wait again`,
            Effect.sync(() => watcher.retries.at(-1)?.attempt),
            (attempt) => attempt === 1
          )
        assert.lengthOf(calls, 3)
        const sharer = turns.find(({ turnId }) => turnId !== calls[2]) ?? assert.fail("both have called")
        for (const { turnId } of turns) {
          const isShared = DatabaseReads.journalOf(database, turnId).some(({ value }) =>
            value.includes('"shared":true')
          )
          assert.strictEqual(isShared, turnId === sharer.turnId)
        }

        yield* next.call({ method: "POST", path: `/v1/conversations/${sharer.id}/retry-now` })
        yield* Audience.seenEnd(new Map(turns.flatMap(({ audience }) => [...audience])), 0)
        assert.deepStrictEqual(calls.slice(3), [sharer.turnId, calls[2]])
        for (const { id, turnId, watcher } of turns) {
          const waits = DatabaseReads.waitsOf(database, turnId).map(({ attempt }) => attempt)
          assert.deepStrictEqual(waits, [0, 1])
          const end = watcher.events.findLast((event) => event.type === "turn-end")
          // A turn that shares a failure makes no call, and counts none.
          assert.deepInclude(end, { status: "completed", attempts: turnId === sharer.turnId ? 2 : 3 })
          assert.deepStrictEqual([watcher.faults, watcher.answers], [[], ["At last"]])
          assert.deepStrictEqual([...new Set(watcher.retries.map(({ attempt }) => attempt))], [0, 1])
          assert.deepStrictEqual(yield* next.history(id), [`user: ${turnId}`, "assistant: At last"])
        }
      }).pipe(Effect.scoped)
  )
})

describe.concurrent("a process that is killed while a turn asks", () => {
  /** Some hundred tokens; 20 are spent without asking. */
  const PROMPT = "Say what you would do in the morning, if nobody had answered all night. ".repeat(10)

  /** A process with a turn that asks before it continues. */
  const asking = Effect.gen(function* () {
    const setup = yield* ProcessSetup.setup({
      retry: { spendGuard: { after: "10 millis", maxInputTokens: 20, answerWithin: "1 hour" } }
    })
    setup.provider.respond(overloaded, answer, answer)
    const first = yield* setup.start
    const id = yield* first.create()
    const live = yield* first.open(ProcessSetup.request(id, "one", PROMPT))
    yield* live.until('"asks"')
    const command = (service: ProcessSetup.Running, name: string, body: object) =>
      Effect.map(service.call({ path: `/v1/conversations/${id}/${name}`, body }), ({ status }) => status)
    const commands = Effect.sync(() => DatabaseReads.commandsOf(setup.database, "one"))
    return { ...setup, first, id, command, commands }
  })

  it.live(
    "rule X11: keeps the question for later clients; a command from before does nothing, an answer counts once",
    () =>
      Effect.gen(function* () {
        const { command, commands, directory, first, id, provider, start } = yield* asking
        // That command is no answer.
        assert.strictEqual(yield* command(first, "extend-budget", { byMs: 60_000, commandId: "before" }), 202)
        const before = yield* first.state(id)
        const { asks } = before.retry ?? assert.fail("it does not wait")
        assert.isDefined(asks)
        yield* first.end("SIGKILL")

        const second = yield* start
        assert.deepStrictEqual(yield* second.state(id), before)
        const turns = yield* Effect.flatMap(Process.run({ args: ["turns", "--json"], directory }), ({ exit }) => exit)
        assert.deepInclude(JSON.parse(turns.stdout).wait, { asks, retryAt: before.retryAt })
        const watcher = yield* second.open({ path: `/v1/conversations/${id}/events` })
        assert.include(yield* watcher.until('"asks"'), `"retryAt":${before.retryAt}`)

        assert.strictEqual(yield* command(second, "retry-now", { commandId: "before" }), 202)
        assert.deepStrictEqual(
          yield* Process.eventually("the question", second.state(id), ({ status }) => status === "retrying"),
          before
        )
        assert.deepStrictEqual([yield* commands, provider.count()], [["before"], 1])

        assert.strictEqual(yield* command(second, "retry-now", { commandId: "answer" }), 202)
        assert.strictEqual(yield* command(second, "retry-now", { commandId: "answer" }), 202)
        const output = yield* watcher.until('"turn-end"')
        assert.lengthOf(output.match(/"asks"/g) ?? [], 1)
        assert.deepStrictEqual([yield* commands, provider.count()], [["before", "answer"], 2])
        assert.deepStrictEqual(yield* second.history(id), [`user: ${PROMPT}`, "assistant: At last"])
      }).pipe(Effect.scoped)
  )

  it.live("rule X11: right after the answer was taken, has the next one continue without asking again", () =>
    Effect.gen(function* () {
      const { command, commands, database, first, id, provider, start } = yield* asking
      assert.strictEqual(yield* command(first, "retry-now", { commandId: "answer" }), 202)
      yield* first.end("SIGKILL")
      const second = yield* start
      const { text } = yield* second.call(ProcessSetup.request(id, "one", PROMPT))
      assert.match(text, /"type":"turn-end".*"status":"completed"/)
      assert.strictEqual(yield* command(second, "retry-now", { commandId: "answer" }), 202)
      assert.deepStrictEqual(yield* commands, ["answer"])
      const questions = DatabaseReads.journalOf(database, "one").filter(
        (record) => Records.valueOf("Wake", record)?.type === "asked"
      )
      assert.lengthOf(questions, 1)
      // One failure and one answer, which may have been cut.
      assert.isAtMost(provider.count(), 3)
    }).pipe(Effect.scoped)
  )
})
