/**
 * The model that a request names: in its body, or in its path for Gemini. Another model changes that field alone; every other byte of
 * the request stays.
 */
import { objectOf, textOf } from "../decoding/Json.ts"
import type { Call, Dialect, Format, ForwardedRequest } from "./Dialect.ts"
import * as AnswerFrames from "./AnswerFrames.ts"
import * as JsonMembers from "./JsonMembers.ts"

/** Reads a call whose body has `model` and `stream`. */
export const callInBody =
  (format: Format): Dialect["call"] =>
  (_target, body): Call => {
    const { model, stream } = objectOf(body)
    return { format, framing: stream === true ? "events" : "document", model: textOf(model) }
  }

/** Puts a model into the body's `model`. A body without that field stays as it is. */
export const inBody = ({ body, target }: ForwardedRequest, model: string): ForwardedRequest => {
  const value = new TextEncoder().encode(JSON.stringify(model))
  const pieces: Array<Uint8Array> = []
  let start = 0
  for (const place of JsonMembers.valuesOf(body, "model")) {
    pieces.push(body.subarray(start, place.start), value)
    start = place.end
  }
  return start === 0 ? { body, target } : { body: AnswerFrames.join([...pieces, body.subarray(start)]), target }
}

/** The model in a path. */
export const ofPath = (target: string): string | undefined => {
  const model = IN_PATH.exec(target)?.[2]
  if (model === undefined) return undefined
  try {
    return decodeURIComponent(model)
  } catch {
    return model
  }
}

/** Puts a model into the path. */
export const inPath = ({ body, target }: ForwardedRequest, model: string): ForwardedRequest => ({
  body,
  target: target.replace(IN_PATH, (_, before: string, _model: string, after: string) => {
    return before + encodeURIComponent(model) + after
  })
})

// --- internal

/** A path of Gemini: the part before the model, the model, and the method with the query. */
const IN_PATH = /^([^?#]*\/)([^/:?#]+)(:(?:generateContent|streamGenerateContent)(?:[?#].*)?)$/
