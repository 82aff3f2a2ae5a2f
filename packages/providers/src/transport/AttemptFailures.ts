/**
 * Makes the failures of an attempt: classified, without secrets, and small.
 *
 * AttemptFailures.F1. A failure keeps no response alive: V8 keeps the whole text behind a slice, which may be megabytes for an error, and
 *     failures are kept as long as an outage lasts.
 */
import type { Provider } from "@holdfast/kernel"
import { Classification } from "@holdfast/policy"
import { defined, Failure } from "@holdfast/wire"
import type { Broken, HttpResponse } from "../http/Http.ts"
import * as WholeBody from "../http/WholeBody.ts"
import * as KeyRedaction from "../KeyRedaction.ts"

/** The dependencies of making a failure. */
export interface FailureContext {
  /** Removes secrets from the endpoint's texts. */
  readonly conceal: KeyRedaction.Conceal
  /** Epoch milliseconds. */
  readonly now: () => number
}

/** An error as an adapter emits it. */
export type ErrorEvent = Extract<Provider.ProviderEvent, { readonly type: "error" }>

/** The error of a response that is no stream. */
export const ofResponse = (
  context: FailureContext,
  { headers, status }: Pick<HttpResponse, "headers" | "status">,
  body: string
): ErrorEvent => {
  const text = context.conceal(body)
  const failure = Classification.ofResponse({ status, headers, body: text, now: context.now() })
  return ofEvent(context, { type: "error", failure }, text)
}

/** The error of a frame, without secrets, with the frame's whole text where that adds to the failure. `text` has no secrets. */
export const ofEvent = (context: FailureContext, event: ErrorEvent, text: string): ErrorEvent => {
  const failure = redacted(context, event.failure)
  const body = WholeBody.of(text, failure)
  return { ...event, failure, ...defined({ body: body === undefined ? undefined : copied(body) }) }
}

/** The failure of a connection. An error that names no reason is of the network: nothing else was under way. */
export const ofBroken =
  (context: FailureContext) =>
  ({ cause }: Pick<Broken, "cause">): Failure.ProviderFailure => {
    const failure = redacted(context, Classification.ofThrown(cause, context.now()))
    const isNameless = failure.reason === "unknown" && failure.defect !== true
    return new Failure.ProviderFailure({ failure: isNameless ? { ...failure, reason: "network" } : failure })
  }

// --- internal

const redacted = <F extends Provider.EmittedFailure>({ conceal }: FailureContext, failure: F): F =>
  copied(KeyRedaction.inFailure(conceal, failure))

/** AttemptFailures.F1. */
const copied = <A>(value: A): A => {
  const copy: A = JSON.parse(JSON.stringify(value))
  return copy
}
