/**
 * The service's own layers without calls over HTTP, of any checkout: `InProcess.ts TREE DATABASE create COUNT`, or `… DATABASE park`.
 *
 * `create` makes conversations. `park` sends a prompt to each and prints the seconds until all turns wait. Run as a process of its own,
 * so that each measurement is of a new process, and so that another checkout brings its own modules.
 */
import { existsSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import type * as EffectModule from "effect"
import type * as CompositionModule from "../../../apps/session-orchestrator/src/Composition.ts"
import type * as ConfigModule from "../../../apps/session-orchestrator/src/config/Config.ts"
import type * as ConversationsModule from "../../../apps/session-orchestrator/src/engine/conversation/Conversations.ts"
import type * as HttpServerModule from "../../../apps/session-orchestrator/src/http/HttpServer.ts"
import type * as DatabaseModule from "./Database.ts"

const [tree = "", database = "", act = "", count = "0"] = process.argv.slice(2)

const AT_ONCE = 500

/** A simulated model that is never there: in process it costs no socket. */
const MODEL = "529x*"

// Types are those of this checkout; what is used here is the same in others, or is not used there.
const source = (path: string): string => join(tree, "apps/session-orchestrator/src", path)
const Composition: typeof CompositionModule = await import(source("Composition.ts"))
const { Config }: typeof ConfigModule = await import(source("config/Config.ts"))
const { bound }: typeof HttpServerModule = await import(source("http/HttpServer.ts"))
// The room stands inside another one since the engine has a room; a tree of before is measured beside this one.
const conversations = ["engine/conversation", "conversation"].map((room) => source(join(room, "Conversations.ts")))
const { Conversations }: typeof ConversationsModule = await import(conversations.find(existsSync) ?? "")
const Database: typeof DatabaseModule = await import(join(tree, "bench/src/parking/Database.ts"))
const effect = createRequire(join(tree, "bench/package.json")).resolve("effect")
const { Duration, Effect, Layer }: typeof EffectModule = await import(pathToFileURL(effect).href)

type Service = typeof Conversations.Service

const server = {
  host: "127.0.0.1",
  port: 0,
  hostnames: [],
  allowedOrigins: [],
  token: undefined,
  maxFileBytes: 10_485_760,
  maxBodyBytes: 33_554_432
}

const config = Layer.succeed(Config, {
  file: undefined,
  server,
  log: { level: "info" },
  database: { path: database, url: undefined, retention: Duration.days(30), deleteConversations: [] },
  providers: new Map([["bench", { type: "simulated" as const, name: "bench" }]]),
  gate: { enabled: true },
  gateway: { maxBodyBytes: 67_108_864 },
  tools: [],
  models: {},
  prices: {},
  systemPrompts: {},
  model: { provider: "bench", model: MODEL },
  retry: { schedule: { type: "steps", delays: [Duration.hours(1)], tail: Duration.hours(1) } },
  cluster: { runner: { host: "127.0.0.1", port: 0 }, shards: 1 },
  telemetry: { retryLog: undefined, otlp: undefined, notifications: undefined },
  origins: new Map(),
  notices: []
})

const inParallel = async (times: number, act: () => Promise<unknown>): Promise<void> => {
  let left = times
  const worker = async (): Promise<void> => {
    while (left-- > 0) await act()
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
}

const create = (conversations: Service): Promise<void> =>
  inParallel(Number(count), () => Effect.runPromise(conversations.create({})))

/** Sends a prompt to every conversation; prints the seconds until all of them wait. */
const park = async (conversations: Service): Promise<void> => {
  const ids = Database.conversationsIn(database)
  const start = performance.now()
  const handIn = ids.values()
  await inParallel(ids.length, async () => {
    const { value: id } = handIn.next()
    if (id !== undefined) await Effect.runPromise(conversations.prompt(id, { prompt: `wait for me ${id}` }))
  })
  while ((await Effect.runPromise(conversations.counts)).retrying < ids.length)
    await new Promise((resolve) => setTimeout(resolve, 5))
  console.log(`SECONDS ${(performance.now() - start) / 1_000}`)
}

if (act === "park" && !existsSync(database)) throw new Error(`There are no conversations at ${database}.`)
await Effect.gen(function* () {
  const conversations = yield* Conversations
  yield* Effect.promise(() => (act === "park" ? park : create)(conversations))
}).pipe(Effect.provide(Composition.held.pipe(Layer.provide(bound(server)), Layer.provide(config))), Effect.runPromise)
console.log("DONE ")
