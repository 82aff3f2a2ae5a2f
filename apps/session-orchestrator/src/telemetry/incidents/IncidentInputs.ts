/** Translates observations of turns into inputs of `Incidents`. */
import type { Observer } from "@holdfast/kernel"
import { defined, Failure } from "@holdfast/wire"
import type { FailedTurn } from "../../storage/IncidentStates.ts"
import * as Prose from "../../text/Prose.ts"
import * as TurnLog from "../logs/TurnLog.ts"
import type * as Incidents from "./Incidents.ts"
import type { LastFailure } from "./Notice.ts"

/** The listeners that call `record` with each input. `redact` removes secrets from messages. */
export const listeners = (
  record: (input: Incidents.Input) => void,
  redact: (text: string) => string
): Observer.Listeners => {
  const said = saidBy(redact)
  return {
    attempt: ({ conversationId, outcome, target }) => {
      // An invalid response is an answer of the endpoint all the same (A9).
      const isAnswer = outcome._tag === "Completed" || (outcome._tag === "Failed" && outcome.whole === true)
      if (isAnswer) record({ _tag: "Answered", conversationId, target, at: outcome.endedAt })
    },
    decision: ({ at, conversationId, directive, failure, target }) => {
      if (directive._tag !== "Retry") return
      // A turn that switches to another endpoint at once does not wait. A turn at a limit of spending waits for a person.
      if (directive.delayMs <= 0 || Failure.isOfSpendLimit(failure))
        return record({ _tag: "WentOn", conversationId, at })
      record({
        _tag: "Waits",
        conversationId,
        target: directive.route?.target ?? target,
        said: said(failure),
        until: directive.retryAt,
        at
      })
    },
    wait: ({ at, conversationId, wake }) => {
      if (wake.type === "switched") record({ _tag: "WentOn", conversationId, at })
    },
    seal: ({ conversationId, end, target }) => record(sealed({ conversationId, target, end }, said)),
    moved: ({ at, conversationId }) => record({ _tag: "Moved", conversationId, at })
  }
}

/** The input of a turn that has failed in a process that did not count it. */
export const ofFailed = (turn: FailedTurn, redact: (text: string) => string): Sealed => sealed(turn, saidBy(redact))

// --- internal

type Sealed = Extract<Incidents.Input, { _tag: "Sealed" }>

const sealed = (
  { conversationId, end: { endedAt: at, error, status, turnId }, target }: FailedTurn,
  said: (failure: Failure.Failure) => LastFailure
): Sealed => {
  const cause = status === "failed" ? said(error ?? UNKNOWN) : undefined
  return { _tag: "Sealed", conversationId, turnId, target, status, at, said: cause }
}

/** A turn that failed without an error on record. */
const UNKNOWN: Failure.Failure = { reason: "unknown", message: "no error was recorded", retryable: false }

/** In an outage the same message repeats: it is redacted once. */
const saidBy = (redact: (text: string) => string): ((failure: Failure.Failure) => LastFailure) => {
  let last: { readonly original: string; readonly message: string } | undefined
  return (failure) => {
    if (last?.original !== failure.message) {
      last = { original: failure.message, message: Prose.clip(redact(failure.message), TurnLog.LONGEST_MESSAGE) }
    }
    return { reason: failure.reason, message: last.message, ...defined({ code: Failure.codeOf(failure) }) }
  }
}
