/**
 * Makes tools from a name, a schema and a function, for embedders.
 *
 * - The model receives the JSON Schema of `input`, and its arguments are decoded by that same schema before `run` gets them.
 * - Arguments that do not fit are answered with each error and its path, so that the model can send them again. A failure of `run`
 *   is answered with its message. Neither ends the turn.
 * - A result of `content` may have files. Any other result goes to the model as JSON.
 */
import { defined, Message, Prompt } from "@holdfast/wire"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { Toolbox, type ToolDefinition, type ToolOutcome, unknownTool } from "./Toolbox.ts"

/** A tool that needs the services `R` to run. */
export interface Tool<out R = never> {
  readonly definition: ToolDefinition
  /** Decodes the arguments, and runs. */
  readonly call: (input: Schema.Json) => Effect.Effect<ToolOutcome, never, R>
}

/** The parts of a tool. */
export interface Options<Input extends Schema.ConstraintDecoder<unknown>, E, R> {
  /** The name for the model: letters, digits, `_` and `-`, at most 64 characters, or a provider may reject it. */
  readonly name: string
  /** Describes to the model when to use it. */
  readonly description?: string
  /** A struct: models send their arguments by name. */
  readonly input: Input
  /** Running it twice has the same effect as running it once (X8). Without this a call that a crash cut off is never made again. */
  readonly isIdempotent?: boolean
  /** A person has to approve each call, within this time in milliseconds (`ToolDefinition`). */
  readonly confirmWithinMs?: number
  /**
   * Does the work. Its result goes to the model unchanged; `Tool.content` makes one with files.
   *
   * **Gotchas**
   *
   * The calls of one step run at the same time. It is interrupted when the turn is aborted. The model receives the message of a failure.
   */
  readonly run: (input: Input["Type"]) => Effect.Effect<Schema.Json | Content, E, R>
}

/** A result of texts and files, made by `content`. */
export class Content {
  readonly parts: NonNullable<ToolOutcome["content"]>

  constructor(parts: NonNullable<ToolOutcome["content"]>) {
    this.parts = parts
  }
}

/**
 * Makes a result of texts and files, in order. Throws if a part is invalid: an error of `run`, which the model receives.
 *
 * **Example** (A picture with a text before it)
 *
 * ```ts
 * run: () => Effect.map(screenshot, (data) => Tool.content(["The page:", { type: "file", mediaType: "image/png", data }]))
 * ```
 */
export const content = (
  parts: readonly [string | Message.InputPart, ...ReadonlyArray<string | Message.InputPart>]
): Content =>
  new Content(decodeParts(parts.map((part) => (typeof part === "string" ? { type: "text", text: part } : part))))

/** The outcome of a call that returned `result`. */
export const outcomeOf = (result: Schema.Json | Content): ToolOutcome => {
  if (!(result instanceof Content)) return { output: result, isError: false }
  const output = Prompt.textOf(result.parts)
  // Texts alone need no second form.
  return result.parts.every(({ type }) => type === "text")
    ? { output, isError: false }
    : { output, content: result.parts, isError: false }
}

/**
 * Makes a tool.
 *
 * **Example** (A tool that is safe to run again after a crash)
 *
 * ```ts
 * const weather = Tool.make({
 *   name: "weather",
 *   description: "The weather in a city, now",
 *   input: Schema.Struct({ city: Schema.String }),
 *   isIdempotent: true,
 *   run: ({ city }) => Effect.succeed(`It rains in ${city}.`)
 * })
 * const layer = Tool.layer(weather)
 * ```
 */
export const make = <Input extends Schema.ConstraintDecoder<unknown>, E, R>({
  name,
  description,
  input,
  isIdempotent,
  confirmWithinMs,
  run
}: Options<Input, E, R>): Tool<R> => {
  const decode = Schema.decodeUnknownEffect(Schema.toCodecJson(input), { errors: "all" })
  return {
    definition: {
      name,
      inputSchema: jsonSchemaOf(input),
      ...defined({ description, isIdempotent, confirmWithinMs })
    },
    call: (given) =>
      decode(given).pipe(
        Effect.matchEffect({
          onFailure: ({ message }) => Effect.succeed(failed(`The arguments of this call do not fit: ${message}`)),
          onSuccess: (decoded) =>
            Effect.match(run(decoded), {
              onFailure: (error) =>
                failed(`The tool failed: ${error instanceof Error ? error.message : String(error)}`),
              onSuccess: outcomeOf
            })
        })
      )
  }
}

/**
 * Makes a toolbox of these tools; the services that they need are taken from the context of this effect. Throws if two tools have the same
 * name.
 */
export const toolbox = <R>(tools: ReadonlyArray<Tool<R>>): Effect.Effect<Toolbox["Service"], never, R> =>
  Effect.contextWith((context) => {
    const byName = new Map(tools.map((tool) => [tool.definition.name, tool]))
    if (byName.size < tools.length) throw new Error("two tools have the same name")
    return Effect.succeed({
      definitions: tools.map(({ definition }) => definition),
      run: ({ input, toolName }: Message.ToolCallPart) => {
        const tool = byName.get(toolName)
        return tool === undefined
          ? Effect.succeed(unknownTool(toolName))
          : Effect.provideContext(tool.call(input), context)
      }
    })
  })

/** `toolbox` as a layer. */
export const layer = <R>(...tools: ReadonlyArray<Tool<R>>): Layer.Layer<Toolbox, never, R> =>
  Layer.effect(Toolbox, toolbox(tools))

// --- internal

const decodeParts = Schema.decodeUnknownSync(Schema.NonEmptyArray(Message.InputPart))

const failed = (output: string): ToolOutcome => ({ output, isError: true })

const jsonSchemaOf = (input: Schema.Constraint): Schema.Json => {
  const { definitions, schema } = Schema.toJsonSchemaDocument(input)
  return toJson(Object.keys(definitions).length === 0 ? schema : { ...schema, $defs: definitions })
}

const toJson = Schema.decodeUnknownSync(Schema.Json)
