/** Kills a process while a turn waits for an answer (rule X11). */
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import * as ProcessSetup from "./ProcessSetup.ts"
import * as Process from "./Process.ts"
import * as DatabaseReads from "./DatabaseReads.ts"
import * as It from "../It.ts"

const { overloaded } = ProcessSetup

const answer = ProcessSetup.answer("At last")

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

  It.live(
    "rule X11: keeps the question for later clients; a command from before does nothing, an answer counts once",
    function* () {
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
    }
  )
})
