/** Parts of a response, as the given model gave them, in the form in which a provider gives them to Effect AI. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as AiError from "effect/ai/AiError"
import type * as LanguageModel from "effect/ai/LanguageModel"
import * as Response from "effect/ai/Response"
import type * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"

/** What was asked for. */
type Options = Pick<LanguageModel.ProviderOptions, "toolCallValidation" | "tools">

/** Tools for a request whose calls are not run. */
export const described = (tools: ReadonlyArray<Tool.Any>): Toolkit.WithHandler<Record<string, Tool.Any>> => ({
  tools: Object.fromEntries(tools.map((tool) => [tool.name, tool])),
  handle: (name) => Effect.die(new Error(`The tool ${name} is run by the outer model alone.`))
})

/** Encodes a part. A call of a tool that was not offered fails, unless calls are checked later. */
export const one = <Part extends { readonly type: string }>(
  method: string,
  part: Part,
  options: Options
): Effect.Effect<never, AiError.AiError> => {
  // The parameters are the provider's already: they were not decoded.
  if (isToolCall(part)) return Effect.as(offered(method, part, options), part) as never
  if (isToolResult(part)) return Effect.succeed({ ...part, result: part.encodedResult }) as never
  return Effect.mapError(encode(part as never), (error) =>
    AiError.make({ module: "Holdfast", method, reason: AiError.InvalidOutputError.fromSchemaError(error) })
  ) as never
}

/** Encodes the parts of a whole response. */
export const all = <Part extends { readonly type: string }>(
  method: string,
  parts: ReadonlyArray<Part>,
  options: Options
): Effect.Effect<Array<Response.PartEncoded>, AiError.AiError> =>
  Effect.forEach(parts, (part) => one(method, part, options))

// --- internal

const encode = Schema.encodeEffect(Response.AllParts(Toolkit.empty))

const isToolCall = (part: object): part is Response.ToolCallPartEncoded => Reflect.get(part, "type") === "tool-call"

const isToolResult = (part: object): part is Response.ToolResultPart<string, unknown, unknown> =>
  Reflect.get(part, "type") === "tool-result"

const offered = (
  method: string,
  { name, providerExecuted }: Response.ToolCallPartEncoded,
  { toolCallValidation, tools }: Options
): Effect.Effect<void, AiError.AiError> => {
  const availableTools = tools.map(({ name }) => name)
  if (toolCallValidation === "deferred" || providerExecuted === true || availableTools.includes(name))
    return Effect.void
  const reason = new AiError.ToolNotFoundError({ toolName: name, availableTools })
  return Effect.fail(AiError.make({ module: "Holdfast", method, reason }))
}
