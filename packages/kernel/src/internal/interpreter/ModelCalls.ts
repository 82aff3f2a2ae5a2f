/**
 * Makes the calls of a turn: attempts, and the summaries of a context that is too long.
 *
 * ModelCalls.C1. A body that an endpoint sends repeatedly is recorded in full once a step: an outage of a night does not fill the disk with its
 *     error page.
 * ModelCalls.C2. Clients receive no part of a summary. If the process dies during one, nothing was shown, and the summary is requested again
 *     (P19).
 */
import * as Effect from "effect/Effect"
import * as CallFailure from "../../calls/CallFailure.ts"
import type { Compacted, Compactor } from "../../ports/Compactor.ts"
import type { ProviderRequest } from "../../ports/Provider.ts"
import * as Records from "../../records/Records.ts"
import type { Router } from "../../ports/Router.ts"
import * as Summary from "../calls/Summary.ts"
import type { TurnStopped } from "../../ports/TurnStopped.ts"
import * as Attempt from "../calls/Attempt.ts"
import { Content } from "../calls/Content.ts"
import * as Judging from "../machine/Judging.ts"
import type { Ledger } from "../machine/Ledger.ts"
import type { Command } from "../machine/OpenCommands.ts"
import * as Directives from "../../turn/Directive.ts"
import * as Observing from "./Observing.ts"
import type { Run } from "./Run.ts"

type Call = Extract<Command, { readonly _tag: "Call" }>
type Compact = Extract<Command, { readonly _tag: "Compact" }>
type Made = Attempt.Made

/** Makes an attempt, or records that one is void (X2). */
export const attempt = (run: Run, call: Call): Effect.Effect<Records.AttemptOutcome, TurnStopped> =>
  call.isLost
    ? Observing.lost(
        run,
        call.number,
        Effect.sync(() => ({ _tag: "Lost", endedAt: run.now() }))
      )
    : Effect.suspend(() => make(run, call))

/** Asks the compactor for a summary of the older messages. */
export const compaction = (
  run: Run,
  { number, request }: Compact
): Effect.Effect<Records.CompactionOutcome, TurnStopped> => {
  const { compactor } = run.ports
  if (compactor === undefined) return Effect.sync(() => ({ _tag: "Nothing", endedAt: run.now() }))
  return Observing.compaction(run, number, sum(run, compactor, request))
}

/** Returns an outcome as it is recorded: a body that the step has already is replaced by `true` (ModelCalls.C1). */
export const once = <Outcome extends Made>({ step }: Pick<Ledger, "step">, outcome: Outcome): Outcome =>
  outcome._tag === "Failed" && outcome.body !== undefined && outcome.body === step.lastBody
    ? { ...outcome, body: true as const }
    : outcome

// --- internal

/** Asks whether content that may be void was received (X7). The answer is part of the outcome, so it holds after a crash too. */
const withdrawn = ({ ports: { sink, strategy } }: Run, outcome: Made): Made => {
  if (outcome._tag !== "Failed" || !outcome.contentSeen || !Directives.isOfTransport(outcome.failure)) return outcome
  const isUnseen = strategy?.midStream?.(outcome.failure) === "unseen" && sink.withdraw?.() === true
  return isUnseen ? { ...outcome, unseen: true } : outcome
}

const make = (run: Run, { begins, isJudged, number, request, step }: Call): Effect.Effect<Made, TurnStopped> => {
  const { checkpoint, provider, router, sink } = run.ports
  const content = new Content(request.maxResponseCharacters)
  run.call = { content, isMade: true }
  if (run.announced !== step) {
    run.announced = step
    run.live(begins)
  }
  // Suspended: the fiber keeps this effect, and would keep the write with it.
  const mark = Effect.suspend(() => checkpoint.mark?.(Records.nameOf("Content", step, number)) ?? Effect.void)
  const attempted = Observing.attempt(run, request, mark, (mark) => {
    return Effect.map(Attempt.run(provider, sink, request, content, mark), (outcome) => {
      const made = once(run.ledger, withdrawn(run, outcome))
      return isJudged ? judged(run, content, made) : made
    })
  })
  return router?.answered === undefined ? attempted : answered(run, attempted, router.answered)
}

/** Turns a rejected response into a failure. */
const judged = (run: Run, content: Content, outcome: Made): Made => {
  const { isFinal, turn } = run.ledger
  if (outcome._tag === "Failed") {
    const isBegun = content.cut.some((toolName) => Judging.isReport(turn.report, { toolName }))
    return isBegun ? { ...outcome, report: "incomplete" } : outcome // A12
  }
  const found = Judging.shortcoming(outcome, turn.report, isFinal)
  return found === undefined ? outcome : Judging.failedWith(outcome, found, run.draw())
}

/** Reports a success to the router; a complete response that was rejected counts as one (A9). */
const answered = (
  run: Run,
  attempted: Effect.Effect<Made, TurnStopped>,
  tell: NonNullable<Router["Service"]["answered"]>
): Effect.Effect<Made, TurnStopped> => {
  const { route } = run.ledger.routing
  const began = run.now()
  return Effect.tap(attempted, (outcome) =>
    outcome._tag === "Completed" || outcome.whole === true ? tell(route, began) : Effect.void
  )
}

const sum = Effect.fnUntraced(function* (
  run: Run,
  compactor: Compactor["Service"],
  request: Compact["request"]
): Effect.fn.Return<Records.CompactionOutcome, TurnStopped> {
  const result = yield* Effect.suspend(() => compactor.compact(request)).pipe(
    Effect.map((compacted) => checked(compacted, request.messages)),
    Effect.catchCause((cause) => Effect.succeed(CallFailure.brokenOf(cause)))
  )
  const endedAt = run.now()
  if (result === undefined) return { _tag: "Nothing", endedAt }
  if ("summary" in result) return { _tag: "Compacted", ...result, endedAt }
  if ("_tag" in result) return yield* result
  if (result.failure.reason === "context-overflow") return { _tag: "Nothing", ...result, endedAt }
  return { _tag: "Failed", ...result, spread: run.draw(), endedAt }
})

/** A summary that replaces no message of the context is a bug of the compactor. */
const checked = (compacted: Compacted | undefined, messages: ProviderRequest["messages"]): Compacted | undefined => {
  if (compacted === undefined) return undefined
  const last = messages.find(({ id }) => id === compacted.upTo)
  if (last === undefined || Summary.isSummary(last)) throw new Error(`There is no message ${compacted.upTo} to sum up.`)
  return compacted
}
