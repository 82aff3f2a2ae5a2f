/** The tools of the service, as its turns need them. */
import { Toolbox } from "@holdfast/kernel"
import { Context, Effect, Layer } from "effect"

/** A tool server that is not up. */
export interface MissingServer {
  readonly server: string
  /** Turns do not run without its tools. */
  readonly isRequired: boolean
  /** Why it is not up. */
  readonly because: string
}

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
    /** Servers whose tools are not on offer at this moment. */
    readonly missing: () => ReadonlyArray<MissingServer>
    /** Waits until the tools of every required server are on offer. */
    readonly isComplete: Effect.Effect<void>
  }
>()("@holdfast/session-orchestrator/conversation/Tools") {}

/** No tools. */
export const layerNoop: Layer.Layer<Tools> = Layer.succeed(Tools, {
  toolbox: Effect.succeed(Toolbox.noop),
  missing: () => [],
  isComplete: Effect.void
})
