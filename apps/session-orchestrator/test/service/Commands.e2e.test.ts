/** Tests commands with a full disk. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import * as ProcessSetup from "./ProcessSetup.ts"
import * as Process from "./Process.ts"
import * as DatabaseReads from "./DatabaseReads.ts"
import * as SmallDisk from "./SmallDisk.ts"
import * as It from "../It.ts"

if (SmallDisk.isPossible())
  It.live(
    "rule X4: a full disk refuses a command with a problem, and accepts the same command again once there is room",
    function* () {
      const { directory, fill, free } = yield* SmallDisk.make
      const { database, provider, start } = yield* ProcessSetup.setupIn(directory, { delays: ["1 hour"] })
      provider.respond(ProcessSetup.overloaded)
      provider.fallback(ProcessSetup.answer("At last"))
      const service = yield* start
      const id = yield* service.create()
      const live = yield* service.open(ProcessSetup.request(id, "one"))
      yield* live.until("provider-retry")
      yield* fill
      const command = { path: `/v1/conversations/${id}/retry-now`, body: { commandId: "k" } }
      const refused = yield* service.call(command)
      assert.strictEqual(refused.status, 503)
      assert.include(refused.text, "problem-storage-unavailable")
      assert.match(refused.text, /not on disk after 10s\. .*The disk is full\. Free some space/)
      yield* free
      yield* Process.eventually(
        "the record",
        Effect.sync(() => DatabaseReads.commandsOf(database, "one")),
        (commands) => commands.length > 0
      )
      assert.strictEqual((yield* service.call(command)).status, 202)
      const { text } = yield* service.call(ProcessSetup.request(id, "one"))
      assert.match(text, /"type":"turn-end".*"status":"completed"/)
      assert.deepStrictEqual(DatabaseReads.commandsOf(database, "one"), ["k"])
    }
  )
