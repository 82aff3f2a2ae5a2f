/**
 * Tools as plain values, for programs that embed the kernel: a name, a schema and a function.
 *
 * V1. The model is told the JSON Schema of `input`, and what it sends is decoded by that same schema before `run` sees it.
 * V2. Arguments that do not fit are answered with what is wrong and where, so that the model can send them again. So is a
 *     failure of `run`, by its message. Neither ends the turn.
 * V3. Two tools of one name are a bug of the program, and thrown.
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
import { defined, type Message } from "@holdfast/wire"
import { Effect, Layer, Schema } from "effect"
import { Toolbox, type ToolDefinition, type ToolOutcome, unknownTool } from "./Toolbox.ts"

/** A tool, and what it needs to run. */
export interface Tool<out R = never> {
  readonly definition: ToolDefinition
  /** Decodes the arguments, and runs. */
  readonly call: (input: Schema.Json) => Effect.Effect<ToolOutcome, never, R>
}

/** What a tool is made of. */
export interface Options<Input extends Schema.ConstraintDecoder<unknown>, E, R> {
  /** What the model calls it by: letters, digits, `_` and `-`, 64 characters at most, or a provider may refuse it. */
  readonly name: string
  /** What the model is told of when to use it. */
  readonly description?: string
  /** A struct: models send their arguments by name. */
  readonly input: Input
  /** Running it twice does what running it once does (X8). Without it a call that a crash cut off is never made again. */
  readonly isIdempotent?: boolean
  /**
   * Does the work. Its result goes to the model as it is.
   *
   * **Gotchas**
   *
   * Calls of one step run at once. It is interrupted when the turn is aborted. A failure is answered by its message.
   */
  readonly run: (input: Input["Type"]) => Effect.Effect<Schema.Json, E, R>
}

/** Makes a tool. */
export const make = <Input extends Schema.ConstraintDecoder<unknown>, E, R>({
  name,
  description,
  input,
  isIdempotent,
  run
}: Options<Input, E, R>): Tool<R> => {
  const decode = Schema.decodeUnknownEffect(Schema.toCodecJson(input), { errors: "all" })
  return {
    definition: {
      name,
      inputSchema: jsonSchemaOf(input),
      ...defined({ description, isIdempotent })
    },
    call: (given) =>
      decode(given).pipe(
        Effect.matchEffect({
          onFailure: ({ message }) => Effect.succeed(failed(`The arguments of this call do not fit: ${message}`)), // V2
          onSuccess: (decoded) =>
            Effect.match(run(decoded), {
              onFailure: (error) =>
                failed(`The tool failed: ${error instanceof Error ? error.message : String(error)}`),
              onSuccess: (output) => ({ output, isError: false })
            })
        })
      )
  }
}

/** A toolbox of these tools; whatever they need is taken from where it is made. */
export const toolbox = <R>(tools: ReadonlyArray<Tool<R>>): Effect.Effect<Toolbox["Service"], never, R> =>
  Effect.contextWith((context) => {
    const byName = new Map(tools.map((tool) => [tool.definition.name, tool]))
    if (byName.size < tools.length) throw new Error("two tools have the same name") // V3
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

/** The same as a layer. */
export const layer = <R>(...tools: ReadonlyArray<Tool<R>>): Layer.Layer<Toolbox, never, R> =>
  Layer.effect(Toolbox, toolbox(tools))

// --- internal

const failed = (output: string): ToolOutcome => ({ output, isError: true })

const jsonSchemaOf = (input: Schema.Constraint): Schema.Json => {
  const { definitions, schema } = Schema.toJsonSchemaDocument(input)
  return toJson(Object.keys(definitions).length === 0 ? schema : { ...schema, $defs: definitions })
}

const toJson = Schema.decodeUnknownSync(Schema.Json)
