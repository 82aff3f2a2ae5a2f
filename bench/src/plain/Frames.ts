/**
 * The bare limits of a live stream, for `PlainServer`: a provider's SSE text to NDJSON lines by hand, with a parser (`parse`) and as the
 * service does it (`template`).
 */

/** Takes what a read brought, and returns the lines of its deltas. A frame that is cut is kept for the next read. */
export type Reader = (text: string) => string

/** Every frame parsed, every line built. */
export const parse = (): Reader => overFrames(parsed)

/**
 * The short cut that `DeltaTemplate` takes: a frame that has the same around its text as the last parsed one is not parsed. The text
 * goes out as the JSON string that it came as.
 */
export const template = (): Reader => {
  let before = ""
  let behind = ""
  return overFrames((data) => {
    if (before !== "" && data.slice(0, before.length) === before && data.slice(-behind.length) === behind) {
      const raw = data.slice(before.length, -behind.length)
      // One JSON string and nothing else; what has escapes is left to the parser.
      if (!raw.includes('"') && !raw.includes("\\")) return OPEN + raw + CLOSE
    }
    const line = parsed(data)
    const literal = JSON.stringify(deltaOf(data) ?? "")
    const at = literal === '""' ? -1 : data.indexOf(`:${literal}`)
    before = at < 0 ? "" : data.slice(0, at + 2)
    behind = at < 0 ? "" : data.slice(at + literal.length)
    return line
  })
}

// --- internal

const OPEN = '{"type":"text-delta","conversationId":"c1","turnId":"t1","delta":"'
const CLOSE = '"}\n'

const overFrames = (lineOf: (data: string) => string): Reader => {
  let rest = ""
  return (text) => {
    const lines = (rest + text).split("\n")
    rest = lines.pop() ?? ""
    let out = ""
    for (const line of lines) {
      if (line.startsWith("data: ") && line !== "data: [DONE]") out += lineOf(line.slice(6))
    }
    return out
  }
}

const deltaOf = (data: string): unknown => JSON.parse(data).choices[0]?.delta?.content

const parsed = (data: string): string => {
  const delta = deltaOf(data)
  return typeof delta === "string"
    ? `${JSON.stringify({ type: "text-delta", conversationId: "c1", turnId: "t1", delta })}\n`
    : ""
}
