/**
 * A context that was too long, made smaller (P19).
 *
 * Z1. What comes of it is a record, like an attempt's; its number is the next after the attempt that was too long, so that
 *     decisions and waits about it have names of their own.
 * Z2. The history loses nothing: a message that stands for others is added to it, and `ModelContext` reads it.
 * Z3. Nobody hears a summary as it comes. A process that dies over one has shown nothing, and asks for it again.
 */
import { Failure, Ids, Message } from "@holdfast/wire"
import { Clock, Effect, Random, Schema } from "effect"
import * as Attempt from "./Attempt.ts"
import type { Compacted, Compactor } from "./Compactor.ts"
import * as Observer from "./Observer.ts"
import type { ProviderRequest } from "./Provider.ts"
import * as Recovery from "./Recovery.ts"
import * as Summary from "./Summary.ts"
import type { TurnState } from "./TurnState.ts"
import type { TurnParked } from "./TurnParked.ts"
import type { TurnStopped } from "./TurnStopped.ts"

/** What came of a compaction, as it is recorded. `endedAt` is in epoch milliseconds. */
export const CompactionRecord = Schema.Union([
  Schema.TaggedStruct("Compacted", {
    summary: Schema.String,
    /** The last message that the summary stands for. */
    upTo: Ids.MessageId,
    usage: Schema.optionalKey(Message.Usage),
    endedAt: Schema.Number
  }),
  /** There is nothing that can be left out. */
  Schema.TaggedStruct("Nothing", {
    /** That the older part is too long itself, where a call of a model has found that out. */
    failure: Schema.optionalKey(Failure.Failure),
    body: Schema.optionalKey(Attempt.Body),
    endedAt: Schema.Number
  }),
  Schema.TaggedStruct("Failed", {
    failure: Failure.Failure,
    body: Schema.optionalKey(Attempt.Body),
    /** Drawn for the decision about this failure (`Spent.spread`). */
    spread: Schema.Number,
    endedAt: Schema.Number
  })
])
export type CompactionRecord = typeof CompactionRecord.Type

/** What follows: the next attempt, as the number after `n`, or none. */
export type Result =
  | { readonly _tag: "Compacted"; readonly n: number }
  | { readonly _tag: "Nothing" }
  | ({ readonly _tag: "GaveUp" } & Recovery.GaveUp)

/** Makes the context of the turn's step smaller, over as many calls as it takes; `from` is the number of the first. */
export const run = Effect.fnUntraced(function* (
  recovery: Recovery.Recovery,
  compactor: Compactor["Service"],
  from: number,
  messages: ProviderRequest["messages"]
): Effect.fn.Return<Result, TurnParked | TurnStopped> {
  const { turn } = recovery
  for (let n = from; ; n++) {
    const record = yield* turn.ports.checkpoint.run(
      `step/${turn.step}/compaction/${n}`,
      CompactionRecord,
      Observer.compaction(
        turn,
        n,
        Effect.suspend(() => make(turn, compactor, n, messages))
      )
    )
    if (record._tag !== "Nothing" || record.failure !== undefined) turn.attempts++
    if (record._tag === "Failed" && record.failure.shared === true) turn.shared++
    if (record._tag === "Nothing") return { _tag: "Nothing" }
    if (record._tag === "Compacted") {
      yield* apply(turn, record, messages)
      return { _tag: "Compacted", n }
    }
    const gaveUp = yield* Recovery.after(recovery, n, { ...record, contentSeen: false }, messages)
    if (gaveUp !== undefined) return { _tag: "GaveUp", ...gaveUp }
  }
})

// --- internal

const make = Effect.fnUntraced(function* (
  turn: TurnState,
  compactor: Compactor["Service"],
  attempt: number,
  messages: ProviderRequest["messages"]
): Effect.fn.Return<CompactionRecord, TurnStopped> {
  const { conversationId, turnId, system } = turn.input
  const { credential, target } = turn.route
  const { maxResponseCharacters } = turn.input.limits ?? {}
  const result = yield* Effect.suspend(() =>
    compactor.compact({
      conversationId,
      turnId,
      step: turn.step,
      attempt,
      target,
      messages,
      ...(credential === undefined ? undefined : { credential }),
      ...(system === undefined ? undefined : { system }),
      ...(maxResponseCharacters === undefined ? undefined : { maxResponseCharacters })
    })
  ).pipe(
    Effect.map((compacted) => checked(compacted, messages)),
    Effect.catchCause((cause) => Effect.succeed(Attempt.brokenOf(cause)))
  )
  const endedAt = yield* Clock.currentTimeMillis
  if (result === undefined) return { _tag: "Nothing", endedAt }
  if ("summary" in result) return { _tag: "Compacted", ...result, endedAt }
  if ("_tag" in result) return yield* result
  if (result.failure.reason === "context-overflow") return { _tag: "Nothing", ...result, endedAt }
  return { _tag: "Failed", ...result, spread: yield* Random.next, endedAt }
})

/** A summary that stands for no message of the context is a bug of whoever made it. */
const checked = (compacted: Compacted | undefined, messages: ProviderRequest["messages"]): Compacted | undefined => {
  if (compacted === undefined) return undefined
  const last = messages.find(({ id }) => id === compacted.upTo)
  if (last === undefined || Summary.isSummary(last)) throw new Error(`There is no message ${compacted.upTo} to sum up.`)
  return compacted
}

/** Z2 */
const apply = (
  turn: TurnState,
  { endedAt, summary, upTo, usage }: Extract<CompactionRecord, { readonly _tag: "Compacted" }>,
  messages: ProviderRequest["messages"]
): Effect.Effect<void, TurnStopped> =>
  turn.persist(() => {
    turn.spend(usage)
    const stoodFor = messages.findIndex(({ id }) => id === upTo) + 1
    return [
      turn.event({ type: "compaction", summary, messages: stoodFor }),
      turn.add({ ...turn.told(`${PREFACE}\n\n${summary}`, endedAt), summary: { upTo } })
    ]
  })

const PREFACE = "The conversation until here, summed up, because it had become too long:"
