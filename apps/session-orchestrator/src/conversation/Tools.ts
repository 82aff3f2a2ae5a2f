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

/** Tools that a turn may use. */
export interface Offered {
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

/** The tools of the service. */
export class Tools extends Context.Service<
  Tools,
  Offered & {
    /** The names of the configured servers. */
    readonly names: ReadonlyArray<string>
    /** The tools of these servers alone. A server that is not configured is missing. */
    readonly only: (names: ReadonlyArray<string>) => Offered
  }
>()("@holdfast/session-orchestrator/conversation/Tools") {}

/** No tools. */
export const layerNoop: Layer.Layer<Tools> = Layer.succeed(Tools, {
  toolbox: Effect.succeed(Toolbox.noop),
  missing: () => [],
  isComplete: Effect.void,
  names: [],
  only: (names) => ({
    toolbox: Effect.succeed(Toolbox.noop),
    missing: () => names.map((server) => ({ server, isRequired: false, because: "it is not configured" })),
    isComplete: Effect.void
  })
})
