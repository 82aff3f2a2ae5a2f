/**
 * Makes the failure of a response as an adapter would: classified from the same bodies, as an event of the stream (`asEvent`) or, where the
 * connection broke, as the failure of the stream (`asFailure`).
 */
import type { ProviderCall } from "@holdfast/kernel/host"
import { Classification } from "@holdfast/policy"
import { Failure } from "@holdfast/wire"
import * as ErrorBody from "./ErrorBody.ts"
import { ResponseAction } from "./ResponseAction.ts"
import type * as Syntax from "./script/Syntax.ts"

/** The response to an unknown model. */
export const noSuchModel = ({ message }: Syntax.NotUnderstood): Iterable<ResponseAction> => {
  const text = JSON.stringify(ErrorBody.envelope("model", "openai", message))
  return [ResponseAction.Respond({ status: 404, headers: [], body: { text } })]
}

/** The refusal of an action that fails its request; `undefined` for the others. */
export const of = (action: ResponseAction, now: number): ProviderCall.Refusal | undefined => {
  switch (action._tag) {
    case "Respond":
      // A 200 without a body is a stream that has ended before it began.
      if (action.status === 200 && action.body === "empty") return asFailure(Classification.incomplete())
      return asEvent(
        Classification.ofResponse({
          status: action.status,
          headers: Object.fromEntries(action.headers),
          body: ErrorBody.render(action.body, action.status, formatOf(action.body)).text,
          now
        })
      )
    case "Fail": {
      const data = JSON.stringify(ErrorBody.envelope(action.error, formatOf(action.error)))
      return asEvent(Classification.ofStreamError({ data, headers: {}, now }))
    }
    case "Reset":
      return asFailure(Classification.ofThrown(broken("read ECONNRESET", "ECONNRESET"), now))
    case "Cut":
      return asFailure(Classification.ofThrown(broken("other side closed", "UND_ERR_SOCKET"), now))
    case "End":
      return asFailure(Classification.incomplete())
    default:
      return undefined
  }
}

// --- internal

const asEvent = (failure: Failure.Failure): ProviderCall.Refusal => ({ type: "error", failure })

const asFailure = (failure: Failure.Failure): ProviderCall.Refusal => new Failure.ProviderFailure({ failure })

/** The provider whose format an error has: Anthropic is known for `overloaded`. */
const formatOf = (body: ErrorBody.ErrorBody): ErrorBody.ErrorFormat => (body === "overloaded" ? "anthropic" : "openai")

/** The error that Node throws when a connection breaks. */
const broken = (message: string, code: string): Error => Object.assign(new Error(message), { code })
