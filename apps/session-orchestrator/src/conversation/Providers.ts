/** The providers of the configuration, by the name they have there. */
import type { Provider } from "@holdfast/kernel"
import type { Routes } from "@holdfast/policy"
import { Target } from "@holdfast/wire"
import { Context, Effect } from "effect"
import { InvalidRequest } from "./Conversations.ts"

export class Providers extends Context.Service<
  Providers,
  {
    /** A provider with one of its credentials; with its first where none is named, or one that is not there any more. */
    readonly get: (name: string, credential?: string) => Provider.Provider["Service"] | undefined
    readonly names: ReadonlyArray<string>
    /** The names of each provider's credentials, in order. One that is not here needs none. */
    readonly credentials: Routes.Known["credentials"]
  }
>()("@holdfast/session-orchestrator/conversation/Providers") {}

/** Reads `provider/model`, where there is such a provider. `place` is where it was written. */
export const knownTarget = (
  name: string,
  { names }: Providers["Service"],
  place = "model"
): Effect.Effect<Target.Target, InvalidRequest> => {
  const target = Target.parse(name)
  return target !== undefined && names.includes(target.provider)
    ? Effect.succeed(target)
    : Effect.fail(
        new InvalidRequest({
          message: `${place}: expected "provider/model" with a provider of the configuration (${names.join(", ")}), got "${name}".`
        })
      )
}
