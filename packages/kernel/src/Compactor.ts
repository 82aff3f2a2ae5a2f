/**
 * The port that makes a context smaller which is too long for its model (P19), and its default: the model itself sums up the
 * older messages.
 */
import { Failure, type Ids, type Message } from "@holdfast/wire"
import { Context, Effect, Layer } from "effect"
import * as Attempt from "./internal/Attempt.ts"
import { Content } from "./internal/Content.ts"
import type { EventSink } from "./EventSink.ts"
import { Provider, type ProviderRequest } from "./Provider.ts"
import * as Summary from "./internal/Summary.ts"
import type { TurnStopped } from "./TurnStopped.ts"

/** A request that was too long. `attempt` counts on from the attempt that found that out. */
export type TooLong = Omit<ProviderRequest, "tools">

/** A context that was made smaller: what stands for its older messages. */
export interface Compacted {
  readonly summary: string
  /** The last of the request's messages that the summary stands for; not itself a summary. */
  readonly upTo: Ids.MessageId
  /** What the summary cost, where it cost something. */
  readonly usage?: Message.Usage
}

/** Makes a context smaller that is too long for its model (P19). */
export class Compactor extends Context.Service<
  Compactor,
  {
    /**
     * Sums up the older messages; `undefined`: nothing can be left out.
     *
     * **Details**
     *
     * Makes one call of a model at most. A failure is decided about, waited for and told like that of an attempt, in the same
     * budget; then it is asked again. One that says `context-overflow` means that nothing can be compacted.
     *
     * **Gotchas**
     *
     * A call of a tool and its results stand for each other: `upTo` must not come between them.
     */
    readonly compact: (request: TooLong) => Effect.Effect<Compacted | undefined, Failure.ProviderFailure | TurnStopped>
  }
>()("@holdfast/kernel/Compactor") {}

/** Asks the target of the turn for the summary. Nobody hears the summary as it comes. */
export const make = (provider: Provider["Service"], options: Summary.Options = {}): Compactor["Service"] => ({
  compact: (request) => summarise(provider, request, options)
})

/** The same as a layer. */
export const summarising = (options: Summary.Options = {}): Layer.Layer<Compactor, never, Provider> =>
  Layer.effect(
    Compactor,
    Effect.map(Provider, (provider) => make(provider, options))
  )

// --- internal

const summarise = Effect.fnUntraced(function* (
  provider: Provider["Service"],
  request: TooLong,
  options: Summary.Options
): Effect.fn.Return<Compacted | undefined, Failure.ProviderFailure | TurnStopped> {
  const plan = Summary.plan(request.messages, options)
  if (plan === undefined) return undefined
  const asked = { ...request, system: Summary.SYSTEM, messages: [plan.prompt], tools: [] }
  const outcome = yield* Attempt.run(provider, UNHEARD, asked, new Content(request.maxResponseCharacters), Effect.void)
  if (outcome._tag === "Failed") {
    const { body, failure } = outcome
    return yield* new Failure.ProviderFailure(typeof body === "string" ? { failure, body } : { failure })
  }
  const summary = outcome.content
    .map((part) => (part.type === "text" ? part.text : ""))
    .join("")
    .trim()
  if (summary === "") return yield* new Failure.ProviderFailure({ failure: empty })
  return { summary, upTo: plan.upTo, ...(outcome.usage === undefined ? undefined : { usage: outcome.usage }) }
})

const UNHEARD: EventSink["Service"] = { live: () => undefined, persist: () => Effect.void }

const empty: Failure.Failure = { reason: "invalid-response", message: "The summary was empty.", retryable: true }
