/** The port to tools. A tool's failure is returned to the model; it never ends a turn. */
import type { Message } from "@holdfast/wire"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Schema from "effect/Schema"

/** The description of a tool that is sent to the model. */
export interface ToolDefinition {
  readonly name: string
  readonly description?: string
  /** JSON Schema of the arguments. */
  readonly inputSchema: Schema.Json
  /** It is idempotent: a call that was running when a process died is made again (X8). */
  readonly isIdempotent?: boolean
  /**
   * A person has to approve each call, within this time in milliseconds; after it the call counts as refused. Absent: calls need no
   * approval.
   */
  readonly confirmWithinMs?: number
}

/** The result of a call. */
export interface ToolOutcome {
  /** With `content`: its texts, and a placeholder for each file (`Prompt.textOf`). */
  readonly output: Schema.Json
  /** The texts and files of a result with files, in order: what the model gets instead of `output`. */
  readonly content?: Message.ToolResultPart["content"]
  readonly isError: boolean
}

/** The tools of a turn: their definitions, and how a call runs. */
export class Toolbox extends Context.Service<
  Toolbox,
  {
    /** Read once a step: they are the same for every attempt of a step, and may differ in the next step. */
    readonly definitions: ReadonlyArray<ToolDefinition>
    /**
     * Runs one call. Several calls of one step run at once.
     *
     * **Gotchas**
     *
     * It is interrupted when the turn is aborted. After a defect the model receives a failed call.
     *
     * `isApproved`: a person has approved this call. A toolbox whose definitions may be missing for a while must not run a call that needs
     * approval without it: the kernel asks by the definitions of that moment.
     */
    readonly run: (call: Message.ToolCallPart, isApproved?: boolean) => Effect.Effect<ToolOutcome>
  }
>()("@holdfast/kernel/Toolbox") {}

/** The result of a call to a tool that does not exist. */
export const unknownTool = (toolName: string): ToolOutcome => ({
  output: `There is no tool named ${toolName}.`,
  isError: true
})

/** No tools; every call fails with `unknownTool`. */
export const noop: Toolbox["Service"] = {
  definitions: [],
  run: (call) => Effect.succeed(unknownTool(call.toolName))
}

/** `noop` as a layer. */
export const layerNoop: Layer.Layer<Toolbox> = Layer.succeed(Toolbox, noop)
