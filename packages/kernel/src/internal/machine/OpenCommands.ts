/**
 * Returns the open commands of a turn, each of which ends in exactly one record.
 *
 * - It only proposes; records decide. `evolve` also follows the record of a command that this version would not give.
 * - Only tool calls can be open several at once. No command is part of another.
 * - The kernel decides about a failure that no route can help; if there is a router, it decides about all others (A1).
 */
import { defined, type Failure, type Message, type TurnEvent } from "@holdfast/wire"
import type { TooLong } from "../../ports/Compactor.ts"
import * as Directive from "../../turn/Directive.ts"
import * as ModelContext from "../../turn/ModelContext.ts"
import type { ProviderRequest } from "../../ports/Provider.ts"
import type { Begun, FinalCause } from "../../records/Records.ts"
import { type PendingRetry, type Outlook, type RetryStrategy, sinceOf } from "../../ports/RetryStrategy.ts"
import type { Question } from "../../ports/Router.ts"
import * as Spending from "../../turn/Spending.ts"
import * as ToolQuestion from "../../turn/ToolQuestion.ts"
import type { ToolDefinition } from "../../ports/Toolbox.ts"
import * as Approvals from "./Approvals.ts"
import * as Decisions from "./Decisions.ts"
import * as LastStep from "./LastStep.ts"
import type { Approval, Ledger, Round, FailedCall, Wait } from "./Ledger.ts"
import * as Responses from "./Responses.ts"
import * as RouteChanges from "./RouteChanges.ts"
import { contextOf, eventOf, messagesOf, targetNameOf, toolsOf } from "./Batch.ts"

/** The tools and ports of this life of the turn. */
export interface Offers {
  /** The definitions of the toolbox. */
  readonly tools: ReadonlyArray<ToolDefinition>
  readonly hasRouter: boolean
  readonly hasStrategy: boolean
  readonly hasCompactor: boolean
  /** The strategy's setting for failures after content (X7). Absent: `fail`. */
  readonly midStream?: RetryStrategy["Service"]["midStream"]
}

/** A command to perform. `step` and `number` are those of its record, `event` announces it if it is a wait. */
export type Command = { readonly step: number; readonly number: number; readonly event?: unknown } & (
  | { readonly _tag: "Final"; readonly cause: FinalCause }
  | { readonly _tag: "Route"; readonly question: Question | undefined; readonly from: string | undefined }
  | {
      readonly _tag: "Call"
      readonly request: ProviderRequest
      /** Its content left in an earlier life: the attempt is void, and is not made (X2). */
      readonly isLost: boolean
      /** The event before the step's first attempt in a life, and before the first attempt after a void one. */
      readonly begins: TurnEvent.StepStart
      /** The response is judged (A9, A11). */
      readonly isJudged: boolean
    }
  | {
      readonly _tag: "Decide"
      readonly failedCall: FailedCall
      readonly situation: Omit<Directive.Situation, "now">
      /** Absent: the router is not asked. */
      readonly question: Question | undefined
    }
  | {
      readonly _tag: "Wait"
      readonly part: number
      readonly wait: Wait
      readonly awaited: PendingRetry
      readonly event: TurnEvent.ProviderRetry
      /** Returns the facts for a question at the end of the wait, which has taken `thisMs` milliseconds; absent: nothing is asked (X11). */
      readonly outlook: ((thisMs: number) => Outlook) | undefined
    }
  | {
      readonly _tag: "RunTool"
      readonly call: Message.ToolCallPart
      /** The life that has begun it already (X8). */
      readonly begun: Begun | undefined
      /** Whether this step offers tools (A11). */
      readonly isOffered: boolean
      /** A person's answer; absent: the call needs none. */
      readonly approval: Approval | undefined
    }
  | {
      /** Asks a person about tool calls: its first record is the question, the next ones are the answers. */
      readonly _tag: "Ask"
      readonly part: number
      readonly asks: TurnEvent.Asks
      /** The time for an answer, in milliseconds. */
      readonly withinMs: number
      /** The event of the question; absent: it is not on record yet. */
      readonly event: TurnEvent.ProviderRetry | undefined
    }
  | { readonly _tag: "Compact"; readonly request: TooLong }
  | { readonly _tag: "Seal"; readonly cut: Failure.Failure | undefined }
)

/** Returns the open commands; none once the turn is sealed. */
export const commandsOf = (ledger: Ledger, offers: Offers): ReadonlyArray<Command> => {
  const { phase, step } = ledger
  switch (phase._tag) {
    case "Entering": {
      if (phase.stuck !== undefined) return [sealing(ledger)]
      const cause = phase.isAnnounced ? undefined : LastStep.causeOf(ledger, offers.tools)
      if (cause !== undefined) return [{ _tag: "Final", ...onceIn(ledger), cause }]
      return [
        RouteChanges.isDue(ledger, offers.hasRouter) ? routing(ledger, offers) : calling(ledger, offers, 0, false)
      ]
    }
    case "Calling":
      return [calling(ledger, offers, phase.number, phase.isShown)]
    case "Deciding": {
      const { failedCall } = phase
      const { last, number, of } = failedCall
      const isCompacted =
        of === "attempt" && offers.hasCompactor && !step.hasCompacted && Responses.isTooLong(failedCall)
      if (isCompacted && last !== undefined) return [compacting(ledger, number + 1)]
      return [deciding(ledger, offers, failedCall)]
    }
    case "Compacting":
      return [compacting(ledger, phase.number)]
    case "Waiting":
      return [offers.hasStrategy ? waiting(ledger, offers, phase.wait) : sealing(ledger, phase.wait.failedCall.failure)]
    case "Tools":
      return running(ledger, phase.round, offers)
    case "Ending":
      return [sealing(ledger)]
    case "Sealed":
      return []
    default:
      return phase satisfies never
  }
}

/** The command that seals the turn; with `cut`, as failed. */
export const sealing = (ledger: Ledger, cut?: Failure.Failure): Command => ({ _tag: "Seal", ...onceIn(ledger), cut })

// --- internal

/** The position of a record that a step has once. */
const onceIn = ({ step }: Ledger) => ({ step: step.number, number: 0 })

const routing = (ledger: Ledger, { hasRouter, tools }: Offers): Command => ({
  _tag: "Route",
  ...onceIn(ledger),
  question: hasRouter ? RouteChanges.question(ledger, tools) : undefined,
  from: RouteChanges.lastUsed(ledger)
})

/** The request to a model, for an attempt or a summary. */
const requestOf = (ledger: Ledger, attempt: number): TooLong => {
  const { step, turn, routing } = ledger
  const { credential, target } = routing.route
  const { maxResponseCharacters } = turn.limits ?? {}
  return {
    conversationId: turn.conversationId,
    turnId: turn.turnId,
    step: step.number,
    attempt,
    target,
    messages: ModelContext.of(messagesOf(ledger)),
    ...defined({ credential, system: turn.system, maxResponseCharacters })
  }
}

const calling = (ledger: Ledger, { tools }: Offers, number: number, isLost: boolean): Command => {
  const { isFinal, step, turn } = ledger
  return {
    _tag: "Call",
    step: step.number,
    number,
    request: { ...requestOf(ledger, number), tools: toolsOf(ledger, tools) },
    isLost,
    begins: eventOf(turn, { type: "step-start", step: step.number, target: targetNameOf(ledger) }),
    isJudged: turn.report !== undefined || isFinal
  }
}

const compacting = (ledger: Ledger, number: number): Command => ({
  _tag: "Compact",
  step: ledger.step.number,
  number,
  request: requestOf(ledger, number)
})

const deciding = (
  ledger: Ledger,
  { hasRouter, hasStrategy, midStream, tools }: Offers,
  failedCall: FailedCall
): Command => {
  const { contentSeen, endedAt, failure, number, spread, unseen, whole } = failedCall
  const { defects, spending } = Decisions.counting(ledger, failedCall)
  const { heldMs, interrupted } = ledger.step
  const passedMs = interrupted === undefined ? heldMs : passed(interrupted, endedAt)
  // A complete response is an answer: the endpoint is back, whatever the response lacked.
  const isEarly = interrupted !== undefined && endedAt < interrupted.retryAt && !whole
  const situation = {
    failure,
    contentSeen,
    retries: spending.retries,
    defects,
    spent: Spending.spentAt(spending, failure, endedAt, spread),
    ...(isEarly ? { interrupted: { ...interrupted.retry, retryAt: interrupted.retryAt } } : undefined),
    ...(passedMs > 0 ? { passedMs } : undefined),
    ...(whole ? { whole } : undefined),
    ...(contentSeen ? defined({ unseen, midStream: midStream?.(failure) }) : undefined)
  }
  const isRouted = hasRouter && hasStrategy && Directive.isRoutable(situation) && !Directive.isResumed(situation)
  return {
    _tag: "Decide",
    step: ledger.step.number,
    number,
    failedCall,
    situation,
    question: isRouted ? RouteChanges.question(ledger, tools) : undefined
  }
}

/** How much of the wait after an early attempt has passed: since the end of the interrupted wait, or, before that end, in it. */
const passed = ({ retry, retryAt }: Wait, now: number): number =>
  now >= retryAt ? now - retryAt : Math.max(0, retry.delayMs - (retryAt - now))

const waiting = (ledger: Ledger, { tools }: Offers, wait: Wait): Command => {
  const { askedAt, retry, retryAt, failedCall, wakes } = wait
  const { step, tally, routing } = ledger
  const { basis } = retry
  const route = retry.route ?? routing.route
  return {
    _tag: "Wait",
    step: step.number,
    number: failedCall.number,
    part: wakes.length,
    wait,
    awaited: {
      route,
      failure: failedCall.failure,
      since: sinceOf(retry),
      retryAt,
      delayMs: retry.delayMs,
      isMoved: wakes.some(({ type }) => type === "until" || type === "asked"),
      ...defined({ basis })
    },
    event: Decisions.retryEvent(ledger, wait),
    outlook:
      askedAt === undefined
        ? (thisMs) => ({
            waitedMs: step.waitedMs + thisMs,
            usage: tally.usage,
            ...(step.voids > 0 ? { voids: step.voids } : undefined),
            ...(tally.unreported > 0 ? { unreported: tally.unreported } : undefined),
            request: { ...contextOf(ledger, tools), target: route.target }
          })
        : undefined
  }
}

/** The calls without a result, as far as they can run now, or the question about them. */
const running = (ledger: Ledger, round: Round, { hasStrategy, tools }: Offers): ReadonlyArray<Command> => {
  const { isFinal, step } = ledger
  const { approvals, asked, attempt, begun, calls, parts, results } = round
  const open = calls.flatMap((call, number) =>
    results[number] === undefined ? [{ call, number, withinMs: Approvals.withinMs(ledger, round, number, tools) }] : []
  )
  const free = open.filter(({ number, withinMs }) => withinMs === undefined && approvals[number] === undefined)
  const pending = open.filter(({ withinMs }) => withinMs !== undefined)
  if (free.length === 0 && pending.length > 0 && hasStrategy) {
    return [
      {
        _tag: "Ask",
        step: step.number,
        number: attempt,
        part: parts,
        asks: asked?.asks ?? ToolQuestion.of(pending.map(({ call }) => ToolQuestion.callOf(call))),
        withinMs: Math.min(...pending.flatMap(({ withinMs }) => withinMs ?? [])),
        event: asked && Approvals.eventOf(ledger, asked)
      }
    ]
  }
  return (free.length > 0 ? free : open).map(({ call, number, withinMs }) => ({
    _tag: "RunTool",
    step: step.number,
    number,
    call,
    begun: begun[number],
    isOffered: !isFinal,
    approval: withinMs === undefined ? approvals[number] : Approvals.UNASKED
  }))
}
