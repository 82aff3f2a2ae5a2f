/** The providers of the configuration, by the name they have there. */
import type { Provider } from "@holdfast/kernel"
import type { Routes } from "@holdfast/policy"
import { Quote, Target } from "@holdfast/wire"
import { Context, Effect } from "effect"
import { InvalidRequest } from "./Conversations.ts"

export class Providers extends Context.Service<
  Providers,
  {
    /** A provider with one of its credentials; with its first where none is named, or one that is not there any more. */
    readonly get: (name: string, credential?: string) => Provider.Provider["Service"] | undefined
    readonly names: ReadonlyArray<string>
    /** Why every attempt there would fail, as far as that can be told without one, in words: a missing key, a name that is no model. */
    readonly unusable: (target: Target.Target) => string | undefined
    /** The names of each provider's credentials, in order. One that is not here needs none. */
    readonly credentials: Routes.Known["credentials"]
  }
>()("@holdfast/session-orchestrator/conversation/Providers") {}

/**
 * Reads `provider/model`, where there is such a provider and nothing is known that would keep it from answering. `place` is where it was
 * written.
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
  // Its endpoint would say no, and a turn that has waited for hours would fail with that.
  const why = unusable(target)
  return why === undefined ? Effect.succeed(target) : refuse(why)
}
