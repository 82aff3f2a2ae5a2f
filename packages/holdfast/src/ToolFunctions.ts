/**
 * Tools as programs give them: a function, and a schema of its arguments.
 *
 * Arguments that the schema refuses are answered with what is wrong with them, and a function that throws with its message: the model
 * reads both, and the turn continues. Without `idempotent` a call that a crash cut off is never made again (rule X8). A tool with
 * `confirm` runs only once `Turn.approveTool` was called for the call.
 */
import { Tool as KernelTool, type Toolbox, Toolbox as Toolboxes } from "@holdfast/kernel"
import { defined } from "@holdfast/wire"
import * as Effect from "effect/Effect"
import type { FilePart, Json, TextPart } from "./Events.ts"
import { messageOf } from "./HoldfastError.ts"
import type { Awaitable } from "./KeyValueStore.ts"

/** What a tool gets besides its arguments. */
export interface ToolContext {
  readonly toolCallId: string
  /** Aborted when the turn is aborted. */
  readonly signal: AbortSignal
}

/** A tool; its name is its key in `tools`. */
export interface Tool {
  readonly description?: string
  /** JSON Schema of the arguments. Default: an object with any properties. */
  readonly inputSchema?: { readonly [key: string]: unknown }
  /** Returns the arguments as `execute` takes them, or throws an error that names what is wrong. Default: as they come. */
  readonly parse?: (input: Json) => unknown
  /** A second run does what one run does: after a crash in the middle of the call it is made again. */
  readonly idempotent?: boolean
  /**
   * A person has to approve each call: the turn waits (`provider-retry` with `asks.calls`) for `Turn.approveTool` or `Turn.refuseTool`.
   * A number: the milliseconds for an answer, after which the call counts as refused; `true`: 8 hours.
   */
  readonly confirm?: boolean | number
  /** Does the work. Its result goes to the model as JSON; one of `toolContent` has files. Calls of one response run at once. */
  execute(input: never, context: ToolContext): Awaitable<unknown>
}

/** A tool whose function takes arguments of one type: `tool({ parse: Schema.parse, execute: ({ city }) => … })`. */
export const tool = <Input = Json>(
  options: Omit<Tool, "parse" | "execute"> & {
    readonly parse?: (input: Json) => Input
    execute(input: Input, context: ToolContext): Awaitable<unknown>
  }
): Tool => options

/** A result of texts and files, made by `toolContent`. */
export interface ToolContent {
  readonly parts: ReadonlyArray<TextPart | FilePart>
}

/** A result with files, such as a screenshot: texts and files, in order. Throws where a file is invalid. */
export const toolContent = (
  ...parts: readonly [string | TextPart | FilePart, ...ReadonlyArray<string | TextPart | FilePart>]
): ToolContent => KernelTool.content(parts)

/** The tools of a program, by name. */
export type Tools = { readonly [name: string]: Tool }

/** The kernel's port over tools. */
export const toolboxOf = (tools: Tools): Toolbox.Toolbox["Service"] => ({
  definitions: Object.entries(tools).map(([name, { confirm, description, idempotent, inputSchema }]) => ({
    name,
    inputSchema: jsonOf(inputSchema ?? { type: "object" }),
    ...defined({ description, isIdempotent: idempotent, confirmWithinMs: withinOf(confirm) })
  })),
  run: ({ input, toolCallId, toolName }) => {
    const tool = Object.hasOwn(tools, toolName) ? tools[toolName] : undefined
    if (tool === undefined) return Effect.succeed(Toolboxes.unknownTool(toolName))
    const parsed = Effect.try({
      try: () => (tool.parse === undefined ? input : tool.parse(input)),
      catch: (error) => `The arguments of this call do not fit: ${messageOf(error)}`
    })
    const executed = (given: unknown) =>
      Effect.tryPromise({
        try: async (signal) => resultOf(await tool.execute(given as never, { toolCallId, signal })),
        catch: (error) => `The tool failed: ${messageOf(error)}`
      })
    return Effect.match(Effect.flatMap(parsed, executed), {
      onFailure: (output) => ({ output, isError: true }),
      onSuccess: KernelTool.outcomeOf
    })
  }
})

// --- internal

/** As the service's default: a question at night can be answered in the morning. */
const ANSWER_WITHIN_MS = 8 * 3_600_000

const withinOf = (confirm: Tool["confirm"]): number | undefined =>
  confirm === true ? ANSWER_WITHIN_MS : confirm === false ? undefined : confirm

const resultOf = (value: unknown): Json | KernelTool.Content =>
  value instanceof KernelTool.Content ? value : jsonOf(value)

/** What JSON makes of a value; nothing becomes `null`. */
const jsonOf = (value: unknown): Json => JSON.parse(JSON.stringify(value) ?? "null")
