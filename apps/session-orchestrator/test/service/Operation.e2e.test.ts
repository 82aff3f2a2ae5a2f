/** Tests one node's operation: sharing its file, reporting its state, and stopping. */
import { assert, describe } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import * as fs from "node:fs"
import * as path from "node:path"
import * as ProcessSetup from "./ProcessSetup.ts"
import * as Process from "./Process.ts"
import * as Service from "./Service.ts"
import * as Socket from "../http/Socket.ts"
import * as SideBySide from "./SideBySide.ts"

const test = SideBySide.atOnce(2)

/** Runs a command to its end, with the configuration of the directory. */
const command = (directory: string, ...args: ReadonlyArray<string>) =>
  Effect.scoped(Effect.flatMap(Process.run({ args, directory }), ({ exit }) => exit))

/** A service whose turns sleep and call independently of each other. */
const setup = (delay = "1 hour") => ProcessSetup.setup({ delays: [delay], isGated: false })

describe.concurrent("the file of a running service", () => {
  test("Tenancy.T1: keeps a second service out, also at its port, with the name of the first; kill -9 lets the next one in", function* () {
    const { database, directory, start } = yield* setup()
    const first = yield* start
    for (const port of [0, first.port]) {
      const second = yield* command(directory, "serve", "--port", String(port))
      assert.strictEqual(second.code, 1)
      assert.include(second.stderr, `The database ${database} belongs to another Holdfast (process ${first.child.pid} `)
      assert.include(second.stderr, `kill ${first.child.pid}`)
    }
    assert.strictEqual((yield* first.call({ path: "/readyz" })).status, 200)
    yield* first.end("SIGKILL")
    const third = yield* start
    yield* third.end("SIGTERM")
    assert.deepStrictEqual(fs.readdirSync(path.dirname(database)), ["holdfast.db"])
  })

  test("can be inspected and copied meanwhile, and the copy continues where it was", function* () {
    const { config, directory, provider, start } = yield* setup()
    provider.respond(ProcessSetup.overloaded)
    const service = yield* start
    const id = yield* service.create()
    yield* (yield* service.open(ProcessSetup.request(id, "one"))).until("provider-retry")
    const turns = yield* command(directory, "turns")
    assert.match(turns.stdout, /\nwaiting +\S+ +one +1 .* overloaded: 529 /)
    assert.strictEqual(turns.stderr, "")
    const copy = yield* command(directory, "backup", "copy.db")
    assert.deepStrictEqual([copy.code, copy.stderr], [0, ""])
    assert.match(
      copy.stdout,
      /^copy\.db: \d.*, 1 conversation with 1 turn \(1 unfinished\)\. It was read .* whole\.\n$/
    )
    const again = yield* command(directory, "backup", "copy.db")
    assert.deepStrictEqual(
      [again.code, again.stderr],
      [1, "holdfast: copy.db exists and was not changed. Choose another name.\n"]
    )
    const { retryAt } = yield* service.state(id)

    const elsewhere = yield* Process.directory
    fs.mkdirSync(path.join(elsewhere, "data"))
    fs.copyFileSync(path.join(directory, "copy.db"), path.join(elsewhere, "data/holdfast.db"))
    const restored = yield* Process.start({ directory: elsewhere, config })
    const state = yield* restored.state(id)
    assert.deepStrictEqual([state.status, state.retryAt], ["retrying", retryAt])
  })
})

describe.concurrent("a service that is shutting down", () => {
  test("rule X15: accepts no new turns, finishes the answer that has begun, and releases sleeping turns", function* () {
    const { directory, provider, start } = yield* setup()
    const { gate, response } = ProcessSetup.gated("A whole answer, to its end.", 3)
    provider.respond(ProcessSetup.overloaded, response)
    const service = yield* start
    const [asleep, answering] = [yield* service.create(), yield* service.create()]
    const waits = yield* service.open(ProcessSetup.request(asleep, "asleep"))
    yield* waits.until("provider-retry")
    const answers = yield* service.open(ProcessSetup.request(answering, "answering"))
    yield* answers.until("text-delta")
    yield* gate.reached

    const ended = yield* Effect.forkChild(service.end("SIGTERM"), { startImmediately: true })
    yield* Process.eventually("the signal to be heard", Effect.sync(service.stderr), (text) =>
      text.includes("Stopping")
    )
    const ready = yield* service.call({ path: "/readyz" })
    assert.strictEqual(ready.status, 503)
    assert.include(ready.text, "shutting-down")
    assert.strictEqual((yield* service.call({ path: "/healthz" })).status, 200)
    for (const request of [ProcessSetup.request(asleep, "new"), ProcessSetup.submission(asleep, "new")]) {
      const refused = yield* service.call(request)
      assert.deepStrictEqual([refused.status, refused.headers["retry-after"]], [503, "5"])
    }
    // Stored turns can still be read.
    assert.strictEqual((yield* service.turn("asleep")).status, "waiting")

    yield* gate.open
    const events = Service.eventsOf(yield* answers.rest)
    assert.deepStrictEqual([Service.shown(events), events.at(-1)?.type], ["A whole answer, to its end.", "turn-end"])
    yield* Effect.flip(waits.rest)
    assert.strictEqual((yield* Fiber.join(ended)).code, 0)
    const left = yield* command(directory, "turns", "--json")
    assert.deepStrictEqual(
      Socket.jsonLines(left.stdout).map(({ turnId }) => turnId),
      ["asleep"]
    )
  })
})

describe.concurrent("a service with a closed log", () => {
  test("rule X1: continues its turns, and ends normally", function* () {
    const { config, directory, provider } = yield* setup()
    provider.respond(ProcessSetup.answer("Still here."))
    const starts = path.join(directory, "starts")
    // Each death of it is logged.
    const dies = `require("node:fs").appendFileSync(${JSON.stringify(starts)}, "x"); process.exit(3)`
    const tools = { mortal: { command: process.execPath, args: ["-e", dies] } }
    const service = yield* Process.start({ directory, config: { ...config, tools } })
    const life = Effect.sync(() => fs.readFileSync(starts, "utf8").length)
    yield* Process.eventually("a first line", Effect.sync(service.stderr), (text) => text.includes("mortal is down"))
    service.child.stderr?.destroy()
    const before = yield* life
    yield* Process.eventually("lines that nobody reads", life, (lives) => lives >= before + 2)
    const events = yield* ProcessSetup.turn(service, yield* service.create(), "unread")
    assert.strictEqual(Service.shown(events), "Still here.")
    service.child.kill("SIGTERM")
    assert.strictEqual((yield* service.exit).code, 0)
  })
})

describe.concurrent("without a usable provider", () => {
  test("rule X4: a switch to a provider without its key is refused with the missing key, and the turn continues to wait", function* () {
    const { provider, start } = yield* setup()
    provider.respond(ProcessSetup.overloaded)
    const service = yield* start
    const refused = { path: "/v1/conversations", body: { model: "openai/gpt-5" } }
    const created = yield* service.call(refused)
    assert.strictEqual(created.status, 400)
    assert.include(created.text, "model: openai/gpt-5 needs a key, and OPENAI_API_KEY is not set.")

    const id = yield* service.create()
    const waits = yield* service.open(ProcessSetup.request(id, "asleep"))
    yield* waits.until("provider-retry")
    const sent = yield* service.call({
      path: `/v1/conversations/${id}/switch-target`,
      body: { model: "google/gemini-2.5-pro" }
    })
    assert.strictEqual(sent.status, 400)
    assert.include(sent.text, "none of GEMINI_API_KEY, GOOGLE_API_KEY is set")
    assert.strictEqual((yield* service.state(id)).status, "retrying")
  })
})
