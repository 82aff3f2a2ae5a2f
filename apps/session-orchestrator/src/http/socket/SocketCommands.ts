/** Carries out the commands of one WebSocket: those on conversations as `holdfast rpc` does, and those on the socket's subscriptions. */
import { defined, Labels } from "@holdfast/wire"
import { Problem } from "@holdfast/wire/api"
import type { SocketMessages } from "@holdfast/wire/rpc"
import { Effect } from "effect"
import { Conversations } from "../../conversation/Conversations.ts"
import { TurnNotFound } from "../../conversation/TurnNotFound.ts"
import { StoredTurns } from "../../inspection/StoredTurns.ts"
import * as RpcCommands from "../../rpc/RpcCommands.ts"
import type { Drain } from "../../system/Drain.ts"
import * as CommandContext from "../CommandContext.ts"
import { MOST_SUBSCRIPTIONS, type Subscriptions } from "./Subscriptions.ts"

type Command = SocketMessages.SocketCommand
type CommandOf<Type extends Command["type"]> = Extract<Command, { readonly type: Type }>

/** How one command is carried out. */
export interface Execution {
  /** Commands of one key are carried out in their order. */
  readonly key: string
  /** Carries it out and sends its response. */
  readonly effect: Effect.Effect<void>
}

/** What the commands of a socket need. */
export interface Options {
  readonly subscriptions: Subscriptions
  readonly send: (message: SocketMessages.SocketResponse) => Effect.Effect<void>
  /** The origin in the record of a command (rule X4). */
  readonly origin: string
  readonly drain: Drain["Service"]
}

/** What all sockets share. A context of services for each would be a copy of 2 kB for each. */
export interface Services {
  readonly conversations: Conversations["Service"]
  readonly states: StoredTurns["Service"]
  readonly mostFileBytes: number
}

/** The services of the context. */
export const services: Effect.Effect<Services, never, Conversations | StoredTurns> = Effect.gen(function* () {
  return {
    conversations: yield* Conversations,
    states: yield* StoredTurns,
    mostFileBytes: yield* CommandContext.FileLimit
  }
})

/** Makes the function from a command to its execution. */
export const make = (
  { conversations, mostFileBytes, states }: Services,
  { drain, origin, send, subscriptions }: Options
): ((command: Command) => Execution) => {
  const unlessGoingDown = CommandContext.unlessGoingDown(drain)

  /** The checks that every transport makes before a new turn. */
  const admitted = (command: RpcCommands.Change) => {
    if (command.type !== "prompt") return command.type === "retry" ? unlessGoingDown : Effect.void
    const files = CommandContext.checkFiles(command.prompt, mostFileBytes)
    return Effect.andThen(unlessGoingDown, files)
  }

  const create = ({ id: _id, type: _type, ...settings }: CommandOf<"create">) =>
    Effect.map(
      Effect.andThen(unlessGoingDown, conversations.create({ ...settings, labels: Labels.among(settings) })),
      (conversationId) => ({ conversationId })
    )

  /** Fails where there is nothing to subscribe to. */
  const checked = Effect.fnUntraced(function* ({ conversationId, deltas, id, turnId }: CommandOf<"subscribe">) {
    if (deltas === "bare" && (turnId === undefined || id === undefined)) return yield* invalid(NO_BARE)
    if (subscriptions.isFull({ conversationId, ...defined({ turnId }) })) return yield* invalid(FULL)
    yield* conversations.state(conversationId)
    if (turnId === undefined) return
    const within = yield* states.conversationOf(turnId)
    if (within !== conversationId) return yield* new TurnNotFound({ conversationId, turnId })
  })

  const subscribe = Effect.fnUntraced(function* (command: CommandOf<"subscribe">) {
    const { after = 0, conversationId, deltas, id, turnId } = command
    const subject = { conversationId, ...defined({ turnId }) }
    const response = yield* RpcCommands.respond<never>(command, Effect.as(checked(command), undefined))
    if (response.success) yield* subscriptions.end(subject)
    yield* send(response)
    if (response.success) yield* subscriptions.begin(subject, { after, bare: deltas === "bare" ? id : undefined })
  })

  return (command: Command): Execution => {
    const answer = <Data extends NonNullable<SocketMessages.SocketResponse["data"]>>(
      data: Parameters<typeof RpcCommands.respond<Data>>[1]
    ) => Effect.flatMap(RpcCommands.respond(command, data), send)
    switch (command.type) {
      case "create":
        return { key: "create", effect: answer(create(command)) }
      case "get_state": {
        const { conversationId } = command
        const state = Effect.map(conversations.state(conversationId), (state) => ({
          ...state,
          lastEventId: subscriptions.lastEventId(conversationId)
        }))
        return { key: conversationId, effect: answer(state) }
      }
      case "subscribe":
        return { key: `events of ${command.conversationId}`, effect: subscribe(command) }
      case "unsubscribe":
        return {
          key: `events of ${command.conversationId}`,
          effect: answer<never>(Effect.as(subscriptions.end(command), undefined))
        }
      default: {
        const { conversationId } = command
        const changed = RpcCommands.run(conversations, conversationId, command, origin)
        const orRefused = Effect.raceFirst(changed, Effect.andThen(drain.ended, Effect.fail(CommandContext.goingDown)))
        return { key: conversationId, effect: answer(Effect.andThen(admitted(command), orRefused)) }
      }
    }
  }
}

// --- internal

const invalid = (detail: string) => Effect.fail(new Problem.InvalidRequest({ detail }))

const NO_BARE = '"deltas": bare deltas need the turnId of one turn, and an id of the command, which they carry.'

const FULL = `This socket has ${MOST_SUBSCRIPTIONS} subscriptions, which is the most. End one, or open another socket.`
