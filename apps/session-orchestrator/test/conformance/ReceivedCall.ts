/** Reads a call from the wire: its target, its key, and the content for the model. */
import { Schema } from "effect"

export interface Asked {
  /** `provider/model`. */
  readonly target: string
  /** The key that it carries, if any. */
  readonly key: string | undefined
  /** One line per message or part of one: role and content. Without instructions: the formats put them in different places. */
  readonly lines: ReadonlyArray<string>
  /** The names of the tools that it offers. */
  readonly offered: ReadonlyArray<string>
}

/** A received request. Names of headers are in lower case. */
export interface Request {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Reads a request. Providers are served under their names: `/scripted/v1/chat/completions`. */
export const read = ({ body, headers, path }: Request): Asked => {
  const { messages, model, tools = [] } = decode(body)
  return {
    target: `${path.split("/")[1]}/${model}`,
    key: headers["x-api-key"] ?? headers["authorization"]?.replace(/^Bearer /, ""),
    lines: messages.filter(({ role }) => role !== "system").flatMap(linesOf),
    offered: tools.map((tool) => ("function" in tool ? tool.function.name : tool.name))
  }
}

// --- internal

const Part = Schema.Struct({
  type: Schema.String,
  text: Schema.optionalKey(Schema.String),
  /** Of Anthropic's tool calls. */
  name: Schema.optionalKey(Schema.String)
})

const WireMessage = Schema.Struct({
  role: Schema.String,
  content: Schema.optionalKey(Schema.NullOr(Schema.Union([Schema.String, Schema.Array(Part)]))),
  /** Of OpenAI's. */
  tool_calls: Schema.optionalKey(Schema.Array(Schema.Struct({ function: Schema.Struct({ name: Schema.String }) })))
})
type WireMessage = typeof WireMessage.Type

const Tool = Schema.Union([
  Schema.Struct({ function: Schema.Struct({ name: Schema.String }) }),
  Schema.Struct({ name: Schema.String })
])

const decode = Schema.decodeUnknownSync(
  Schema.fromJsonString(
    Schema.Struct({
      model: Schema.String,
      messages: Schema.Array(WireMessage),
      tools: Schema.optionalKey(Schema.Array(Tool))
    })
  )
)

/** Tool results are separate lines, without their content: the formats put them in different places. */
const linesOf = ({ role, content, tool_calls = [] }: WireMessage): ReadonlyArray<string> => {
  const calls = tool_calls.map(({ function: { name } }) => `assistant calls ${name}`)
  if (role === "tool") return ["tool"]
  if (typeof content === "string") return [...(content === "" ? [] : [`${role}: ${content}`]), ...calls]
  return [...(content ?? []).map((part) => lineOf(role, part)), ...calls]
}

const lineOf = (role: string, { type, text = "", name = "" }: typeof Part.Type): string => {
  if (type === "tool_result") return "tool"
  return type === "tool_use" ? `${role} calls ${name}` : `${role}: ${text}`
}
