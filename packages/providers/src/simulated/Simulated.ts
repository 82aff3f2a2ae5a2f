/**
 * The simulated provider inside this process: the kernel's `Provider` port, played from a script.
 *
 * V1. It fails as an adapter fails: error statuses and errors inside a stream are emitted, connections that break fail the
 *     stream, and both are classified by the same classifier, from the same bodies, as a real provider's.
 * V2. Time is the Clock's, and nothing else delays a token.
 * V3. An outage begins when the prompt was given, which is in the request: it goes on over a restart as if there had been none.
 */
import { type Opening, Provider } from "@holdfast/kernel"
import { Classification } from "@holdfast/policy"
import { Failure, Message } from "@holdfast/wire"
import { Array as Arr, Cause, Clock, Effect, Layer, type Pull, Result, Stream } from "effect"
import * as Calls from "../Calls.ts"
import * as Conversation from "./Conversation.ts"
import { Cue } from "./Cue.ts"
import * as Description from "./Description.ts"
import * as ErrorBody from "./ErrorBody.ts"
import * as Performance from "./Performance.ts"
import * as ToolArguments from "../ToolArguments.ts"
import * as Syntax from "./Syntax.ts"

/** The newcomer's model. */
export const DEFAULT_MODEL = Syntax.DEFAULT

/** Says in one sentence what turns will meet with a model; fails where its name is no script. */
export const describe = (model: string): Result.Result<string, Syntax.NotUnderstood> =>
  Result.map(Syntax.parse(model), Description.describe)

/** A simulated provider with a memory of its own. */
export const make: Effect.Effect<Provider.Provider["Service"]> = Effect.sync(() => {
  const begin = Performance.make()
  return {
    stream: (request) =>
      Calls.make(({ now }, listener) => {
        const cues = Result.getOrElse(begin(readRequest(request, now()), now()), noSuchModel)[Symbol.iterator]()
        const first = cues.next()
        const refusal = first.done === true ? undefined : refusalOf(first.value, now())
        if (refusal !== undefined) listener.refused(refusal)
        else listener.answered({ rest: Stream.fromPull(Effect.sync(() => played(first, cues, request))), cancel })
        return cancel
      })
  }
})

/** The port to it. */
export const layer: Layer.Layer<Provider.Provider> = Layer.effect(Provider.Provider, make)

// --- internal

const readRequest = (request: Provider.ProviderRequest, now: number): Performance.Request => {
  const prompt = request.messages.findLast((message) => message.role === "user")
  return {
    turn: `${request.conversationId}/${request.turnId}`,
    model: request.target.model,
    prompt: prompt === undefined ? "" : Message.textOf(prompt),
    afterTool: request.messages.at(-1)?.role === "tool",
    tools: request.tools.map((tool) => tool.name),
    inputTokens: () => {
      let inputTokens = Conversation.tokens(request.system ?? "").length
      for (const message of request.messages) inputTokens += Conversation.tokens(Message.textOf(message)).length
      return inputTokens
    },
    origin: { startedAt: prompt?.createdAt ?? now, attempts: request.step + request.attempt }
  }
}

/** What a provider says to a model's name that it does not know. */
const noSuchModel = ({ message }: Syntax.NotUnderstood): Iterable<Cue> => {
  const text = JSON.stringify(ErrorBody.envelope("model", "openai", message))
  return [Cue.Respond({ status: 404, headers: [], body: { text } })]
}

type Events = ReadonlyArray<Provider.ProviderEvent>
type EventPull = Pull.Pull<Arr.NonEmptyReadonlyArray<Provider.ProviderEvent>, Failure.ProviderFailure>

/** Nothing is held for a scene. */
const cancel = (): void => {}

/** One cue at a time: a token must not wait for the one behind it. `first` has been taken already. */
const played = (
  first: IteratorResult<Cue, unknown>,
  cues: Iterator<Cue, unknown>,
  request: Provider.ProviderRequest
): EventPull => {
  let taken: typeof first | undefined = first
  const next: EventPull = Effect.suspend(() => {
    const { done, value } = taken ?? cues.next()
    taken = undefined
    return done === true
      ? Cause.done()
      : Effect.flatMap(perform(value, request), (events) =>
          Arr.isReadonlyArrayNonEmpty(events) ? Effect.succeed(events) : next
        )
  })
  return next
}

/** How a cue ends a request that it lets fail; `undefined` for the others. */
const refusalOf = (cue: Cue, now: number): Opening.Refusal | undefined => {
  switch (cue._tag) {
    case "Respond":
      // A 200 without a body is a stream that has ended before it began.
      if (cue.status === 200 && cue.body === "empty") return thrown(Classification.incomplete())
      return emitted(
        ofResponse(cue.status, cue.headers, ErrorBody.render(cue.body, cue.status, formatOf(cue.body)).text, now)
      )
    case "Fail": {
      const data = JSON.stringify(ErrorBody.envelope(cue.error, formatOf(cue.error)))
      return emitted(Classification.ofStreamError({ data, headers: {}, now }))
    }
    case "Reset":
      return thrown(Classification.ofThrown(new BrokenConnection("read ECONNRESET", "ECONNRESET"), now))
    case "Cut":
      return thrown(Classification.ofThrown(new BrokenConnection("other side closed", "UND_ERR_SOCKET"), now))
    case "End":
      return thrown(Classification.incomplete())
    default:
      return undefined
  }
}

const perform = (cue: Cue, request: Provider.ProviderRequest): Effect.Effect<Events, Failure.ProviderFailure> => {
  switch (cue._tag) {
    case "Respond":
    case "Fail":
    case "Reset":
    case "Cut":
    case "End":
      return Effect.flatMap(Clock.currentTimeMillis, (now): Effect.Effect<Events, Failure.ProviderFailure> => {
        const refusal = refusalOf(cue, now)
        return refusal === undefined ? Effect.succeed([]) : Calls.emitted(refusal)
      })
    case "Silence":
      return Effect.never
    case "Wait":
      return Effect.as(Effect.sleep(cue.ms), [])
    case "Open":
    case "HalfToolCall":
      // Seen on a wire alone: an adapter passes on neither a preamble nor half a tool call (C7, C8).
      return Effect.succeed([])
    case "Reasoning":
      return Effect.succeed([{ type: "reasoning-delta", delta: cue.token }])
    case "Text":
      return Effect.succeed([{ type: "text-delta", delta: cue.token }])
    case "ToolCall":
      return Effect.succeed([
        ToolArguments.toCall({
          // Unique in a conversation, as real ones are, and the same in a turn that is run again.
          toolCallId: `call_${request.turnId}_${request.step}`,
          toolName: cue.name,
          text: cue.input,
          wasCut: false
        })
      ])
    case "Finish":
      return Effect.succeed([
        { type: "usage", usage: cue.usage },
        { type: "finish", finishReason: cue.finishReason }
      ])
    default:
      return cue satisfies never
  }
}

const emitted = (failure: Failure.Failure): Opening.Refusal => ({ type: "error", failure })

const thrown = (failure: Failure.Failure): Opening.Refusal => new Failure.ProviderFailure({ failure })

const ofResponse = (
  status: number,
  headers: ReadonlyArray<readonly [name: string, value: string]>,
  body: string,
  now: number
): Failure.Failure => Classification.ofResponse({ status, headers: Object.fromEntries(headers), body, now })

/** In this process each error speaks in the words of the provider that is known for it. */
const formatOf = (body: ErrorBody.ErrorBody): ErrorBody.Format => (body === "overloaded" ? "anthropic" : "openai")

/** What Node throws when a connection breaks. */
class BrokenConnection extends Error {
  readonly code: string

  constructor(message: string, code: string) {
    super(message)
    this.code = code
  }
}
