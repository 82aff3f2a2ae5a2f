/** The providers of the configuration, by the name they have there. */
import type { Provider } from "@holdfast/kernel"
import { Context } from "effect"

export class Providers extends Context.Service<
  Providers,
  {
    readonly get: (name: string) => Provider.Provider["Service"] | undefined
    readonly names: ReadonlyArray<string>
  }
>()("@holdfast/session-orchestrator/conversation/Providers") {}
