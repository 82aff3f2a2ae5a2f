/**
 * The simulated provider in this process: the kernel's `Provider` port over a script.
 *
 * Only the Clock delays tokens. An outage begins when the prompt was submitted, a time that the request contains, so it continues over a
 * restart.
 *
 * It fails as an adapter does: error statuses and errors inside a stream are emitted, broken connections fail the stream. Both are
 * classified by the same classifier, from the same bodies, as for a real provider.
 */
import { Provider } from "@holdfast/kernel"
import { ProviderCall } from "@holdfast/kernel/host"
import { ToolArguments } from "@holdfast/providers"
import { defined, type Failure, Message } from "@holdfast/wire"
import * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Pull from "effect/Pull"
import * as Result from "effect/Result"
import * as AnswerText from "./AnswerText.ts"
import * as Refusal from "./Refusal.ts"
import type { ResponseAction } from "./ResponseAction.ts"
import * as Description from "./script/Description.ts"
import * as Responder from "./Responder.ts"
import * as Syntax from "./script/Syntax.ts"

/** The model of a new installation. */
export const DEFAULT_MODEL = Syntax.DEFAULT

/** Describes in one sentence how a model responds to each turn; fails where its name is no script. */
export const describe = (model: string): Result.Result<string, Syntax.NotUnderstood> =>
  Result.map(Syntax.parse(model), Description.describe)

/** The language of scripts in one line, for errors. */
export const LANGUAGE = Syntax.IN_A_LINE

/** A simulated provider that counts its own turns. */
export const make: Effect.Effect<Provider.Provider["Service"]> = Effect.suspend(() => makeOpenedAt(undefined))

/** The same; the clock of every script with outages by the clock began at `openedAt`, in epoch milliseconds. */
export const makeOpenedAt = (openedAt: number | undefined): Effect.Effect<Provider.Provider["Service"]> =>
  Effect.sync(() => {
    const respond = Responder.make(defined({ openedAt }))
    return ProviderCall.provider((request, world, listener) => {
      const now = world.now()
      const actions = Result.match(respond(readRequest(request, now), now), {
        onFailure: Refusal.noSuchModel,
        onSuccess: (response) => response.actions
      })[Symbol.iterator]()
      const first = actions.next()
      const refusal = first.done === true ? undefined : Refusal.of(first.value, world.now())
      if (refusal !== undefined) return ProviderCall.refuse(listener, refusal)
      return ProviderCall.pulled(world, listener, () => Effect.succeed(pullOf(first, actions, request)))
    })
  })

/** The size of a request in this process: the bytes of its instructions and messages as JSON, as a provider gets them. */
export const bytesOf = ({ messages, system }: Pick<Provider.ProviderRequest, "messages" | "system">): number =>
  new TextEncoder().encode(JSON.stringify({ system, messages })).length

/** Provides it as the kernel's port. */
export const layer: Layer.Layer<Provider.Provider> = Layer.effect(Provider.Provider, make)

// --- internal

const readRequest = (request: Provider.ProviderRequest, now: number): Responder.SimulatedRequest => {
  const prompt = request.messages.findLast((message) => message.role === "user")
  return {
    turn: `${request.conversationId}/${request.turnId}`,
    model: request.target.model,
    prompt: prompt === undefined ? "" : Message.textOf(prompt),
    afterTool: request.messages.at(-1)?.role === "tool",
    tools: request.tools.map((tool) => tool.name),
    inputTokens: () => {
      let inputTokens = AnswerText.tokens(request.system ?? "").length
      for (const message of request.messages) inputTokens += AnswerText.tokens(Message.textOf(message)).length
      return inputTokens
    },
    bytes: () => bytesOf(request),
    origin: { startedAt: prompt?.createdAt ?? now, attempts: request.step + request.attempt }
  }
}

type Events = ReadonlyArray<Provider.ProviderEvent>
type EventPull = Pull.Pull<Arr.NonEmptyReadonlyArray<Provider.ProviderEvent>, Failure.ProviderFailure>

/** Performs one action at a time: a token must not wait for the next one. `first` has been taken already. */
const pullOf = (
  first: IteratorResult<ResponseAction, unknown>,
  actions: Iterator<ResponseAction, unknown>,
  request: Provider.ProviderRequest
): EventPull => {
  let taken: typeof first | undefined = first
  const next: EventPull = Effect.suspend(() => {
    const { done, value } = taken ?? actions.next()
    taken = undefined
    return done === true
      ? Cause.done()
      : Effect.flatMap(eventsOf(value, request), (events) =>
          Arr.isReadonlyArrayNonEmpty(events) ? Effect.succeed(events) : next
        )
  })
  return next
}

const eventsOf = (
  action: ResponseAction,
  request: Provider.ProviderRequest
): Effect.Effect<Events, Failure.ProviderFailure> => {
  switch (action._tag) {
    case "Respond":
    case "Fail":
    case "Reset":
    case "Cut":
    case "End":
      return Effect.flatMap(Clock.currentTimeMillis, (now): Effect.Effect<Events, Failure.ProviderFailure> => {
        const refusal = Refusal.of(action, now)
        if (refusal === undefined) return Effect.succeed([])
        return "_tag" in refusal ? Effect.fail(refusal) : Effect.succeed([refusal])
      })
    case "Silence":
      return Effect.never
    case "Wait":
      return Effect.as(Effect.sleep(action.ms), [])
    case "Open":
    case "HalfToolCall":
      // Visible on a socket only: an adapter passes on neither a preamble nor half a tool call (C7, C8).
      return Effect.succeed([])
    case "Reasoning":
      return Effect.succeed([{ type: "reasoning-delta", delta: action.token }])
    case "Text":
      return Effect.succeed([{ type: "text-delta", delta: action.token }])
    case "ToolCall":
      return Effect.succeed([
        ToolArguments.toCall({
          // Unique in a conversation, as real ids are, and the same in a replayed turn.
          toolCallId: `call_${request.turnId}_${request.step}`,
          toolName: action.name,
          text: action.input,
          wasCut: false
        })
      ])
    case "Finish":
      return Effect.succeed([
        { type: "usage", usage: action.usage },
        { type: "finish", finishReason: action.finishReason }
      ])
    default:
      return action satisfies never
  }
}
