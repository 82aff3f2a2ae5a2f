/**
 * Checks the address that a client names for a turn's end (rule X15).
 *
 * Without a secret there is no receiver: a message that is not signed could be anyone's.
 */
import { Context, Effect, Layer } from "effect"
import { Config } from "../../config/Config.ts"
import { InvalidRequest } from "../../engine/conversation/Conversations.ts"
import * as Posting from "./Posting.ts"

/** Characters of an address. */
const LONGEST = 2_000

/** Checks addresses of requests. */
export class TurnWebhooks extends Context.Service<
  TurnWebhooks,
  {
    /** Fails if a turn's end cannot go there. */
    readonly check: (address: string | undefined) => Effect.Effect<void, InvalidRequest>
  }
>()("@holdfast/session-orchestrator/delivery/TurnWebhooks") {}

/** By the configuration in force. */
export const layer: Layer.Layer<TurnWebhooks, never, Config> = Layer.effect(
  TurnWebhooks,
  Config.useSync(({ webhooks }) => ({
    check: (address) => {
      const refusal = address === undefined ? undefined : refusalOf(address, webhooks !== undefined)
      return refusal === undefined ? Effect.void : Effect.fail(new InvalidRequest({ message: `webhook: ${refusal}.` }))
    }
  }))
)

// --- internal

const refusalOf = (address: string, hasSecret: boolean): string | undefined => {
  if (!hasSecret) return "this service has no webhooks.secret to sign messages with"
  if (address.length > LONGEST) return `found ${address.length} characters; expected ${LONGEST} at most`
  return Posting.refusalOf(address)
}
