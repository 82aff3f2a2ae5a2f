/** The port to tools. A tool's failure is the model's to see; it never ends a turn. */
import type { Message } from "@holdfast/wire"
import { Context, Effect, Layer, type Schema } from "effect"

/** What a model is told of a tool. */
export interface ToolDefinition {
  readonly name: string
  readonly description?: string
  /** JSON Schema of the arguments. */
  readonly inputSchema: Schema.Json
  /** Running it twice does what running it once does: a call that a dead process had begun is made again (X8). */
  readonly isIdempotent?: boolean
}

/** What came of a call. */
export interface ToolOutcome {
  readonly output: Schema.Json
  readonly isError: boolean
}

/** The tools of a turn: what there is, and how a call is run. */
export class Toolbox extends Context.Service<
  Toolbox,
  {
    /** Read once a step: within a step they are the same for every attempt, from one step to the next they may differ. */
    readonly definitions: ReadonlyArray<ToolDefinition>
    /**
     * Runs one call. Several calls of one step run at once.
     *
     * **Gotchas**
     *
     * Interrupted when the turn is aborted. A defect is answered to the model like a failed call.
     */
    readonly run: (call: Message.ToolCallPart) => Effect.Effect<ToolOutcome>
  }
>()("@holdfast/kernel/Toolbox") {}

/** What a model is told that asks for a tool that is not there. */
export const unknownTool = (toolName: string): ToolOutcome => ({
  output: `There is no tool named ${toolName}.`,
  isError: true
})

/** No tools; a model that asks for one all the same is told so. */
export const noop: Toolbox["Service"] = {
  definitions: [],
  run: (call) => Effect.succeed(unknownTool(call.toolName))
}

/** The same as a layer. */
export const layerNoop: Layer.Layer<Toolbox> = Layer.succeed(Toolbox, noop)
