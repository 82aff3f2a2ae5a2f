/** Runs one command of `holdfast rpc` on its conversation, and makes its response. */
import { defined, type Ids } from "@holdfast/wire"
import type { RpcLines } from "@holdfast/wire/rpc"
import { Effect } from "effect"
import type { Conversations } from "../conversation/Conversations.ts"

/** Every command except `get_state`, which changes nothing and is answered beside the others. */
export type Change = Exclude<RpcLines.RpcCommand, { readonly type: "get_state" }>

/** The origin in the record of a command (X4). */
export const ORIGIN = "RPC"

/** Runs a command. Never fails: a refusal, and a bug of Holdfast too, is a response. */
export const answer = (
  conversations: Conversations["Service"],
  conversationId: Ids.ConversationId,
  command: Change
): Effect.Effect<RpcLines.RpcResponse> => respond(command, run(conversations, conversationId, command))

/** Makes the response to a command from its effect. */
export const respond = (
  { id, type }: RpcLines.RpcCommand,
  effect: Effect.Effect<RpcLines.RpcResponse["data"], { readonly message: string }>
): Effect.Effect<RpcLines.RpcResponse> => {
  const head = { ...defined({ id }), type: "response", command: type } as const
  const failed = (error: string): RpcLines.RpcResponse => ({ ...head, success: false, error })
  return effect.pipe(
    Effect.map((data): RpcLines.RpcResponse => ({ ...head, success: true, ...defined({ data }) })),
    Effect.catch(({ message }) => Effect.succeed(failed(message))),
    Effect.catchDefect((defect) =>
      Effect.as(Effect.logError(`The command ${type} met a bug in Holdfast.`, defect), failed(BUG))
    )
  )
}

// --- internal

const BUG = "This is a bug in Holdfast, not in the command. Standard error has more."

const run = (
  conversations: Conversations["Service"],
  conversationId: Ids.ConversationId,
  command: Change
): Effect.Effect<RpcLines.RpcResponse["data"], { readonly message: string }> => {
  const steer = (steering: Parameters<Conversations["Service"]["steer"]>[0]) =>
    applied(conversations.steer(steering, ORIGIN))
  const common = { conversationId, ...("commandId" in command && defined({ commandId: command.commandId })) }
  switch (command.type) {
    case "prompt":
      return accepted(conversations.prompt(conversationId, { prompt: command.prompt }))
    case "retry":
      return accepted(conversations.retry(conversationId, {}))
    case "abort":
      return applied(conversations.abort(conversationId))
    case "set_auto_retry":
      return Effect.as(conversations.setAutoRetry(conversationId, command.enabled), undefined)
    case "abort_retry":
      return steer({ type: "abort-retry", ...common })
    case "retry_now":
      return steer({ type: "retry-now", ...common })
    case "wait_until":
      return steer({ type: "wait-until", ...common, until: command.until })
    case "switch_target":
      return steer({ type: "switch-target", ...common, model: command.model })
    case "extend_budget":
      return steer({ type: "extend-budget", ...common, byMs: command.byMs })
    default:
      return command satisfies never
  }
}

const accepted = <E>(call: Effect.Effect<Ids.TurnId, E>) => Effect.map(call, (turnId) => ({ turnId }))

const applied = <E>(call: Effect.Effect<boolean, E>) => Effect.map(call, (applied) => ({ applied }))
