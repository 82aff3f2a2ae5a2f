/**
 * Makes the failures of an attempt: classified, without secrets, and small.
 *
 * Hiding a secret changes the words of a failure, and never what it is: the classifier reads an error as it came (rule C13).
 *
 * A failure keeps no response alive: V8 keeps the whole text behind a slice, which may be megabytes for an error, and failures are kept as
 * long as an outage lasts.
 */
import type { Provider } from "@holdfast/kernel"
import { Classification } from "@holdfast/policy"
import { defined, Failure, JsonShape } from "@holdfast/wire"
import type * as Http from "../http/Http.ts"
import * as KeyRedaction from "../KeyRedaction.ts"

/** The dependencies of making a failure. */
export interface FailureContext {
  /** Removes secrets from the endpoint's texts. */
  readonly conceal: KeyRedaction.Conceal
  /** Epoch milliseconds. */
  readonly now: () => number
}

/** An error as an adapter emits it. */
export type AttemptError = Extract<Provider.ProviderEvent, { readonly type: "error" }>

/** The error of a response that is no stream. */
export const ofResponse = (context: FailureContext, { headers, status }: Http.Head, body: string): AttemptError => {
  const { failure, text } = classified(context, body, (body) =>
    Classification.ofResponse({ status, headers, body, now: context.now() })
  )
  return ofEvent(context, { type: "error", failure }, text)
}

/** The class of an error's text as it came, with the message of the text without secrets; and that text. */
export const classified = (
  { conceal }: Pick<FailureContext, "conceal">,
  came: string,
  classify: (text: string) => Failure.Failure
): { readonly failure: Failure.Failure; readonly text: string } => {
  const original = KeyRedaction.withoutBytes(came)
  const text = conceal(came) // A secret beside bytes of a file loses its beginning with them.
  const failure = classify(original)
  return { text, failure: text === original ? failure : { ...failure, message: classify(text).message } }
}

/** The error of a frame, without secrets, with the frame's whole text where that adds to the failure. `text` has no secrets. */
export const ofEvent = (context: FailureContext, event: AttemptError, text: string): AttemptError => {
  const failure = redacted(context, event.failure)
  const body = bodyToKeep(text, failure)
  return { ...event, failure, ...defined({ body: body === undefined ? undefined : copied(body) }) }
}

/** The failure of a connection. An error that names no reason is of the network: nothing else was under way. */
export const ofBroken = (context: FailureContext, cause: unknown): Failure.ProviderFailure => {
  const failure = redacted(context, Classification.ofThrown(cause, context.now()))
  const isNameless = failure.reason === "unknown" && failure.defect !== true
  return new Failure.ProviderFailure({ failure: isNameless ? { ...failure, reason: "network" } : failure })
}

/**
 * The part of an error's redacted body to keep; `undefined` where it adds nothing to the failure (D5).
 *
 * A body adds nothing if each of its values is in the failure or names the class of the error. Most errors are a message, a code and a
 * type. Secrets are removed before the body is cut.
 */
export const bodyToKeep = (body: string, failure: Provider.EmittedFailure): string | undefined => {
  const text = body.trim()
  if (!adds(text, failure)) return undefined
  return text.length <= Failure.MOST_OF_BODY ? text : `${text.slice(0, Failure.MOST_OF_BODY - 1).toWellFormed()}…`
}

// --- internal

const redacted = <F extends Provider.EmittedFailure>({ conceal }: FailureContext, failure: F): F =>
  copied(KeyRedaction.inFailure(conceal, failure))

const copied = <A>(value: A): A => {
  const copy: A = JSON.parse(JSON.stringify(value))
  return copy
}

const adds = (text: string, { code, evidence = {}, message, status }: Provider.EmittedFailure): boolean => {
  const known = new Set(["", "error", message.trim(), code, String(status), ...Object.values(evidence)])
  const isNews = (value: unknown): boolean =>
    typeof value === "string" ? !known.has(value.trim()) : typeof value === "number" && !known.has(String(value))
  const parsed = JsonShape.parse(text)
  const left: Array<readonly [key: string, value: unknown]> = [["", parsed === undefined ? text : parsed]]
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const [key, value] = next
    if (typeof value === "object" && value !== null) {
      for (const inner of Object.entries(value)) left.push(inner)
    } else if (isNews(value) && !isClass(key, value)) return true
  }
  return false
}

/** Whether a value names the class of an error, beside its message and code: `"type": "server_error"`. */
const isClass = (key: string, value: unknown): boolean =>
  CLASSES.has(key) && typeof value === "string" && /^\w+$/.test(value)

const CLASSES = new Set(["type", "status", "object"])
