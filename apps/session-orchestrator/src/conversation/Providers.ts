/** The providers of the configuration, by the name they have there. */
import type { Provider } from "@holdfast/kernel"
import { Target } from "@holdfast/wire"
import { Context, Effect } from "effect"
import { InvalidRequest } from "./Conversations.ts"

export class Providers extends Context.Service<
  Providers,
  {
    readonly get: (name: string) => Provider.Provider["Service"] | undefined
    readonly names: ReadonlyArray<string>
  }
>()("@holdfast/session-orchestrator/conversation/Providers") {}

/** Reads `provider/model`, where there is such a provider. */
export const knownTarget = (
  name: string,
  { names }: Providers["Service"]
): Effect.Effect<Target.Target, InvalidRequest> => {
  const target = Target.parse(name)
  return target !== undefined && names.includes(target.provider)
    ? Effect.succeed(target)
    : Effect.fail(
        new InvalidRequest({
          message: `model: expected "provider/model" with a provider of the configuration (${names.join(", ")}), got "${name}".`
        })
      )
}
