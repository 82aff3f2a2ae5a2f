/**
 * Performs the commands of a turn that take time, over its ports: calls of a model, questions to a router, compactions and tool calls.
 *
 * Each has a record in the end: a call, a compaction or a tool that fails, dies or interrupts itself is answered with its failure. The
 * turn stops if a port fails with `TurnStopped`. An interruption from outside ends the command without a record.
 *
 * A tool call that was running when its process died is not made again: the model receives `ModelContext.INTERRUPTED`. Tools that are
 * declared idempotent run again (X8). A report is judged instead of run, and a call that a person refused is answered with that.
 */
import { defined, JsonShape, type Message } from "@holdfast/wire"
import * as Effect from "effect/Effect"
import * as CallFailure from "../calls/CallFailure.ts"
import * as Attempt from "../internal/calls/Attempt.ts"
import { Content } from "../internal/calls/Content.ts"
import * as Summary from "../internal/calls/Summary.ts"
import * as Judging from "../internal/machine/Judging.ts"
import type { Ledger } from "../internal/machine/Ledger.ts"
import type { Command } from "../internal/machine/OpenCommands.ts"
import type { Compacted, Compactor } from "../ports/Compactor.ts"
import type { EventSink } from "../ports/EventSink.ts"
import type { Provider, ProviderRequest } from "../ports/Provider.ts"
import type { RetryStrategy } from "../ports/RetryStrategy.ts"
import type { Router } from "../ports/Router.ts"
import type { Toolbox, ToolOutcome } from "../ports/Toolbox.ts"
import type { TurnStopped } from "../ports/TurnStopped.ts"
import type * as Records from "../records/Records.ts"
import * as Directives from "../turn/Directive.ts"
import * as ModelContext from "../turn/ModelContext.ts"

/** The ports, with the time and chance of their host. */
export interface Ports {
  readonly provider: Provider["Service"]
  readonly toolbox: Toolbox["Service"]
  /** Receives the content of calls. */
  readonly sink: Pick<EventSink["Service"], "live" | "withdraw">
  readonly strategy: Pick<RetryStrategy["Service"], "midStream"> | undefined
  readonly router: Router["Service"] | undefined
  readonly compactor: Compactor["Service"] | undefined
  /** Returns the time, in epoch milliseconds. */
  readonly now: () => number
  /** Draws a number, from 0 (included) to 1 (excluded). */
  readonly draw: () => number
}

type Of<Tag extends Command["_tag"]> = Extract<Command, { readonly _tag: Tag }>

/** The life that performs a command. */
export interface Life {
  /** Its name (X8). */
  readonly life: string
  /** Filled while the stream of a call comes in. */
  readonly content?: Content | undefined
  /** Runs once, before the first content of a call leaves (X2). */
  readonly mark?: Effect.Effect<void, TurnStopped>
}

/** The content of a call. */
export type { Content }

/** Makes the content of a call that is about to be made. */
export const contentOf = ({ maxResponseCharacters }: Pick<ProviderRequest, "maxResponseCharacters">): Content =>
  new Content(maxResponseCharacters)

/** The content of a call under way, for a turn that is cut off. */
export const underWayOf = (content: Content): NonNullable<NonNullable<Records.Seal["cut"]>["said"]> => {
  const { usage } = content
  return { content: content.parts(), ...defined({ usage }) }
}

/** Performs a command that takes time, and returns the value of its record. `ledger` is that of the moment when the command was started. */
export const resultOf = (
  ports: Ports,
  ledger: Ledger,
  command: Command,
  life: Life
): Effect.Effect<Records.TurnRecord["value"], TurnStopped> => {
  switch (command._tag) {
    case "Call":
      return call(ports, ledger, command, life)
    case "Compact":
      return compaction(ports, command)
    case "Route":
    case "Decide":
      return asked(ports, command)
    case "RunTool":
      return tool(ports, ledger, command, life)
    default:
      throw notPerformed(command)
  }
}

/** A call that is read by a listener, for hosts that make calls without a fiber. */
export { Listening } from "../internal/calls/Attempt.ts"

/**
 * The outcome of a call that has ended, which began at `begunAt`, in epoch milliseconds; an effect for a router that learns of answers. A complete
 * response that was rejected counts as a success of the route (A9).
 */
export const outcomeOf = (
  ports: Ports,
  ledger: Ledger,
  { isJudged }: Of<"Call">,
  { call, begunAt }: { readonly call: Attempt.Listening; readonly begunAt: number }
): Attempt.Made | Effect.Effect<Attempt.Made, TurnStopped> => {
  const recorded = once(ledger, withdrawn(ports, call.outcome(ports.now(), ports.draw)))
  const made = isJudged ? judged(ports, ledger, call.content, recorded) : recorded
  const isAnswer = made._tag === "Completed" || made.whole === true
  const noted = isAnswer ? ports.router?.answered?.(ledger.routing.route, begunAt, ports.now()) : undefined
  return noted === undefined ? made : Effect.mapEager(noted, () => made)
}

// --- internal

const call = (
  ports: Ports,
  ledger: Ledger,
  command: Of<"Call">,
  { content = contentOf(command.request), mark = Effect.void }: Life
): Effect.Effect<Attempt.Made, TurnStopped> => {
  const begunAt = ports.now()
  return Effect.flatMap(Attempt.run(ports.provider, ports.sink, command.request, content, mark), (call) => {
    const outcome = outcomeOf(ports, ledger, command, { call, begunAt })
    return Effect.isEffect(outcome) ? outcome : Effect.succeed(outcome)
  })
}

/** A question to a router. */
const asked = (
  { now, router }: Pick<Ports, "now" | "router">,
  command: Of<"Route" | "Decide">
): Effect.Effect<Records.Beginning | Records.Directive, TurnStopped> => {
  const { question } = command
  if (router === undefined || question === undefined) throw notPerformed(command)
  if (command._tag === "Route") {
    const from = defined({ from: command.from })
    return Effect.mapEager(router.begin(question, now()), (beginning) => ({ ...beginning, ...from }))
  }
  const { situation } = command
  return Effect.mapEager(router.direct({ ...situation, now: now() }, question), (directive) =>
    Directives.marked(directive, situation)
  )
}

/** A command whose record follows at once (`Engine`). */
const notPerformed = ({ _tag }: Command) => new Error(`the command ${_tag} is none that a performer performs`)

const compaction = (
  { compactor, draw, now }: Ports,
  { request }: Of<"Compact">
): Effect.Effect<Records.CompactionOutcome, TurnStopped> => {
  const made = Effect.suspend(() => compactor?.compact(request) ?? Effect.undefined).pipe(
    Effect.map((compacted) => checked(compacted, request.messages)),
    Effect.catchCause((cause) => Effect.succeed(CallFailure.brokenOf(cause)))
  )
  return Effect.flatMap(made, (result): Effect.Effect<Records.CompactionOutcome, TurnStopped> => {
    const endedAt = now()
    if (result === undefined) return Effect.succeed({ _tag: "Nothing", endedAt })
    if ("summary" in result) return Effect.succeed({ _tag: "Compacted", ...result, endedAt })
    if ("_tag" in result) return Effect.fail(result)
    return Effect.succeed(
      result.failure.reason === "context-overflow"
        ? { _tag: "Nothing", ...result, endedAt }
        : { _tag: "Failed", ...result, spread: draw(), endedAt }
    )
  })
}

const tool = (
  { now, toolbox }: Ports,
  { turn: { report } }: Ledger,
  { approval, begun, call, isOffered }: Of<"RunTool">,
  { life }: Life
): Effect.Effect<Records.ToolResult> => {
  const isIdempotent = toolbox.definitions.find(({ name }) => name === call.toolName)?.isIdempotent === true
  const isMine = begun === undefined || begun.life === life
  const isReport = report !== undefined && Judging.isReport(report, call)
  const answer = Effect.suspend(() => {
    if (approval?.refusal !== undefined) return Effect.succeed({ output: approval.refusal, isError: true })
    if (!isMine && !isIdempotent && !isReport)
      return Effect.succeed({ output: ModelContext.INTERRUPTED, isError: true })
    if (call.malformed !== undefined) return Effect.succeed(unreadable(call))
    if (isReport) return Effect.succeed(Judging.answer(report, call))
    if (!isOffered) return Effect.succeed(NOT_OFFERED)
    return Effect.map(toolbox.run(call, approval !== undefined), readable)
  })
  return answer.pipe(
    // A tool that interrupts itself has failed too. When the turn is interrupted no handler runs.
    Effect.catchCause((cause) =>
      Effect.succeed<ToolOutcome>({ output: `The tool failed: ${CallFailure.whyOf(cause)}`, isError: true })
    ),
    Effect.map(({ content, isError, output }) => ({ output, ...defined({ content }), isError, endedAt: now() }))
  )
}

/** The length of the quotation when malformed arguments are sent back to the model, in characters. */
const QUOTED_CHARACTERS = 2_000

/** C1: a body that the step has already is not recorded again: an outage of a night does not fill the disk with its error page. */
const once = <Outcome extends Attempt.Made>({ step }: Ledger, outcome: Outcome): Outcome =>
  outcome._tag === "Failed" && outcome.body !== undefined && outcome.body === step.lastBody
    ? { ...outcome, body: true as const }
    : outcome

/** Asks whether content that may be void was received (X7). The answer is part of the outcome, so it holds after a crash too. */
const withdrawn = ({ sink, strategy }: Ports, outcome: Attempt.Made): Attempt.Made => {
  if (outcome._tag !== "Failed" || !outcome.contentSeen || !Directives.isOfTransport(outcome.failure)) return outcome
  const isUnseen = strategy?.midStream?.(outcome.failure) === "unseen" && sink.withdraw?.() === true
  return isUnseen ? { ...outcome, unseen: true } : outcome
}

/** Turns a rejected response into a failure. */
const judged = ({ draw }: Ports, { isFinal, turn }: Ledger, content: Content, outcome: Attempt.Made): Attempt.Made => {
  if (outcome._tag === "Failed") {
    const isBegun = content.cut.some((toolName) => Judging.isReport(turn.report, { toolName }))
    return isBegun ? { ...outcome, report: "incomplete" } : outcome // A12
  }
  const found = Judging.shortcoming(outcome, turn.report, isFinal)
  return found === undefined ? outcome : Judging.failedWith(outcome, found, draw())
}

/** A summary that replaces no message of the context is a bug of the compactor. */
const checked = (compacted: Compacted | undefined, messages: ProviderRequest["messages"]): Compacted | undefined => {
  if (compacted === undefined) return undefined
  const last = messages.find(({ id }) => id === compacted.upTo)
  if (last === undefined || Summary.isSummary(last)) throw new Error(`There is no message ${compacted.upTo} to sum up.`)
  return compacted
}

const NOT_OFFERED: ToolOutcome = {
  output: "No tool but the final report could be used in this step.",
  isError: true
}

/** Recording an output that is nested too deeply would overflow the stack. */
const readable = (outcome: ToolOutcome): ToolOutcome =>
  JsonShape.measure(outcome.output).isTooDeep
    ? { output: `The tool failed: its output is nested deeper than ${JsonShape.MOST_LEVELS} levels.`, isError: true }
    : outcome

/** A10, in the seed's words: a prompt may mention them. */
const unreadable = ({ input, malformed = "" }: Message.ToolCallPart): ToolOutcome => {
  const payload = typeof input === "string" ? input : JSON.stringify(input)
  const isCut = payload.length > QUOTED_CHARACTERS
  const note = isCut ? ` (the first ${QUOTED_CHARACTERS} of ${payload.length} characters)` : ""
  // A cut may split a surrogate pair, which no provider accepts.
  const quoted = isCut ? payload.slice(0, QUOTED_CHARACTERS).toWellFormed() : payload
  const reason = malformed.replace(/\.\s*$/, "")
  return {
    output: `(tool failed: invalid tool call payload. ${reason}. Original payload${note}: ${quoted})`,
    isError: true
  }
}
