/** The tools of the service, as its turns need them. */
import { Toolbox } from "@holdfast/kernel"
import { Context, Effect, Layer } from "effect"

export class Tools extends Context.Service<
  Tools,
  {
    /**
     * The toolbox for a turn that is about to run. It is one for all turns.
     *
     * **Gotchas**
     *
     * Right after a start this waits for tools that are on their way, for seconds and not for ever: a turn that runs without
     * them would tell its user that it has none.
     */
    readonly toolbox: Effect.Effect<Toolbox.Toolbox["Service"]>
  }
>()("@holdfast/session-orchestrator/conversation/Tools") {}

/** No tools. */
export const layerNoop: Layer.Layer<Tools> = Layer.succeed(Tools, { toolbox: Effect.succeed(Toolbox.noop) })
