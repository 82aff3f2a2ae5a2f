/**
 * One conversation as an ACP session: its events to the client, prompts from it, and its answers about tool calls.
 *
 * The session ends with the process. Its turns stay on disk, unsealed, and continue when it is loaded again.
 *
 * AcpSession.S1. Updates are sent in the order of the events, one after the other. A prompt is answered after the last update of its turn.
 * AcpSession.S2. A tool call that needs approval is a permission request, once. The request is withdrawn when the call was answered elsewhere.
 */
import {
  type AgentContext,
  methods,
  RequestError,
  type RequestPermissionRequest,
  type SessionUpdate,
  type StopReason
} from "@agentclientprotocol/sdk"
import type { Conversation } from "@holdfast/client/effect"
import { type Ids, type Prompt, type TurnEvent } from "@holdfast/wire"
import { Deferred, Effect, Stream } from "effect"
import * as NewId from "../storage/NewId.ts"
import * as LocalTime from "../base/text/LocalTime.ts"
import * as AcpUpdates from "./AcpUpdates.ts"

/** Runs the model again after an error or an abort (rule M1). */
const RETRY = { name: "retry", description: "Run the model again after an error or an abort" }

/** A session. */
export type AcpSession = Effect.Success<ReturnType<typeof open>>

/** Opens a session on a conversation, and sends its history. */
export const open = Effect.fnUntraced(function* (conversation: Conversation, client: AgentContext) {
  const conversationId = conversation.id
  const scope = yield* Effect.scope
  const own = new Map<Ids.TurnId, Deferred.Deferred<TurnEvent.TurnEnd>>()
  const permissions = new Map<string, AbortController>()
  const inputs = new Map<string, TurnEvent.ToolCall>()
  const replayed = Deferred.makeUnsafe<void>()
  let left = (yield* refused(conversation.getMessages)).length
  let transcript = AcpUpdates.empty

  const update = (update: SessionUpdate) => send(client, conversationId, update)

  const settle = (isKept: (key: string) => boolean): void => {
    for (const [key, controller] of permissions)
      if (!isKept(key)) {
        permissions.delete(key)
        controller.abort()
      }
  }

  /** AcpSession.S2 */
  const permission = (key: string, { toolCallId, toolName }: TurnEvent.AskedCall, signal: AbortSignal) =>
    Effect.tryPromise(() => {
      const request: RequestPermissionRequest = {
        sessionId: conversationId,
        toolCall: { toolCallId: key, title: toolName, status: "pending", rawInput: inputs.get(key)?.input },
        options: OPTIONS
      }
      const options = { cancellationSignal: signal, stopWaitingOnCancel: true }
      return client.request(methods.client.session.requestPermission, request, options)
    }).pipe(
      Effect.mapError(({ cause }) => cause as Error),
      Effect.flatMap(({ outcome }) => {
        permissions.delete(key)
        if (outcome.outcome !== "selected") return Effect.void // the turn is being cancelled
        const approve = ["allow", "allow-always"].includes(outcome.optionId)
        return conversation.answerTool({ toolCallId, approve, always: outcome.optionId.endsWith("-always") })
      }),
      Effect.catch(({ message }) =>
        signal.aborted
          ? Effect.void
          : Effect.logWarning(`The client did not answer about the tool call ${toolCallId}. ${message}`)
      )
    )

  const ask = (event: TurnEvent.ProviderRetry) =>
    Effect.suspend(() => {
      const calls = event.asks?.calls ?? []
      const keyOf = ({ toolCallId }: TurnEvent.AskedCall) => AcpUpdates.idOf({ turnId: event.turnId, toolCallId })
      const open = new Map(calls.map((call) => [keyOf(call), call]))
      settle((key) => open.has(key))
      return Effect.forEach(
        open,
        ([key, call]) => {
          if (permissions.has(key)) return Effect.succeed(undefined)
          const controller = new AbortController()
          permissions.set(key, controller)
          return Effect.forkIn(permission(key, call, controller.signal), scope)
        },
        { discard: true }
      )
    })

  const take = Effect.fnUntraced(function* (event: TurnEvent.TurnEvent) {
    const world = { isOwn: (id: Ids.TurnId) => own.has(id), at: LocalTime.toSeconds(Date.now()) }
    const [next, updates] = AcpUpdates.of(transcript, event, world)
    transcript = next
    for (const each of updates) yield* update(each)
    switch (event.type) {
      case "tool-call":
        inputs.set(AcpUpdates.idOf(event), event)
        break
      case "tool-result":
        inputs.delete(AcpUpdates.idOf(event))
        break
      case "provider-retry":
        yield* ask(event)
        break
      case "message":
        if (--left <= 0) Deferred.doneUnsafe(replayed, Effect.void)
        break
      case "retry-end":
        settle(() => false)
        break
      case "turn-end": {
        if (event.queued !== true) settle(() => false)
        const waiting = own.get(event.turnId)
        if (waiting !== undefined) Deferred.doneUnsafe(waiting, Effect.succeed(event))
        break
      }
      default:
    }
  })

  if (left === 0) Deferred.doneUnsafe(replayed, Effect.void)
  yield* Stream.runForEach(conversation.events(), take).pipe(
    Effect.catch(({ message }) => Effect.logError(message)),
    Effect.forkIn(scope)
  )

  return {
    conversation,
    /** Runs a turn to its end (AcpSession.S1), and `isAccepted` once it is on disk. Fails with an error for the client. */
    prompt: Effect.fnUntraced(function* (prompt: Prompt.Prompt, isAccepted: Effect.Effect<void>) {
      const turnId = NewId.turn()
      const end = Deferred.makeUnsafe<TurnEvent.TurnEnd>()
      own.set(turnId, end)
      yield* update({ sessionUpdate: "available_commands_update", availableCommands: [RETRY] })
      yield* refused(
        AcpUpdates.isCommand(prompt, RETRY.name)
          ? conversation.retry({ turnId })
          : conversation.prompt(prompt, { turnId })
      )
      yield* isAccepted
      const { error, status } = yield* Deferred.await(end)
      if (status === "failed")
        return yield* Effect.fail(new RequestError(FAILED, error?.message ?? "The turn failed.", error))
      return status === "aborted" ? "cancelled" : (STOPS[transcript.finish ?? "stop"] ?? "end_turn")
    }),
    /** Ends the turn that runs: its retries first (rule P14). */
    cancel: Effect.ignore(conversation.abort()),
    /** Done when the history that was on disk has been sent. */
    isReplayed: Deferred.await(replayed)
  }
})

/** Turns a failure into an error for the client. */
export const refused = <A, R>(
  effect: Effect.Effect<A, { readonly message: string; readonly detail?: string }, R>
): Effect.Effect<A, RequestError, R> =>
  Effect.mapError(effect, ({ detail, message }) => new RequestError(INVALID, detail ?? message))

// --- internal

/** JSON-RPC: an internal error, and wrong parameters. */
const FAILED = -32603
const INVALID = -32602

const OPTIONS: RequestPermissionRequest["options"] = [
  { optionId: "allow", name: "Allow", kind: "allow_once" },
  { optionId: "allow-always", name: "Always allow in this conversation", kind: "allow_always" },
  { optionId: "reject", name: "Reject", kind: "reject_once" },
  { optionId: "reject-always", name: "Always reject in this conversation", kind: "reject_always" }
]

const STOPS: { readonly [finish: string]: StopReason } = { length: "max_tokens", "content-filter": "refusal" }

/** A client that is gone reads nothing: the connection has ended then, and with it the process. */
const send = (client: AgentContext, sessionId: string, update: SessionUpdate): Effect.Effect<void> =>
  Effect.ignore(Effect.tryPromise(() => client.notify(methods.client.session.update, { sessionId, update })))
