/** Starves the service of its provider, of reading clients, and of disk space. */
import { NodeSqlite } from "@holdfast/journal/sqlite"
import { assert, describe } from "@effect/vitest"
import * as ScriptedServer from "@holdfast/simulated/testing"
import { Effect, Fiber } from "effect"
import { freePort } from "../FreePort.ts"
import * as ProcessSetup from "./ProcessSetup.ts"
import * as Process from "./Process.ts"
import * as Service from "./Service.ts"
import * as SmallDisk from "./SmallDisk.ts"
import * as It from "../It.ts"

describe("a process that is starved", () => {
  It.live("rule D3: a provider that dies, and comes up on the same port, answers the turn that waited", function* () {
    const directory = yield* Process.directory
    const { port, url } = yield* Effect.scoped(ScriptedServer.start({ port: yield* freePort }))
    const config = ProcessSetup.configOf({ url }, { delays: ["50 millis"] })
    const service = yield* Process.start({ directory, config })
    const live = yield* Effect.flatMap(service.create(), (id) => service.open(ProcessSetup.request(id, "one")))
    assert.include(yield* live.until("provider-retry"), "ECONNREFUSED")
    const provider = yield* ScriptedServer.start({ port })
    provider.respond(ProcessSetup.answer("Here I am"))
    const events = Service.eventsOf(yield* live.rest)
    assert.strictEqual(Service.shown(events), "Here I am")
    assert.isTrue(events.every((event) => event.type !== "provider-retry" || event.reason === "network"))
  })

  It.live("a client that reads nothing delays neither the turn nor the others, and is disconnected", function* () {
    const { provider, start } = yield* ProcessSetup.setup()
    const gate = ScriptedServer.gate()
    // 3 MB of text and reasoning in alternation, so that deltas are not joined: they are six times that on the wire.
    const frames = ScriptedServer.answerFrames("openai", `${"x".repeat(19)} `.repeat(150_000)).map((frame, n) =>
      n % 2 === 0 ? frame : frame.replace('"content":"x', '"reasoning_content":"x')
    )
    provider.respond({ frames: [...frames.slice(0, 1), gate, ...inWritesOf(500, frames.slice(1))] })
    const service = yield* start
    const id = yield* service.create()
    const slow = yield* service.open(ProcessSetup.request(id, "one"))
    yield* slow.pause
    const slowWatcher = yield* service.open({ path: `/v1/conversations/${id}/events` })
    yield* slowWatcher.pause
    yield* gate.reached
    const before = yield* service.memory
    const quick = yield* Effect.forkChild(ProcessSetup.turn(service, id, "one"), { startImmediately: true })
    yield* gate.open
    const events = yield* Fiber.join(quick)
    const after = yield* service.memory
    assert.strictEqual(Service.shown(events).length, 1_500_000)
    // MiB. Unread frames of two clients are not kept: they would be forty MiB, and the text is in memory anyway.
    assert.isBelow(after - before, 400)
    assert.strictEqual(yield* Effect.map(service.state(id), ({ status }) => status), "idle")
    // A slow client's unread frames are dropped, so resuming it shows the gap.
    yield* slow.resume
    yield* Effect.flip(slow.rest)
    yield* slowWatcher.resume
    assert.notInclude(yield* slowWatcher.rest, '"type":"turn-end"')
  })

  if (SmallDisk.isPossible()) {
    It.live("a disk that is full pauses the turn, refuses new ones, and loses nothing", function* () {
      const { directory, fill, free } = yield* SmallDisk.make
      const { database, provider, start } = yield* ProcessSetup.setupIn(directory)
      const { gate, response } = ProcessSetup.gated("Once", 1)
      provider.respond(response, ProcessSetup.answer("Twice"))
      const service = yield* start
      const id = yield* service.create()
      const live = yield* service.open(ProcessSetup.request(id, "one"))
      yield* gate.reached
      yield* fill
      yield* gate.open
      const log = yield* Process.eventually("the turn to pause", Effect.sync(service.stderr), (text) =>
        text.includes("paused")
      )
      assert.match(log, /"Turn one is paused: Could not [^"]+ in \S+holdfast\.db: .*The disk is full\. Free some space/)
      const refused = yield* service.call(ProcessSetup.request(id, "two"))
      assert.strictEqual(refused.status, 503)
      assert.include(refused.text, "problem-storage-unavailable")
      assert.strictEqual((yield* service.call({ path: "/readyz" })).status, 503)
      assert.strictEqual(yield* Effect.map(service.state(id), ({ status }) => status), "running")

      yield* free
      assert.strictEqual(Service.shown(Service.eventsOf(yield* live.rest)), "Once")
      assert.strictEqual(Service.shown(yield* ProcessSetup.turn(service, id, "two")), "Twice")
      const history = ["user: one", "assistant: Once", "user: two", "assistant: Twice"]
      assert.deepStrictEqual(yield* service.history(id), history)
      assert.strictEqual(provider.count(), 2)
      yield* service.end("SIGKILL")
      assert.deepStrictEqual(integrityOf(database), [{ integrity_check: "ok" }])
    })
  }
})

// --- internal

/** The same frames in fewer writes. */
const inWritesOf = (count: number, frames: ReadonlyArray<string>): ReadonlyArray<string> =>
  Array.from({ length: Math.ceil(frames.length / count) }, (_, n) => frames.slice(n * count, (n + 1) * count).join(""))

const integrityOf = (file: string): unknown => {
  const database = new (NodeSqlite.load().DatabaseSync)(file)
  try {
    return database.prepare("PRAGMA integrity_check").all()
  } finally {
    database.close()
  }
}
