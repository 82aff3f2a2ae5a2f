/** The service as a process that is killed, stopped and starved, with a provider on a socket beside it. */
import { assert, describe, it } from "@effect/vitest"
import * as ScriptedServer from "@holdfast/providers/testing"
import { Duration, Effect, Fiber, type Scope } from "effect"
import { createHash } from "node:crypto"
import * as fs from "node:fs"
import * as Net from "node:net"
import * as path from "node:path"
import * as Migrations from "../../src/storage/Migrations.ts"
import * as NodeSqlite from "../../src/storage/NodeSqlite.ts"
import * as Process from "./Process.ts"
import * as Service from "./Service.ts"
import * as SmallDisk from "./SmallDisk.ts"

const { ErrorBody, answerFrames } = ScriptedServer

const overloaded = { status: 529, body: ErrorBody.envelope("overloaded", "anthropic") }
const answer = (text: string) => ({ frames: answerFrames("openai", text) })

/** A configuration whose one model is the scripted provider's. */
const configOf = (provider: { readonly url: string }, delays: ReadonlyArray<string> = ["20 millis"]) => ({
  providers: { scripted: { type: "openai-compatible", baseUrl: `${provider.url}/v1` } },
  model: "scripted/m",
  database: { path: "data/holdfast.db" },
  retry: { schedule: { type: "steps", delays } }
})

type Running = Effect.Success<ReturnType<typeof Process.start>>

const request = (id: string, turnId: string, prompt = turnId) => ({
  path: `/v1/conversations/${id}/turns`,
  headers: { accept: "application/x-ndjson" },
  body: { prompt, turnId }
})

/** The events of a turn from its first to its last; asks with the same id, so it is the same turn. */
const turn = (service: Running, id: string, turnId: string) =>
  Effect.map(service.call(request(id, turnId)), ({ status, text }) => {
    assert.strictEqual(status, 200)
    return Service.eventsOf(text)
  })

const endOf = (events: ReturnType<typeof Service.eventsOf>) => {
  const end = events.at(-1)
  return end?.type === "turn-end" ? end : assert.fail("the turn has not ended")
}

/** The provider was asked at the moment that was promised. */
const assertOnTime = (promised: number | undefined): void => {
  const lateMs = Date.now() - (promised ?? 0)
  assert.isAtLeast(lateMs, 0)
  assert.isAtMost(lateMs, 1000)
}

describe("a process that is killed", () => {
  it.live("X1: a turn asleep keeps its attempts, wakes at its time, and those behind it follow in order", () =>
    Effect.gen(function* () {
      const directory = yield* Process.directory
      const provider = yield* ScriptedServer.start()
      const config = configOf(provider, ["20 millis", "4500 millis"])
      provider.respond(overloaded, overloaded, answer("At last"), answer("And then"))
      const first = yield* Process.start({ directory, config })
      const id = yield* first.create()
      yield* first.open(request(id, "one"))
      yield* Process.eventually("the second wait", first.state(id), ({ attempt }) => attempt === 1)
      yield* first.open(request(id, "two"))
      const before = yield* first.state(id)
      yield* first.end("SIGKILL")

      const second = yield* Process.start({ directory, config })
      assert.deepStrictEqual(yield* second.state(id), before)
      yield* provider.received(3)
      assertOnTime(before.retryAt)
      const then = yield* turn(second, id, "two")
      assert.strictEqual(Service.shown(then), "And then")
      assert.strictEqual(endOf(yield* turn(second, id, "one")).attempts, 3)
      assert.deepStrictEqual(yield* second.history(id), [
        "user: one",
        "assistant: At last",
        "user: two",
        "assistant: And then"
      ])
      assert.strictEqual(provider.count(), 4)
    })
  )

  it.live("X1: an attempt that had said nothing yet is made again", () =>
    Effect.gen(function* () {
      const directory = yield* Process.directory
      const provider = yield* ScriptedServer.start()
      const config = configOf(provider)
      const frames = answerFrames("openai", "Once")
      const gate = ScriptedServer.gate()
      provider.respond({ frames: [...frames.slice(0, 1), gate] }, { frames })
      const first = yield* Process.start({ directory, config })
      const id = yield* first.create()
      yield* first.open(request(id, "one"))
      yield* gate.reached
      yield* first.end("SIGKILL")

      const second = yield* Process.start({ directory, config })
      const events = yield* turn(second, id, "one")
      assert.strictEqual(endOf(events).status, "completed")
      assert.deepStrictEqual(yield* second.history(id), ["user: one", "assistant: Once"])
      assert.strictEqual(provider.count(), 2)
    })
  )

  it.live("O3: two hundred turns that waited are all taken up, and answered", () =>
    Effect.gen(function* () {
      const directory = yield* Process.directory
      const provider = yield* ScriptedServer.start()
      const config = configOf(provider, ["1 hour"])
      provider.otherwise(overloaded)
      const first = yield* Process.start({ directory, config })
      const ids = yield* Effect.forEach(Array.from({ length: 200 }), () => first.create(), { concurrency: 20 })
      yield* Effect.forEach(
        ids,
        (id) => Effect.flatMap(first.open(request(id, id)), (live) => live.until("provider-retry")),
        {
          concurrency: 20
        }
      )
      const before = yield* Effect.forEach(ids, (id) => Effect.timed(first.state(id)))
      const slowestMs = Math.max(...before.map(([took]) => Duration.toMillis(took)))
      assert.isBelow(slowestMs, 250)
      yield* first.end("SIGKILL")

      const second = yield* Process.start({ directory, config })
      const after = yield* Effect.forEach(ids, (id) => second.state(id))
      assert.deepStrictEqual(
        after,
        before.map(([, state]) => state)
      )
      provider.otherwise(answer("Good morning"))
      const ends = yield* Effect.forEach(
        ids,
        (id) =>
          Effect.gen(function* () {
            yield* second.call({ method: "POST", path: `/v1/conversations/${id}/retry-now` })
            return endOf(yield* turn(second, id, id))
          }),
        { concurrency: 20 }
      )
      assert.isTrue(ends.every(({ status }) => status === "completed"))
      // X5: some took over what others had just met. What is counted is what was called.
      assert.isTrue(ends.every(({ attempts }) => attempts === 1 || attempts === 2))
      assert.strictEqual(
        provider.count(),
        ends.reduce((sum, { attempts }) => sum + attempts, 0)
      )
    })
  )
})

describe("a process that is stopped", () => {
  it.live("ends at once and with 0 while a turn sleeps; the turn goes on after the start", () =>
    Effect.gen(function* () {
      const directory = yield* Process.directory
      const provider = yield* ScriptedServer.start()
      const config = configOf(provider, ["2500 millis"])
      provider.respond(overloaded, answer("At last"))
      const first = yield* Process.start({ directory, config })
      const id = yield* first.create()
      const live = yield* first.open(request(id, "one"))
      yield* live.until("provider-retry")
      const { retryAt } = yield* first.state(id)
      const [took, { code, stderr }] = yield* Effect.timed(first.end("SIGTERM"))
      assert.strictEqual(code, 0)
      assert.isBelow(Duration.toMillis(took), 2000)
      assert.match(stderr, /^\nStopping: [^\n]+\n$/)
      // It broke off, and does not look complete.
      yield* Effect.flip(live.rest)

      const second = yield* Process.start({ directory, config })
      yield* provider.received(2)
      assertOnTime(retryAt)
      assert.strictEqual(endOf(yield* turn(second, id, "one")).attempts, 2)
      assert.deepStrictEqual(yield* second.history(id), ["user: one", "assistant: At last"])
    })
  )

  it.live("ends at once while a response is awaited; the attempt is made again after the start", () =>
    Effect.gen(function* () {
      const directory = yield* Process.directory
      const provider = yield* ScriptedServer.start()
      const config = configOf(provider)
      const frames = answerFrames("openai", "Once")
      const gate = ScriptedServer.gate()
      provider.respond({ frames: [...frames.slice(0, 1), gate] }, { frames })
      const first = yield* Process.start({ directory, config })
      const id = yield* first.create()
      yield* first.open(request(id, "one"))
      yield* gate.reached
      const [took, { code }] = yield* Effect.timed(first.end("SIGTERM"))
      assert.strictEqual(code, 0)
      assert.isBelow(Duration.toMillis(took), 2000)

      const second = yield* Process.start({ directory, config })
      assert.strictEqual(endOf(yield* turn(second, id, "one")).status, "completed")
      assert.deepStrictEqual(yield* second.history(id), ["user: one", "assistant: Once"])
      assert.strictEqual(provider.count(), 2)
    })
  )

  it.live("ends at once, with 130, at the second signal", () =>
    Effect.gen(function* () {
      const directory = yield* Process.directory
      const provider = yield* ScriptedServer.start()
      const service = yield* Process.start({ directory, config: configOf(provider) })
      // Half a request holds the way down up for as long as it may.
      yield* halfRequest(service.port)
      service.child.kill("SIGTERM")
      yield* Process.eventually("the first signal to be heard", Effect.sync(service.stderr), (text) =>
        text.includes("Stopping")
      )
      const [took, { code }] = yield* Effect.timed(service.end("SIGTERM"))
      assert.strictEqual(code, 130)
      assert.isBelow(Duration.toMillis(took), 500)
    })
  )
})

describe("a start that cannot succeed", () => {
  const cases: ReadonlyArray<{
    readonly what: string
    /** Makes the trouble, and says with which configuration to start. */
    readonly trouble: (directory: string) => Effect.Effect<object | string, unknown, Scope.Scope>
    readonly code: number
    readonly says: RegExp
  }> = [
    {
      what: "a port in use",
      trouble: () =>
        Effect.map(ScriptedServer.start(), ({ port }) => ({
          server: { port },
          database: { path: "data/holdfast.db" }
        })),
      code: 1,
      says: /^holdfast: Cannot listen on 127\.0\.0\.1:\d+: the port is in use\. Stop what listens there, or choose another/
    },
    {
      what: "a configuration that is no JSON",
      trouble: () => Effect.succeed('{ "server": { "port": 0, } }'),
      code: 2,
      says: /^holdfast: \S+holdfast\.config\.json has a problem\.\n {2}line 1, column 26: /
    },
    {
      what: "a configuration that cannot be read",
      trouble: (directory) =>
        Effect.as(
          make(() => fs.mkdirSync(path.join(directory, CONFIG))),
          ""
        ),
      code: 2,
      says: /^holdfast: \S+holdfast\.config\.json has a problem\.\n {2}\S+: it cannot be read: /
    },
    {
      what: "a database in a directory that cannot be made",
      trouble: (directory) =>
        Effect.as(
          make(() => fs.writeFileSync(path.join(directory, "file"), "")),
          { database: { path: "file/data/holdfast.db" } }
        ),
      code: 1,
      says: /^holdfast: Could not create the database \S+file\/data\/holdfast\.db: .* or set database\.path to another place\.\n$/
    },
    {
      what: "a database that is a directory",
      trouble: (directory) =>
        Effect.as(
          make(() => fs.mkdirSync(path.join(directory, "data/holdfast.db"), { recursive: true })),
          { database: { path: "data/holdfast.db" } }
        ),
      code: 1,
      says: /^holdfast: Could not open the database in \S+: .*Check that the path exists, is a file/
    },
    {
      what: "a database that is something else",
      trouble: (directory) =>
        Effect.as(
          make(() => fs.writeFileSync(path.join(directory, "notes.txt"), "Not a database, but dear to somebody.\n")),
          { database: { path: "notes.txt" } }
        ),
      code: 1,
      says: /^holdfast: Could not open the database in \S+: .*The file is no SQLite database\./
    },
    {
      what: "a database that is damaged",
      trouble: (directory) =>
        Effect.as(
          make(() => {
            const file = path.join(directory, "holdfast.db")
            database(file, "CREATE TABLE t (x); INSERT INTO t VALUES (zeroblob(100000))")
            const bytes = fs.readFileSync(file)
            fs.writeFileSync(file, bytes.fill(0xa5, 100, 8192))
          }),
          { database: { path: "holdfast.db" } }
        ),
      code: 1,
      says: /^holdfast: Could not [^\n]+ in \S+holdfast\.db: .*The file is damaged\. Stop Holdfast, keep a copy/
    },
    {
      what: "a database of a newer Holdfast",
      trouble: (directory) =>
        Effect.as(
          make(() =>
            database(
              path.join(directory, "holdfast.db"),
              `PRAGMA journal_mode = WAL;
               CREATE TABLE ${Migrations.TABLE} (migration_id integer PRIMARY KEY NOT NULL, created_at datetime NOT NULL DEFAULT current_timestamp, name VARCHAR(255) NOT NULL);
               INSERT INTO ${Migrations.TABLE} (migration_id, name) VALUES (9999, 'from_the_future')`
            )
          ),
          { database: { path: "holdfast.db" } }
        ),
      code: 1,
      says: /^holdfast: Could not use the database \S+: its schema has version 9999, .* Nothing was changed\.\n$/
    }
  ]

  it.live.each(cases)("says why in one paragraph and leaves everything as it was: $what", ({ code, says, trouble }) =>
    Effect.gen(function* () {
      const directory = yield* Process.directory
      const config = yield* trouble(directory)
      const file = config === "" ? path.join(directory, CONFIG) : Process.writeConfig(directory, config)
      const before = contentOf(directory)
      const exit = yield* Effect.flatMap(
        Process.run({ args: ["serve", "--config", file], directory }),
        (run) => run.exit
      )
      assert.strictEqual(exit.stdout, "")
      assert.match(exit.stderr, says)
      assert.notMatch(exit.stderr, /\n\s+at |\n\n/)
      assert.strictEqual(exit.code, code)
      assert.deepStrictEqual(contentOf(directory), before)
    })
  )
})

describe("a second start of what runs already", () => {
  it.live("leaves the turns of the first alone, and ends with 1", () =>
    Effect.gen(function* () {
      const directory = yield* Process.directory
      const provider = yield* ScriptedServer.start()
      const frames = answerFrames("openai", "Once")
      const gate = ScriptedServer.gate()
      provider.respond({ frames: [...frames.slice(0, 1), gate, ...frames.slice(1)] })
      const first = yield* Process.start({ directory, config: configOf(provider) })
      const id = yield* first.create()
      const live = yield* first.open(request(id, "one"))
      yield* gate.reached

      const config = { ...configOf(provider), server: { port: first.port } }
      const args = ["serve", "--config", Process.writeConfig(directory, config)]
      const { code, stderr } = yield* Effect.flatMap(Process.run({ args, directory }), (second) => second.exit)
      assert.strictEqual(code, 1)
      assert.match(stderr, /^holdfast: [^\n]+\n$/)
      yield* gate.open
      assert.strictEqual(Service.shown(Service.eventsOf(yield* live.rest)), "Once")
      assert.strictEqual(provider.count(), 1)
    })
  )
})

describe("a process that is starved", () => {
  it.live("D3: a provider that is dead, and comes up on the same port, answers the turn that waited", () =>
    Effect.gen(function* () {
      const directory = yield* Process.directory
      const { port, url } = yield* Effect.scoped(ScriptedServer.start())
      const service = yield* Process.start({ directory, config: configOf({ url }, ["50 millis"]) })
      const live = yield* Effect.flatMap(service.create(), (id) => service.open(request(id, "one")))
      assert.include(yield* live.until("provider-retry"), "ECONNREFUSED")
      const provider = yield* ScriptedServer.start({ port })
      provider.respond(answer("Here I am"))
      const events = Service.eventsOf(yield* live.rest)
      assert.strictEqual(Service.shown(events), "Here I am")
      assert.isTrue(events.every((event) => event.type !== "provider-retry" || event.reason === "network"))
    })
  )

  it.live("a client that reads nothing holds up neither the turn nor the others, and is cut", () =>
    Effect.gen(function* () {
      const directory = yield* Process.directory
      const provider = yield* ScriptedServer.start()
      const gate = ScriptedServer.gate()
      // 3 MiB of text, in so many deltas that they are six times that on the wire.
      const frames = answerFrames("openai", `${"x".repeat(19)} `.repeat(150_000))
      provider.respond({ frames: [...frames.slice(0, 1), gate, ...inWritesOf(500, frames.slice(1))] })
      const service = yield* Process.start({ directory, config: configOf(provider) })
      const id = yield* service.create()
      const slow = yield* service.open(request(id, "one"))
      yield* slow.pause
      const slowWatcher = yield* service.open({ path: `/v1/conversations/${id}/events` })
      yield* slowWatcher.pause
      yield* gate.reached
      const before = yield* service.memory
      const quick = yield* Effect.forkChild(turn(service, id, "one"), { startImmediately: true })
      yield* gate.open
      const [took, events] = yield* Effect.timed(Fiber.join(quick))
      const after = yield* service.memory
      assert.isBelow(Duration.toMillis(took), 10_000)
      assert.strictEqual(Service.shown(events).length, 3_000_000)
      // MiB. Nobody keeps what two clients do not read: it would be forty of them, and the text stands in memory anyway.
      assert.isBelow(after - before, 400)
      assert.strictEqual(yield* Effect.map(service.state(id), ({ status }) => status), "idle")
      // What a client is behind is let go of, so coming back to life shows the gap.
      yield* slow.resume
      yield* Effect.flip(slow.rest)
      yield* slowWatcher.resume
      assert.notInclude(yield* slowWatcher.rest, '"type":"turn-end"')
    })
  )

  if (SmallDisk.isPossible()) {
    it.live("a disk that is full pauses the turn, refuses new ones, and loses nothing", () =>
      Effect.gen(function* () {
        const { directory, fill, free } = yield* SmallDisk.make
        const provider = yield* ScriptedServer.start()
        const frames = answerFrames("openai", "Once")
        const gate = ScriptedServer.gate()
        provider.respond({ frames: [...frames.slice(0, 1), gate, ...frames.slice(1)] }, answer("Twice"))
        const service = yield* Process.start({ directory, config: configOf(provider) })
        const id = yield* service.create()
        const live = yield* service.open(request(id, "one"))
        yield* gate.reached
        yield* fill
        yield* gate.open
        const log = yield* Process.eventually("the turn to pause", Effect.sync(service.stderr), (text) =>
          text.includes("paused")
        )
        assert.match(
          log,
          /"Turn one is paused: Could not [^"]+ in \S+holdfast\.db: .*The disk is full\. Free some space/
        )
        const refused = yield* service.call(request(id, "two"))
        assert.strictEqual(refused.status, 503)
        assert.include(refused.text, "problem-storage-unavailable")
        assert.strictEqual((yield* service.call({ path: "/readyz" })).status, 503)
        assert.strictEqual(yield* Effect.map(service.state(id), ({ status }) => status), "running")

        yield* free
        assert.strictEqual(Service.shown(Service.eventsOf(yield* live.rest)), "Once")
        assert.strictEqual(Service.shown(yield* turn(service, id, "two")), "Twice")
        assert.deepStrictEqual(yield* service.history(id), [
          "user: one",
          "assistant: Once",
          "user: two",
          "assistant: Twice"
        ])
        assert.strictEqual(provider.count(), 2)
        yield* service.end("SIGKILL")
        assert.deepStrictEqual(query(path.join(directory, "data/holdfast.db"), "PRAGMA integrity_check"), [
          { integrity_check: "ok" }
        ])
      })
    )
  }
})

// --- internal

const CONFIG = "holdfast.config.json"

const digest = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex")

/** The same frames in fewer writes. */
const inWritesOf = (count: number, frames: ReadonlyArray<string>): ReadonlyArray<string> =>
  Array.from({ length: Math.ceil(frames.length / count) }, (_, n) => frames.slice(n * count, (n + 1) * count).join(""))

const make = (act: () => void) => Effect.sync(act)

/** Runs SQL on a database file of another program. */
const database = (file: string, sql: string): void => {
  const database = new (NodeSqlite.load().DatabaseSync)(file)
  database.exec(sql)
  database.close()
}

const query = (file: string, sql: string): unknown => {
  const database = new (NodeSqlite.load().DatabaseSync)(file)
  try {
    return database.prepare(sql).all()
  } finally {
    database.close()
  }
}

/** Every file below a directory, with what is in it. A lock is not counted: a start takes it first, and it holds nothing. */
const contentOf = (directory: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    fs
      .readdirSync(directory, { recursive: true, withFileTypes: true })
      .filter(({ name }) => !name.endsWith(".lock"))
      .map((entry) => [
        path.relative(directory, path.join(entry.parentPath, entry.name)),
        entry.isFile() ? digest(fs.readFileSync(path.join(entry.parentPath, entry.name))) : "directory"
      ])
  )

/** A request whose body stays away. */
const halfRequest = (port: number) =>
  Effect.acquireRelease(
    Effect.callback<Net.Socket>((resume) => {
      const socket = Net.connect(port, "127.0.0.1", () => {
        const head = "POST /v1/conversations HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json"
        socket.write(`${head}\r\ncontent-length: 100\r\n\r\n{`, () => resume(Effect.succeed(socket)))
      })
      socket.on("error", () => socket.destroy())
    }),
    (socket) => Effect.sync(() => void socket.destroy())
  )
