/** Runs the scripts of `Disconnects` over one transport. */
import type { HoldfastClient } from "@holdfast/client"
import type { Message, TurnEvent } from "@holdfast/wire"
import { Effect, type Scope } from "effect"
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
