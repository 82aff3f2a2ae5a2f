/** Runs the scripts of `Disconnects` over one transport. */
import { type HoldfastClient, webSocket } from "@holdfast/client"
import { type Client, make as makeClient } from "@holdfast/client/effect"
import { type LineChannel, RpcClient, RpcError } from "@holdfast/client/stdio"
import type { Message, TurnEvent } from "@holdfast/wire"
import { Context, Effect, type Fiber, Layer, type Scope, Stream } from "effect"
import { HttpServer } from "effect/http"
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import * as Net from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Composition from "../../src/Composition.ts"
import { Config } from "../../src/config/Config.ts"
import { Conversations } from "../../src/engine/conversation/Conversations.ts"
import { Outlet } from "../../src/rpc/Outlet.ts"
import * as RemoteConversation from "../../src/rpc/RemoteConversation.ts"
import * as RpcSession from "../../src/rpc/RpcSession.ts"
import * as Configurations from "../config/Configurations.ts"
import { type Cut, start as startProxy } from "./CuttingProxy.ts"
import * as SimulatedService from "./SimulatedService.ts"

/** One conversation, and the cuts of its client's connections. */
export interface Scenario {
  /** A script of the simulated provider for each turn. */
  readonly turns: ReadonlyArray<string>
  readonly cuts: ReadonlyArray<Cut>
}

/** What a client has. */
export interface Assembled {
  readonly events: ReadonlyArray<TurnEvent.TurnEvent>
  /** The events of each turn, where the transport has streams of a turn. */
  readonly turns: ReadonlyMap<string, ReadonlyArray<TurnEvent.TurnEvent>>
}

/** What the service has. */
export interface Persisted {
  readonly events: ReadonlyArray<TurnEvent.TurnEvent>
  readonly messages: ReadonlyArray<Message.Message>
}

/** A service with clients of one transport. */
export interface Driver {
  readonly run: (scenario: Scenario) => Effect.Effect<{
    readonly assembled: Assembled
    readonly persisted: Persisted
    /** The connections that were cut. */
    readonly cuts: number
  }>
}

/** Reconnects fast: a test has no service to spare. */
const BACKOFF = { firstMs: 1, longestMs: 20 }

const isLast = ({ type }: TurnEvent.TurnEvent) => type === "turn-end"

/** Clients of the whole service. */
export const httpDriver = (
  name: keyof typeof SimulatedService.transports
): Effect.Effect<Driver, unknown, Scope.Scope> =>
  Effect.gen(function* () {
    const { port } = yield* SimulatedService.start()
    const direct = yield* SimulatedService.client(port)
    const run = (scenario: Scenario) =>
      Effect.gen(function* () {
        const conversation = yield* Effect.promise(() => direct.createConversation())
        const proxy = yield* startProxy(port, [...scenario.cuts])
        const client = yield* SimulatedService.client(proxy.port, {
          ...SimulatedService.transports[name],
          backoff: BACKOFF,
          retryForMs: 60_000
        })
        const assembled = yield* Effect.promise(() => watched(client, conversation.id, scenario.turns))
        const persisted: Array<TurnEvent.TurnEvent> = []
        yield* Effect.promise(async () => {
          let left = scenario.turns.length
          for await (const event of conversation.events()) {
            if (!TRANSIENT.has(event.type)) persisted.push(event)
            if (isLast(event) && --left === 0) break
          }
        })
        const messages = yield* Effect.promise(() => conversation.getMessages())
        return { assembled, persisted: { events: persisted, messages }, cuts: proxy.made() }
      }).pipe(Effect.scoped)
    return { run }
  })

const TRANSIENT: ReadonlySet<string> = new Set([
  "step-start",
  "text-delta",
  "reasoning-delta",
  "provider-retry",
  "tools-missing"
])

/** Runs the turns, with a stream of the conversation and one of each turn. */
const watched = async (client: HoldfastClient, id: string, scripts: ReadonlyArray<string>): Promise<Assembled> => {
  const conversation = client.conversation(id)
  const events: Array<TurnEvent.TurnEvent> = []
  const turns = new Map<string, Array<TurnEvent.TurnEvent>>()
  const watching = (async () => {
    let left = scripts.length
    for await (const event of conversation.events()) {
      events.push(event)
      if (isLast(event) && --left === 0) return
    }
  })()
  for (const script of scripts) {
    const turn = await conversation.prompt(SimulatedService.prompt(script))
    const own: Array<TurnEvent.TurnEvent> = []
    turns.set(turn.id, own)
    for await (const event of turn) own.push(event)
  }
  await watching
  return { events, turns }
}

/** Clients of sessions of `holdfast rpc`, each over a socket in the place of a process's pipes. */
export const lineDriver: Effect.Effect<Driver, unknown, Scope.Scope> = Effect.gen(function* () {
  const folder = yield* Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "holdfast-lines-"))),
    (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
  )
  const config = Configurations.config({
    file: {
      server: { port: 0 },
      database: { path: join(folder, "holdfast.db") },
      model: "simulated/ok+instant",
      retry: SimulatedService.QUICK
    }
  })
  const context = yield* Layer.build(Composition.service.pipe(Layer.provide(Layer.succeed(Config, config))))
  const conversations = Context.get(context, Conversations)
  const { address } = Context.get(context, HttpServer.HttpServer)
  const service = yield* makeClient({ url: HttpServer.formatAddress(address), transport: webSocket() })
  const port = yield* sessions(service)
  const run = (scenario: Scenario) =>
    Effect.gen(function* () {
      const id = yield* conversations.create({})
      const proxy = yield* startProxy(port, [...scenario.cuts])
      const open: Open = (options, listener) => channel(proxy.port, options, listener)
      const assembled = yield* Effect.promise(() => resumed(open, id, scenario.turns))
      const persisted = yield* conversations.watch(id, 0).pipe(
        Stream.filter(({ id }) => id !== undefined),
        Stream.takeUntil(turnsEnded(scenario.turns.length)),
        Stream.map(({ event }) => event),
        Stream.runCollect
      )
      const messages = yield* conversations.messages(id)
      return { assembled, persisted: { events: Array.from(persisted), messages }, cuts: proxy.made() }
    }).pipe(Effect.scoped, Effect.orDie)
  return { run }
})

const turnsEnded = (count: number) => {
  let left = count
  return ({ event }: { readonly event: TurnEvent.TurnEvent }) => isLast(event) && --left === 0
}

/** Serves sessions; the first line of a connection has what a process has as its arguments. */
const sessions = (service: Client["Service"]): Effect.Effect<number, never, Scope.Scope> =>
  Effect.gen(function* () {
    const running = new Set<Fiber.Fiber<unknown, unknown>>()
    const server = yield* Effect.acquireRelease(
      Effect.promise(async () => {
        const server = Net.createServer((socket) => {
          socket.on("error", () => {})
          socket.once("data", (first) => {
            const end = first.indexOf("\n")
            if (end < 0) return void socket.destroy()
            const { after, conversation } = JSON.parse(first.subarray(0, end).toString())
            socket.pause()
            socket.unshift(first.subarray(end + 1))
            const input = Stream.fromAsyncIterable<Uint8Array, Error>(socket, () => new Error("cut"))
            const outlet = new Outlet(socket)
            const session = RpcSession.run({
              service: RemoteConversation.make(service.conversation(conversation)),
              after,
              input,
              write: (lines) => outlet.send(lines)
            })
            const fiber = Effect.runFork(
              Effect.ensuring(
                Effect.ignore(session),
                Effect.sync(() => socket.destroy())
              )
            )
            running.add(fiber)
            socket.on("close", () => {
              fiber.interruptUnsafe()
              running.delete(fiber)
            })
          })
        })
        server.listen(0, "127.0.0.1")
        await once(server, "listening")
        return server
      }),
      (server) => Effect.promise(() => new Promise<void>((resolve) => void server.close(() => resolve())))
    )
    return (server.address() as Net.AddressInfo).port
  })

/** Runs the turns; a client whose channel is cut is followed by another one behind its last event. */
export const resumed = async (open: Open, id: string, scripts: ReadonlyArray<string>): Promise<Assembled> => {
  const events: Array<TurnEvent.TurnEvent> = []
  let after = 0
  for (const [number, script] of scripts.entries()) {
    const turnId = `${id}-${number}`
    for (let isOver = false; !isOver;) {
      const client = new RpcClient({ command: ["what opens it"], conversation: id, after }, open)
      client.on((event) => events.push(event))
      try {
        await client.prompt(SimulatedService.prompt(script), { turnId })
        isOver = true
      } catch (error) {
        if (!(error instanceof RpcError) || error.code === "refused") throw error
        isOver = events.some((event) => isLast(event) && event.turnId === turnId)
      }
      await client.close()
      after = client.lastEventId
    }
  }
  return { events, turns: new Map() }
}

type Open = NonNullable<ConstructorParameters<typeof RpcClient>[1]>

const channel: (port: number, ...given: Parameters<Open>) => LineChannel = (
  port,
  { after = 0, conversation },
  { bytes, closed }
) => {
  const socket = Net.connect(port, "127.0.0.1")
  socket.on("error", () => {})
  socket.write(`${JSON.stringify({ after, conversation })}\n`)
  socket.on("data", bytes)
  socket.on("close", () => closed({ message: "The channel was cut.", code: null }))
  return {
    write: (text) => void socket.write(text),
    end: () => void socket.end(),
    kill: () => void socket.destroy()
  }
}
