/** Writes the scripted provider's responses in the format of OpenAI's Responses API. */
import { type Answer, type Format, id, named, pieces, secondsTo, type ToolCall } from "./Format.ts"

const itemsOf = (answer: Answer) => ("text" in answer ? [messageOf(answer.text)] : answer.tools.map(callOf))

const messageOf = (text: string) => ({
  id: id("msg_"),
  type: "message" as const,
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text, annotations: [] }]
})

const callOf = ({ input, name }: ToolCall) => ({
  id: id("fc_"),
  type: "function_call" as const,
  status: "completed",
  call_id: id("call_"),
  name,
  arguments: JSON.stringify(input)
})

type Item = ReturnType<typeof messageOf> | ReturnType<typeof callOf>

interface Event {
  readonly type: string
  readonly [key: string]: unknown
}

const responseOf = (name: string, model: string, status: string, output: ReadonlyArray<object>) => ({
  id: name,
  object: "response",
  created_at: 1_790_000_000,
  status,
  model,
  output,
  error: null,
  incomplete_details: null,
  instructions: null,
  metadata: {},
  parallel_tool_calls: true,
  temperature: 1,
  tool_choice: "auto",
  tools: [],
  top_p: 1,
  usage:
    status === "completed"
      ? {
          input_tokens: 12,
          input_tokens_details: { cached_tokens: 0 },
          output_tokens: 7,
          output_tokens_details: { reasoning_tokens: 0 },
          total_tokens: 19
        }
      : null
})

/** The events of an item: of a text its pieces, of a call its arguments at once. */
const eventsOf = (item: Item, output_index: number): ReadonlyArray<Event> => {
  const place = { output_index, item_id: item.id }
  if (item.type === "function_call")
    return [
      { type: "response.function_call_arguments.delta", ...place, delta: item.arguments },
      { type: "response.function_call_arguments.done", ...place, arguments: item.arguments }
    ]
  return item.content.flatMap((part) => {
    const inPart = { ...place, content_index: 0 }
    return [
      { type: "response.content_part.added", ...inPart, part: { ...part, text: "" } },
      ...pieces(part.text).map((delta) => ({ type: "response.output_text.delta", ...inPart, delta, logprobs: [] })),
      { type: "response.output_text.done", ...inPart, text: part.text, logprobs: [] },
      { type: "response.content_part.done", ...inPart, part }
    ]
  })
}

const openingOf = (item: Item): object =>
  item.type === "message"
    ? { ...item, status: "in_progress", content: [] }
    : { ...item, status: "in_progress", arguments: "" }

/** The format. */
export const format: Format = {
  isCall: (path) => /\/responses(\?|$)/u.test(path),
  isStream: ({ body }) => body["stream"] === true,
  frames: (answer, model) => {
    const name = id("resp_")
    const items = itemsOf(answer)
    return [
      { type: "response.created", response: responseOf(name, model, "in_progress", []) },
      { type: "response.in_progress", response: responseOf(name, model, "in_progress", []) },
      ...items.flatMap((item, output_index) => [
        { type: "response.output_item.added", output_index, item: openingOf(item) },
        ...eventsOf(item, output_index),
        { type: "response.output_item.done", output_index, item }
      ]),
      { type: "response.completed", response: responseOf(name, model, "completed", items) }
    ].map((event, sequence_number) => named({ ...event, sequence_number }))
  },
  opening: (model) =>
    named({
      type: "response.created",
      sequence_number: 0,
      response: responseOf(id("resp_"), model, "in_progress", [])
    }),
  document: (answer, model) => responseOf(id("resp_"), model, "completed", itemsOf(answer)),
  errorFrame: named({
    type: "error",
    sequence_number: 0,
    code: "server_is_overloaded",
    message: "The server is overloaded",
    param: null
  }),
  error: (status, message) => ({ error: { message, type: status === 429 ? "rate_limit_error" : "server_error" } }),
  limit: (until, now) => ({
    headers: {},
    body: {
      error: {
        type: "usage_limit_reached",
        message: "The usage limit has been reached",
        plan_type: "plus",
        resets_at: Math.ceil(until / 1_000),
        resets_in_seconds: secondsTo(until, now)
      }
    }
  })
}
