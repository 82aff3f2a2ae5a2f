/** The port for the service's tools, as turns use them. */
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

/** The tools of the service. */
export class Tools extends Context.Service<
  Tools,
  {
    /**
     * The toolbox for a turn that begins to run. All turns share it.
     *
     * **Gotchas**
     *
     * Right after a start this waits some seconds for tool servers that are starting: a turn that runs without their tools would answer its user
     * that it has none.
     */
    readonly toolbox: Effect.Effect<Toolbox.Toolbox["Service"]>
    /** Servers whose tools are unavailable at this moment. */
    readonly missing: () => ReadonlyArray<MissingServer>
    /** Waits until the tools of every required server are available. */
    readonly isComplete: Effect.Effect<void>
  }
>()("@holdfast/session-orchestrator/conversation/Tools") {}

/** No tools. */
export const layerNoop: Layer.Layer<Tools> = Layer.succeed(Tools, {
  toolbox: Effect.succeed(Toolbox.noop),
  missing: () => [],
  isComplete: Effect.void
})
