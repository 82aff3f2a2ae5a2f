/** Runs one command of a WebSocket on its conversation, and makes its response. */
import { defined, type Ids } from "@holdfast/wire"
import { Problem } from "@holdfast/wire/api"
import type { RpcLines } from "@holdfast/wire/rpc"
import { Effect } from "effect"
import type { Conversations } from "../conversation/Conversations.ts"
import { problemOf, type Refusal } from "../conversation/DomainProblems.ts"

/** Every command except `get_state`, which changes nothing. */
export type Change = Exclude<RpcLines.RpcCommand, { readonly type: "get_state" }>

/** What a transport itself finds wrong with a command. */
export type RequestProblem = Problem.FileTooLarge | Problem.InvalidRequest | Problem.ShuttingDown

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
      const problem = isProblem(refusal) ? refusal : problemOf(refusal)
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
  conversationId: Ids.ConversationId,
  command: Change,
  origin: string
): Effect.Effect<RpcLines.RpcResponse["data"], Refusal> => {
  const steer = (steering: Parameters<Conversations["Service"]["steer"]>[0]) =>
    applied(conversations.steer(steering, origin))
  const common = { conversationId, ...("commandId" in command && defined({ commandId: command.commandId })) }
  switch (command.type) {
    case "prompt":
      return accepted(conversations.prompt(conversationId, { prompt: command.prompt, turnId: command.turnId }))
    case "retry":
      return accepted(conversations.retry(conversationId, { turnId: command.turnId }))
    case "abort":
      return applied(conversations.abort(conversationId))
    case "set_auto_retry":
      return Effect.as(conversations.setAutoRetry(conversationId, command.enabled), undefined)
    case "set_model":
      return Effect.as(conversations.setModel(conversationId, command.model), undefined)
    case "set_tool_answers":
      return Effect.as(conversations.setToolAnswers(conversationId, command.toolAnswers), undefined)
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
    case "answer_tool": {
      const { always, approve, reason, toolCallId } = command
      return steer({ type: "answer-tool", ...common, toolCallId, approve, ...defined({ always, reason }) })
    }
    default:
      return command satisfies never
  }
}

// --- internal

const isProblem = (refusal: Refusal | RequestProblem): refusal is RequestProblem =>
  refusal instanceof Problem.FileTooLarge ||
  refusal instanceof Problem.InvalidRequest ||
  refusal instanceof Problem.ShuttingDown

type Response<Data> = Omit<RpcLines.RpcResponse, "data"> & { readonly data?: Data }

const BUG = "This is a bug in Holdfast, not in the command. The log has more."

const accepted = <E>(call: Effect.Effect<Ids.TurnId, E>) => Effect.map(call, (turnId) => ({ turnId }))

const applied = <E>(call: Effect.Effect<boolean, E>) => Effect.map(call, (applied) => ({ applied }))
