/** The port that shortens a context which is too long for its model (P19). */
import { defined, Failure, type Ids, type Message } from "@holdfast/wire"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Attempt from "../internal/calls/Attempt.ts"
import { Content } from "../internal/calls/Content.ts"
import type { EventSink } from "./EventSink.ts"
import { Provider, type ProviderRequest } from "./Provider.ts"
import * as Summary from "../internal/calls/Summary.ts"
import type { TurnStopped } from "./TurnStopped.ts"

/** A request that was too long. `attempt` continues the count of the attempt that failed with it. */
export type TooLong = Omit<ProviderRequest, "tools">

/** The summary that replaces the older messages of a context. */
export interface Compacted {
  readonly summary: string
  /** The last message of the request that the summary replaces; not itself a summary. */
  readonly upTo: Ids.MessageId
  /** The tokens that the summary cost; absent: none. */
  readonly usage?: Message.Usage
}

/** Shortens a context that is too long for its model (P19). The default, `make`, asks the model itself for a summary. */
export class Compactor extends Context.Service<
  Compactor,
  {
    /**
     * Sums up the older messages; `undefined`: no message can be left out.
     *
     * **Details**
     *
     * Makes one model call at most. Its failure is handled like that of an attempt: the decision, the wait and the events are the same,
     * within the same budget; then `compact` runs again. A failure with the reason `context-overflow` means that nothing can be compacted.
     *
     * **Gotchas**
     *
     * A tool call and its results belong together: `upTo` must not separate them.
     */
    readonly compact: (request: TooLong) => Effect.Effect<Compacted | undefined, Failure.ProviderFailure | TurnStopped>
  }
>()("@holdfast/kernel/Compactor") {}

/** Asks the target of the turn for the summary. Clients receive no part of it while it streams. */
export const make = (provider: Provider["Service"], options: Summary.Options = {}): Compactor["Service"] => ({
  compact: (request) => summarise(provider, request, options)
})

/** `make` as a layer, over the `Provider` in the context. */
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
  const call = yield* Attempt.run(provider, UNHEARD, asked, new Content(request.maxResponseCharacters), Effect.void)
  const outcome = call.outcome(0, () => 0) // the time and the draw are those of the compaction's record
  if (outcome._tag === "Failed") {
    const { body, failure } = outcome
    return yield* new Failure.ProviderFailure(typeof body === "string" ? { failure, body } : { failure })
  }
  const summary = outcome.content
    .map((part) => (part.type === "text" ? part.text : ""))
    .join("")
    .trim()
  if (summary === "") return yield* new Failure.ProviderFailure({ failure: empty })
  return { summary, upTo: plan.upTo, ...defined({ usage: outcome.usage }) }
})

const UNHEARD: EventSink["Service"] = { live: () => undefined, persist: () => Effect.void }

const empty: Failure.Failure = { reason: "invalid-response", message: "The summary was empty.", retryable: true }
