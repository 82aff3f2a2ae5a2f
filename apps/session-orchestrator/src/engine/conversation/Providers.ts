/** The configured providers, by their configured names. */
import type { Provider } from "@holdfast/kernel"
import type { Routes } from "@holdfast/policy"
import { type Ids, Quote, Target } from "@holdfast/wire"
import { Context, Effect } from "effect"
import type { HeldCall } from "./HeldCalls.ts"
import { InvalidRequest } from "./Conversations.ts"

/** Finds providers and their credentials. */
export class Providers extends Context.Service<
  Providers,
  {
    /** A provider with the named credential; with its first if none is named or the named one no longer exists. */
    readonly get: (name: string, credential?: string) => Provider.Provider["Service"] | undefined
    readonly names: ReadonlyArray<string>
    /** The held call of a conversation, with its client (rule X13). */
    readonly held?: (id: Ids.ConversationId) => HeldCall | undefined
    /** Why every attempt at a target would fail, as far as known without an attempt: a missing key, or a name that is no model. */
    readonly unusable: (target: Target.Target) => string | undefined
    /** The names of each provider's credentials, in order. A provider that is absent needs none. */
    readonly credentials: Routes.Known["credentials"]
  }
>()("@holdfast/session-orchestrator/conversation/Providers") {}

/**
 * Parses `provider/model`. Fails with `InvalidRequest` if the provider is unknown or the target is known to be unusable. `place` is the
 * setting's path, for the message.
 */
export const knownTarget = (
  name: string,
  { names, unusable }: Providers["Service"],
  place = "model"
): Effect.Effect<Target.Target, InvalidRequest> => {
  const refuse = (why: string) => Effect.fail(new InvalidRequest({ message: `${place}: ${why}` }))
  const target = Target.parse(name)
  if (target === undefined || !names.includes(target.provider)) {
    return refuse(
      `expected "provider/model" with a provider of the configuration (${names.join(", ")}), got ${Quote.of(name)}.`
    )
  }
  // Its endpoint would refuse, and a turn that has waited for hours would fail with that.
  const why = unusable(target)
  return why === undefined ? Effect.succeed(target) : refuse(why)
}
