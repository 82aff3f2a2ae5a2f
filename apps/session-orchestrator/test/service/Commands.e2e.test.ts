/** Tests a process that is killed right after its 202, and a full disk. */
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import * as ProcessSetup from "./ProcessSetup.ts"
import * as Process from "./Process.ts"
import * as DatabaseReads from "./DatabaseReads.ts"
import * as SmallDisk from "./SmallDisk.ts"
import * as It from "../It.ts"

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
  It.live("rule X4: to retry-now makes the attempt after its restart, and does not wait again", function* () {
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
})

if (SmallDisk.isPossible())
  describe.concurrent("a full disk", () => {
    It.live(
      "rule X4: refuses a command with a problem, and accepts the same command again once there is room",
      function* () {
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
      }
    )
  })
