/** Tests held calls of two runners that share a PostgreSQL. */
import { describe, expect } from "@effect/vitest"
import { Ids } from "@holdfast/wire"
import { Context, Duration, Effect, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql"
import * as Claims from "../../src/cluster/Claims.ts"
import * as Holders from "../../src/insight/inspection/Holders.ts"
import * as Postgres from "../../src/storage/sql/Postgres.ts"
import * as SharedWaits from "../../src/cluster/SharedWaits.ts"
import { freePort } from "../FreePort.ts"
import * as Process from "../service/Process.ts"
import * as PostgresServer from "../storage/PostgresServer.ts"
import * as Runners from "../cluster/Runners.ts"
import * as GatewayRig from "./GatewayRig.ts"
import * as RawEndpoint from "./RawEndpoint.ts"
import * as It from "../It.ts"

/** For a document: the head of a stream leaves after 20 s, whatever comes of its call, and a busy machine takes longer. */
const ASK = { model: "m", messages: [{ role: "user", content: "the secret prompt" }] }
const ANSWER = {
  id: "c",
  object: "chat.completion",
  choices: [{ index: 0, message: { role: "assistant", content: "hello" }, finish_reason: "stop" }]
}
const CHAT = "/to/own/chat/completions"
const KEY = { authorization: "Bearer sk-of-the-client-0123", "session-id": "s" }

interface Listed {
  readonly conversationId: string
  readonly turnId: string
  readonly attempts: number
  readonly status: string
  readonly wait?: { readonly retryAt: number }
}

describe("a held call of runners that share a database", () => {
  It.live("rule X13: goes on in its wait at another runner, and gives up for all of them", function* () {
    const postgres = yield* PostgresServer.start
    const url = yield* postgres.withTables
    let isUp = false
    const bytes = Buffer.from(JSON.stringify(ANSWER))
    const endpoint = yield* RawEndpoint.start((call) =>
      isUp
        ? call.response.writeHead(200, { "content-type": "application/json" }).end(bytes)
        : GatewayRig.sendError(call, 503)
    )
    const start = Effect.gen(function* () {
      const runnerPort = yield* freePort
      const { service } = yield* GatewayRig.start({
        endpoint,
        answer: () => {},
        file: { gate: { enabled: false }, telemetry: { notifications: { after: "1 second", command: ["true"] } } },
        postgres: { url, runnerPort },
        retry: { schedule: { type: "steps", delays: [Duration.millis(5), Duration.hours(1)] } }
      })
      return { ...service, address: `127.0.0.1:${runnerPort}` }
    })
    const one = yield* start
    const post = (at: typeof one, ask: object = ASK, key = KEY) =>
      Effect.forkChild(GatewayRig.post(at.port, CHAT, ask, key))
    /** The turns that wait, once there are so many with an hour to go. */
    const waiting = (count: number) =>
      Process.eventually(
        `${count} calls to wait`,
        Effect.map(
          one.call({ path: "/v1/turns?status=waiting" }),
          ({ text }) => JSON.parse(text).turns as ReadonlyArray<Listed>
        ),
        (turns) => turns.length === count && turns.every(({ attempts, wait }) => attempts === 2 && wait !== undefined)
      )
    const sql = Context.get(yield* Layer.build(Postgres.layerClient({ url })), SqlClient.SqlClient)
    const claims = Effect.map(
      sql`SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND classid = ${Claims.SPACE}`,
      (rows) => rows.length
    )

    // Calls in every shard, whose clients stay where they are when some of the shards go to another runner.
    const early: Array<Effect.Success<ReturnType<typeof post>>> = []
    const shards = new Set<number>()
    while (shards.size < GatewayRig.SHARDS) {
      early.push(yield* post(one, { ...ASK, user: `${early.length}` }))
      for (const { conversationId } of yield* waiting(early.length)) {
        shards.add(Holders.shardOf(Ids.ConversationId.make(conversationId), GatewayRig.SHARDS))
      }
    }
    const two = yield* start
    yield* Runners.settledOn(sql, 2, GatewayRig.SHARDS)
    const holders = yield* Holders.read(sql)
    const calls = yield* waiting(early.length)
    const owners = calls.map(({ conversationId }) => holders?.of(Ids.ConversationId.make(conversationId)))
    expect(new Set(owners)).toEqual(new Set([one.address, two.address]))
    // All are shown as they are, and watched, wherever that is asked; a command reaches them all.
    const watchers = []
    for (const at of [one, two]) {
      for (const { conversationId, turnId } of calls) {
        const { text } = yield* at.call({ path: `/v1/conversations/${conversationId}` })
        expect(JSON.parse(text)).toMatchObject({ status: "retrying", turnId })
        for (const path of [`/v1/turns/${turnId}/events`, `/v1/conversations/${conversationId}/events`]) {
          const watcher = yield* at.open({ path })
          yield* watcher.until('"attempt":1')
          watchers.push(watcher)
        }
      }
    }
    for (const { conversationId } of calls) {
      const { status } = yield* two.call({ path: `/v1/conversations/${conversationId}/abort-retry`, body: {} })
      expect(status).toBe(202)
    }
    const ends = yield* Effect.forEach(early, (call) => Fiber.join(call))
    expect(ends.map(({ headers, status }) => [status, headers["x-holdfast-call"]]).toSorted()).toEqual(
      calls.map(({ turnId }) => [503, turnId]).toSorted()
    )
    for (const watcher of watchers) yield* watcher.until('"type":"turn-end"')
    const before = endpoint.calls.length

    const first = yield* post(one)
    const [left] = yield* waiting(1)

    // While its client is there, the same call is a call of its own.
    const twin = yield* post(two)
    const other = (yield* waiting(2)).find(({ turnId }) => turnId !== left?.turnId)
    expect(endpoint.calls.length - before).toBe(4)
    const held = yield* SharedWaits.openCalls(sql)
    expect(held.toSorted()).toEqual([left?.conversationId, other?.conversationId].toSorted())
    expect(held.map(yield* (yield* Claims.make(sql)).read)).toEqual([true, true])

    // An answered call hides no other.
    const third = yield* post(two)
    const known = new Set([left?.turnId, other?.turnId])
    const newest = (yield* waiting(3)).find(({ turnId }) => !known.has(turnId))
    // Its watcher gets its end. Reading its state first brings its conversation into the runner's memory.
    yield* two.call({ path: `/v1/conversations/${newest?.conversationId}` })
    const watched = yield* Effect.forkChild(two.call({ path: `/v1/turns/${newest?.turnId}/events` }))
    isUp = true
    yield* two.call({ path: `/v1/conversations/${newest?.conversationId}/retry-now`, body: {} })
    expect((yield* Fiber.join(third)).status).toBe(200)
    expect((yield* Fiber.join(watched)).text).toContain('"type":"turn-end"')
    isUp = false

    // Its client asks the other runner, with a renewed login.
    yield* Fiber.interrupt(first)
    yield* Process.eventually("the claim to end", claims, (count) => count === 1)
    const { text } = yield* two.call({ path: `/v1/conversations/${left?.conversationId}` })
    const { retryAt, status, turnId } = JSON.parse(text)
    expect([status, turnId, retryAt]).toEqual(["retrying", left?.turnId, left?.wait?.retryAt])
    // Without it no runner carries a command out, and none reports that there was nothing to do.
    const lone = { path: `/v1/conversations/${left?.conversationId}/retry-now`, body: {} }
    for (const { status, text } of yield* Effect.all([one.call(lone), two.call(lone)], { concurrency: 2 }))
      expect([status, text]).toEqual([503, expect.stringContaining("No runner could be found that has the program")])
    const again = yield* post(two, ASK, { ...KEY, authorization: "Bearer renewed-0123456789" })
    isUp = true
    yield* Process.eventually("the call to go on", two.call(lone), () => endpoint.calls.length - before === 8)
    const answer = yield* Fiber.join(again)
    const { "x-holdfast-attempts": attempts, "x-holdfast-call": called } = answer.headers
    expect([answer.status, called, attempts]).toEqual([200, left?.turnId, "3"])
    expect(answer.body.equals(bytes)).toBe(true)

    // A command reaches the runner that has the client, and the call stays given up everywhere.
    isUp = false
    const given = yield* one.call({ path: `/v1/conversations/${other?.conversationId}/abort-retry`, body: {} })
    expect(given.status).toBe(202)
    const failed = yield* Fiber.join(twin)
    expect([failed.status, failed.headers["x-holdfast-call"]]).toEqual([503, other?.turnId])
    const same = yield* GatewayRig.post(one.port, CHAT, ASK, KEY)
    expect([same.status, endpoint.calls.length - before]).toEqual([503, 8])

    // An incident is open at the runner of a call for as long as its client is there.
    const open = (count: number) =>
      Process.eventually(
        "the incident",
        Effect.map(one.call({ path: "/metrics" }), ({ text }) => /^holdfast_incidents_open \d+$/m.exec(text)?.[0]),
        (line) => line === `holdfast_incidents_open ${count}`
      )
    yield* open(0)
    const last = yield* post(one, { ...ASK, user: "last" })
    yield* open(1)
    yield* Fiber.interrupt(last)
    yield* open(0)
  })
})
