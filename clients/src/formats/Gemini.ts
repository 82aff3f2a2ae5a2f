/** Writes the scripted provider's responses in Gemini's format. */
import { type Answer, data, type Format, id, pieces, secondsTo } from "./Format.ts"

const USAGE = { promptTokenCount: 12, candidatesTokenCount: 7, totalTokenCount: 19 }

const partsOf = (answer: Answer): ReadonlyArray<object> =>
  "text" in answer
    ? pieces(answer.text).map((text) => ({ text }))
    : answer.tools.map(({ input, name }) => ({ functionCall: { id: id("call_"), name, args: input } }))

const chunkOf = (parts: ReadonlyArray<object>, model: string, more: object = {}) => ({
  candidates: [{ index: 0, content: { role: "model", parts }, ...more }],
  modelVersion: model,
  responseId: "r"
})

/** The format. */
export const format: Format = {
  isCall: (path) => /:(?:streamGenerateContent|generateContent)(\?|$)/u.test(path),
  isStream: ({ path }) => path.includes(":streamGenerateContent"),
  frames: (answer, model) => {
    const parts = partsOf(answer)
    return [
      ...parts.slice(0, -1).map((part) => data(chunkOf([part], model))),
      data({ ...chunkOf(parts.slice(-1), model, { finishReason: "STOP" }), usageMetadata: USAGE })
    ]
  },
  opening: (model) => data(chunkOf([{ text: "" }], model)),
  document: (answer, model) => ({
    ...chunkOf(partsOf(answer), model, { finishReason: "STOP" }),
    usageMetadata: USAGE
  }),
  errorFrame: data({ error: { code: 503, message: "The model is overloaded.", status: "UNAVAILABLE" } }),
  error: (status, message) => ({
    error: { code: status, message, status: status === 429 ? "RESOURCE_EXHAUSTED" : "UNAVAILABLE" }
  }),
  limit: (until, now) => ({
    headers: { "retry-after": String(secondsTo(until, now)) },
    body: { error: { code: 429, message: "Too many requests", status: "RESOURCE_EXHAUSTED" } }
  })
}
