/** Kills a process during waits at gates (rule X5) and for answers (rule X11). */
import { assert, describe, it } from "@effect/vitest"
import { Records } from "@holdfast/kernel"
import * as ScriptedServer from "@holdfast/simulated/testing"
import { Effect } from "effect"
import { HOLD_STEP_MS } from "../../src/gate/Gatekeeper.ts"
import * as Audience from "../cluster/Audience.ts"
import * as ProcessSetup from "./ProcessSetup.ts"
import * as Process from "./Process.ts"
import * as DatabaseReads from "./DatabaseReads.ts"

const { gate } = ScriptedServer
const { overloaded } = ProcessSetup

const answer = ProcessSetup.answer("At last")

describe.concurrent("a process that is killed while turns are held by a gate", () => {
  it.live("X5: has the next one hold them: one of them calls, and the other shares its failure", () =>
    Effect.gen(function* () {
      const { database, provider, start } = yield* ProcessSetup.setup({ delays: ["300 millis"] })
      // While one of these is closed a call is in progress, and the state of the endpoint is unknown.
      const [probe, again, asked] = [gate(), gate(), gate()]
      const calls = ProcessSetup.script(provider, {
        prober: [overloaded, { ...overloaded, hold: probe }, { ...answer, hold: again }],
        second: [overloaded, { ...overloaded, hold: asked }, answer],
        third: [overloaded, answer]
      })
      const first = yield* start
      const lives = [first]
      /** Posts a turn, which a client watches from one process to the next. */
      const post = Effect.fnUntraced(function* (turnId: string) {
        const id = yield* first.create()
        const audience = yield* Audience.watch(lives, [id])
        const watcher = audience.get(id) ?? assert.fail("nobody watches")
        yield* first.open(ProcessSetup.request(id, turnId))
        /** Waits until a process that runs since `since` announces a hold beyond its time. */
        const held = (since: number) =>
          Process.eventually(
            `${turnId} to be held`,
            Effect.sync(() => watcher.retries.at(-1)?.retryAt ?? 0),
            (until) => until >= since + HOLD_STEP_MS
          )
        return { id, turnId, audience, watcher, held }
      })

      const postedAt = Date.now()
      const prober = yield* post("prober")
      yield* probe.reached
      const second = yield* post("second")
      yield* second.held(postedAt)
      const third = yield* post("third")
      yield* third.held(postedAt)
      yield* first.end("SIGKILL")

      const killedAt = Date.now()
      const next = yield* start
      lives[0] = next
      yield* Effect.all([again.reached, asked.reached])
      const until = yield* third.held(killedAt)
      const { attempt, retryAt, status } = yield* next.state(third.id)
      assert.deepStrictEqual([attempt, retryAt, status], [0, until, "retrying"])
      assert.deepStrictEqual(calls.slice(4).toSorted(), ["prober", "second"])

      yield* asked.open
      yield* Audience.seenEnd(new Map([...second.audience, ...third.audience]), 0)
      yield* again.open
      yield* Audience.seenEnd(prober.audience, 0)
      // A turn that shares a failure makes no call, and counts none.
      assert.deepStrictEqual(calls.slice(6).toSorted(), ["second", "third"])
      for (const [{ id, watcher, turnId }, retries, attempts] of [
        [prober, [0], 2],
        [second, [0, 1], 3],
        [third, [0, 1], 2]
      ] as const) {
        const waits = DatabaseReads.waitsOf(database, turnId).map(({ attempt }) => attempt)
        assert.deepStrictEqual(waits, [...retries])
        const end = watcher.events.findLast((event) => event.type === "turn-end")
        assert.deepInclude(end, { status: "completed", attempts, sleptMs: 300 * retries.length })
        assert.deepStrictEqual([watcher.faults, watcher.answers], [[], ["At last"]])
        assert.deepStrictEqual([...new Set(watcher.retries.map(({ attempt }) => attempt))], [...retries])
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

  it.live("X11: keeps the question for later clients; a command from before does nothing, an answer counts once", () =>
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

  it.live("X11: right after the answer was taken, has the next one continue without asking again", () =>
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
