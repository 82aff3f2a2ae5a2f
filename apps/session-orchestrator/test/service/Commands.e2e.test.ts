/** Tests a process that is killed right after its 202, and a full disk. */
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, type Scope } from "effect"
import * as ProcessSetup from "./ProcessSetup.ts"
import * as Process from "./Process.ts"
import * as DatabaseReads from "./DatabaseReads.ts"
import { stillWaits, type WaitIsOver, withWait } from "./LongerWaits.ts"
import * as SmallDisk from "./SmallDisk.ts"

/** Seconds of waits in memory and on disk alone. A machine that needs more than the first is seen with longer ones, on disk alone too. */
const WAITS = [4, 3_600] as const

/** A process with a turn that waits. */
const waiting = Effect.fnUntraced(function* (directory: string, delay: string) {
  const { database, provider, start } = yield* ProcessSetup.setupIn(directory, { delays: [delay] })
  provider.respond(ProcessSetup.overloaded)
  provider.fallback(ProcessSetup.answer("At last"))
  const service = yield* start
  const id = yield* service.create()
  const live = yield* service.open(ProcessSetup.request(id, "one"))
  const seen = yield* live.until("provider-retry")
  /** Fails if the wait was over before now. */
  const isWaiting = stillWaits(Number(/"retryAt":(\d+)/.exec(seen)?.[1]))
  const post = (name: string, body: object = {}) =>
    service.call({ method: "POST", path: `/v1/conversations/${id}/${name}`, body })
  return { provider, start, service, id, post, database, isWaiting }
})

/** A turn that waits in memory, and a turn that waits on disk alone, each in a directory of its own. */
const inEachWait = (
  title: (length: string) => string,
  test: (turn: Effect.Success<ReturnType<typeof waiting>>) => Effect.Effect<void, Error | WaitIsOver, Scope.Scope>
) => {
  for (const wait of WAITS) {
    it.live(title(Duration.format(Duration.seconds(wait))), () =>
      withWait(wait, (seconds) =>
        Process.directory.pipe(
          Effect.flatMap((directory) => waiting(directory, `${seconds} seconds`)),
          Effect.flatMap(test)
        )
      )
    )
  }
}

describe.concurrent("a process that is killed right after a 202", () => {
  inEachWait(
    (length) =>
      `X4: to retry-now, in a wait of ${length}, makes the attempt after its restart, and does not wait again`,
    Effect.fnUntraced(function* ({ database, id, isWaiting, post, provider, service, start }) {
      const { status } = yield* post("retry-now", { commandId: "k" })
      yield* isWaiting
      assert.strictEqual(status, 202)
      yield* service.end("SIGKILL")
      assert.deepStrictEqual(DatabaseReads.commandsOf(database, "one"), ["k"])
      const second = yield* start
      const { text } = yield* second.call(ProcessSetup.request(id, "one"))
      assert.match(text, /"type":"turn-end".*"status":"completed"/)
      // The same command again is the same one.
      const again = yield* second.call({ path: `/v1/conversations/${id}/retry-now`, body: { commandId: "k" } })
      assert.strictEqual(again.status, 202)
      assert.deepStrictEqual(DatabaseReads.commandsOf(database, "one"), ["k"])
      assert.isAtMost(provider.count(), 3)
    })
  )

  inEachWait(
    (length) => `D8: to an abort, in a wait of ${length}, has sealed the turn, and makes no further request`,
    Effect.fnUntraced(function* ({ database, id, isWaiting, post, provider, service, start }) {
      const { status } = yield* post("abort")
      yield* isWaiting
      assert.strictEqual(status, 202)
      yield* service.end("SIGKILL")
      assert.strictEqual(DatabaseReads.sealOf(database, "one"), "aborted")
      const second = yield* start
      assert.strictEqual((yield* second.state(id)).status, "idle")
      const { text } = yield* second.call(ProcessSetup.request(id, "one"))
      assert.match(text, /"type":"turn-end".*"status":"aborted"/)
      assert.strictEqual(provider.count(), 1)
    })
  )

  inEachWait(
    (length) =>
      `D8: to an abort of a queued turn, behind a wait of ${length}, never runs it, and runs the turn behind it`,
    Effect.fnUntraced(function* ({ database, id, isWaiting, post, provider, service, start }) {
      for (const turn of ["two", "three"]) yield* service.call(ProcessSetup.submission(id, turn))
      const { status } = yield* post("abort", { turnId: "two" })
      yield* isWaiting
      assert.strictEqual(status, 202)
      yield* service.end("SIGKILL")
      assert.strictEqual(DatabaseReads.sealOf(database, "two"), "aborted")
      const second = yield* start
      assert.deepStrictEqual(JSON.parse((yield* second.call({ path: "/v1/turns/two" })).text).status, "aborted")
      yield* second.call({ path: `/v1/conversations/${id}/retry-now`, body: {} })
      assert.match(
        (yield* second.call(ProcessSetup.request(id, "three"))).text,
        /"type":"turn-end".*"status":"completed"/
      )
      const prompts = (yield* second.history(id)).filter((line) => line.startsWith("user"))
      assert.deepStrictEqual(prompts, ["user: one", "user: three"])
      assert.isAtMost(provider.count(), 4)
    })
  )

  it.live("rule D8: to an abort, in the middle of an answer, has sealed the turn with the text so far", () =>
    Effect.gen(function* () {
      const { provider, start } = yield* ProcessSetup.setup({ delays: ["1 hour"] })
      const { gate, response } = ProcessSetup.gated("One two three", 3)
      provider.respond(response)
      const first = yield* start
      const id = yield* first.create()
      const live = yield* first.open(ProcessSetup.request(id, "one"))
      yield* gate.reached
      yield* live.until("text-delta")
      const { status } = yield* first.call({ method: "POST", path: `/v1/conversations/${id}/abort` })
      assert.strictEqual(status, 202)
      yield* first.end("SIGKILL")
      const second = yield* start
      const history = yield* second.history(id)
      assert.match(history[1] ?? "", /^assistant: One/)
      const { text } = yield* second.call(ProcessSetup.request(id, "one"))
      assert.match(text, /"type":"turn-end".*"status":"aborted"/)
      assert.strictEqual(provider.count(), 1)
    })
  )
})

if (SmallDisk.isPossible())
  describe.concurrent("a full disk", () => {
    it.live("rule X4: refuses a command with a problem, and accepts the same command again once there is room", () =>
      Effect.gen(function* () {
        const { directory, fill, free } = yield* SmallDisk.make
        const { database, id, post, service } = yield* waiting(directory, "1 hour")
        yield* fill
        const command = { commandId: "k" }
        const refused = yield* post("retry-now", command)
        assert.strictEqual(refused.status, 503)
        assert.include(refused.text, "problem-storage-unavailable")
        assert.match(refused.text, /not on disk after 10s\. .*The disk is full\. Free some space/)
        yield* free
        yield* Process.eventually(
          "the record",
          Effect.sync(() => DatabaseReads.commandsOf(database, "one")),
          (commands) => commands.length > 0
        )
        assert.strictEqual((yield* post("retry-now", command)).status, 202)
        const { text } = yield* service.call(ProcessSetup.request(id, "one"))
        assert.match(text, /"type":"turn-end".*"status":"completed"/)
        assert.deepStrictEqual(DatabaseReads.commandsOf(database, "one"), ["k"])
      })
    )
  })
