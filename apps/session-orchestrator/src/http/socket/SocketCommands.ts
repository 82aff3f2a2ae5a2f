/** Carries out the commands of one WebSocket: those on conversations as `holdfast rpc` does, and those on the socket's subscriptions. */
import { Command as WireCommand, defined, type Ids, Labels } from "@holdfast/wire"
import { Problem } from "@holdfast/wire/api"
import type { RpcLines, SocketMessages } from "@holdfast/wire/rpc"
import { Effect } from "effect"
import { Conversations } from "../../engine/conversation/Conversations.ts"
import { TurnNotFound } from "../../engine/conversation/Conversations.ts"
import { problemOf, type Refusal } from "../../engine/conversation/DomainProblems.ts"
import { StoredTurns } from "../../insight/inspection/StoredTurns.ts"
import * as CommandContext from "../CommandContext.ts"
import { MOST_SUBSCRIPTIONS, type Subscriptions } from "./Subscriptions.ts"

type Command = SocketMessages.SocketCommand
type CommandOf<Type extends Command["type"]> = Extract<Command, { readonly type: Type }>

/** What the commands of a socket need. */
export interface Options {
  readonly subscriptions: Subscriptions
  readonly send: (message: SocketMessages.SocketResponse) => Effect.Effect<void>
  /** The origin in the record of a command (rule X4). */
  readonly origin: string
}

/** What all sockets share. A context of services for each would be a copy of 2 kB for each. */
export type SocketServices = Effect.Success<typeof services>

/** The services of the context. */
export const services = Effect.all({ conversations: Conversations, states: StoredTurns, gates: CommandContext.gates })

/** Makes the function from a command to the effect that carries it out and sends its response; commands of one key are carried out in their order. */
export const make = ({ conversations, gates, states }: SocketServices, { origin, send, subscriptions }: Options) => {
  const { checkFiles, unlessDown, unlessGoingDown } = gates

  /** The checks that every transport makes before a new turn. */
  const admitted = (command: Change) => {
    if (command.type !== "prompt") return command.type === "retry" ? unlessGoingDown : Effect.void
    return Effect.andThen(unlessGoingDown, checkFiles(command.prompt))
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
    const response = yield* respond<never>(command, Effect.as(checked(command), undefined))
    if (response.success) yield* subscriptions.end(subject)
    yield* send(response)
    if (response.success) yield* subscriptions.begin(subject, { after, bare: deltas === "bare" ? id : undefined })
  })

  return (command: Command): { readonly key: string; readonly effect: Effect.Effect<void> } => {
    const answer = <Data extends NonNullable<SocketMessages.SocketResponse["data"]>>(
      data: Parameters<typeof respond<Data>>[1]
    ) => Effect.flatMap(respond(command, data), send)
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
        const changed = unlessDown(run(conversations, command, origin))
        return { key: conversationId, effect: answer(Effect.andThen(admitted(command), changed)) }
      }
    }
  }
}

/** Every command except `get_state`, which changes nothing. */
export type Change = Exclude<RpcLines.RpcCommand, { readonly type: "get_state" }>

/** What a transport itself finds wrong with a command. */
type RequestProblem = Problem.FileTooLarge | Problem.InvalidRequest | Problem.ShuttingDown

/** Makes the response to a command from its effect. */
export const respond = <Data>(
  { id, type }: { readonly id?: RpcLines.RequestId; readonly type: string },
  effect: Effect.Effect<Data | undefined, Refusal | RequestProblem>
): Effect.Effect<Response<Data>> => {
  const head = { ...defined({ id }), type: "response", command: type } as const
  const failed = (code: string, error: string): Response<Data> => ({ ...head, success: false, code, error })
  return effect.pipe(
    Effect.map((data): Response<Data> => ({ ...head, success: true, ...defined({ data }) })),
    Effect.catch((refusal) => {
      const problem = "title" in refusal ? refusal : problemOf(refusal)
      return Effect.succeed(failed(Problem.nameOf(problem), problem.detail ?? problem.title))
    }),
    Effect.catchDefect((defect) =>
      Effect.as(Effect.logError(`The command ${type} met a bug in Holdfast.`, defect), failed("unexpected", BUG))
    )
  )
}

/** Runs a command; its effect is on disk when it succeeds. */
export const run = (
  conversations: Conversations["Service"],
  line: Change & { readonly conversationId: Ids.ConversationId },
  origin: string
): Effect.Effect<RpcLines.RpcResponse["data"], Refusal> => {
  const { id: _, type, ...fields } = line
  // Both are of one row of the table.
  const command = { ...fields, type: type.replaceAll("_", "-") } as WireCommand.Command
  const { conversationId } = command
  if (WireCommand.isSetting(command)) return Effect.as(conversations.change(command), undefined)
  switch (command.type) {
    case "prompt":
      return accepted(conversations.prompt(conversationId, { prompt: command.prompt, turnId: command.turnId }))
    case "retry":
      return accepted(conversations.retry(conversationId, { turnId: command.turnId }))
    case "abort":
      return applied(conversations.abort(conversationId, command.turnId))
    default:
      return applied(conversations.steer(command, origin))
  }
}

// --- internal

type Response<Data> = Omit<RpcLines.RpcResponse, "data"> & { readonly data?: Data }

const BUG = "This is a bug in Holdfast, not in the command. The log has more."

const accepted = <E>(call: Effect.Effect<Ids.TurnId, E>) => Effect.map(call, (turnId) => ({ turnId }))

const applied = <E>(call: Effect.Effect<boolean, E>) => Effect.map(call, (applied) => ({ applied }))

const invalid = (detail: string) => Effect.fail(new Problem.InvalidRequest({ detail }))

const NO_BARE = '"deltas": bare deltas need the turnId of one turn, and an id of the command, which they carry.'

const FULL = `This socket has ${MOST_SUBSCRIPTIONS} subscriptions, which is the most. End one, or open another socket.`
