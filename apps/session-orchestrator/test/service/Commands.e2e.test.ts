/** Tests a process that is killed right after its 202, and a full disk. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as ProcessSetup from "./ProcessSetup.ts"
import * as Process from "./Process.ts"
import * as DatabaseReads from "./DatabaseReads.ts"
import * as SmallDisk from "./SmallDisk.ts"

/** A process with a turn that waits. */
const waiting = Effect.fnUntraced(function* (directory: string) {
  const { database, provider, start } = yield* ProcessSetup.setupIn(directory, { delays: ["1 hour"] })
  provider.respond(ProcessSetup.overloaded)
  provider.fallback(ProcessSetup.answer("At last"))
  const service = yield* start
  const id = yield* service.create()
  const live = yield* service.open(ProcessSetup.request(id, "one"))
  yield* live.until("provider-retry")
  const post = (name: string, body: object = {}) =>
    service.call({ method: "POST", path: `/v1/conversations/${id}/${name}`, body })
  return { provider, start, service, id, post, database }
})

describe.concurrent("a process that is killed right after a 202", () => {
  it.live("rule X4: to retry-now makes the attempt after its restart, and does not wait again", () =>
    Effect.gen(function* () {
      const { database, id, post, provider, service, start } = yield* Effect.flatMap(Process.directory, waiting)
      const { status } = yield* post("retry-now", { commandId: "k" })
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

  it.live("rule D8: to an abort has sealed the turn, and makes no further request", () =>
    Effect.gen(function* () {
      const { database, id, post, provider, service, start } = yield* Effect.flatMap(Process.directory, waiting)
      const { status } = yield* post("abort")
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

  it.live("rule D8: to an abort of a queued turn never runs it, and runs the turn behind it", () =>
    Effect.gen(function* () {
      const { database, id, post, provider, service, start } = yield* Effect.flatMap(Process.directory, waiting)
      for (const turn of ["two", "three"]) yield* service.call(ProcessSetup.submission(id, turn))
      const { status } = yield* post("abort", { turnId: "two" })
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
        const { database, id, post, service } = yield* waiting(directory)
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
