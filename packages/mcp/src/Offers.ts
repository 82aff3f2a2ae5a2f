/**
 * Limits the tools that one server offers to models: their number and their size. Pure.
 *
 * Every request of every turn carries the definitions. The first tools that fit are kept, in the server's order; `allow` and
 * `deny` choose before that.
 */
import type * as Schema from "effect/Schema"

/** A tool as its server describes it. */
export interface Offer {
  readonly name: string
  readonly description: string | undefined
  /** JSON Schema of the arguments. */
  readonly inputSchema: Schema.Json
}

/** With more tools no model chooses well; OpenAI accepts 128 in total. */
export const MAX_TOOLS = 256

/** One definition: a description and a schema of several pages. */
export const MAX_DEFINITION_BYTES = 32_768

/** All definitions of one server: some 65,000 tokens. */
export const MAX_DEFINITIONS_BYTES = 262_144

/** The tools within the limits. */
interface Selection {
  readonly kept: ReadonlyArray<Offer>
  /** Names of the other tools. */
  readonly leftOut: ReadonlyArray<string>
}

/** Selects the tools that are within the limits. */
export const select = (offers: ReadonlyArray<Offer>): Selection => {
  const kept: Array<Offer> = []
  const leftOut: Array<string> = []
  let total = 0
  for (const offer of offers) {
    const size = kept.length < MAX_TOOLS ? sizeOf(offer) : Infinity
    if (size > MAX_DEFINITION_BYTES || total + size > MAX_DEFINITIONS_BYTES) {
      leftOut.push(offer.name)
    } else {
      kept.push(offer)
      total += size
    }
  }
  return { kept, leftOut }
}

/** The warning about tools that were left out; `undefined` if there are none. */
export const warningOf = (
  server: string,
  { kept, leftOut }: Selection,
  /** The server's list is longer than is read. */
  isCut: boolean
): string | undefined => {
  if (leftOut.length === 0 && !isCut) return undefined
  const named = leftOut.slice(0, MOST_NAMED).map((name) => name.slice(0, LONGEST_NAMED).toWellFormed())
  const others = leftOut.length - named.length
  const names = [
    ...named,
    ...(others > 0 ? [`${others} more`] : []),
    ...(isCut ? ["the rest of its list, which is longer than is read"] : [])
  ]
  return (
    `The tool server ${server} offers more than a request can carry: ${kept.length} of its tools are offered to models ` +
    `(at most ${MAX_TOOLS}, of ${MAX_DEFINITION_BYTES / 1_024} KiB each and ${MAX_DEFINITIONS_BYTES / 1_024} KiB together). ` +
    `Left out: ${names.join(", ")}. Choose with tools.${server}.allow and tools.${server}.deny.`
  )
}

/** The size of a definition in a request, in bytes; infinite for a definition that is nested too deeply to be written. */
export const sizeOf = ({ description = "", inputSchema, name }: Offer): number => {
  try {
    return Buffer.byteLength(JSON.stringify([name, description, inputSchema]))
  } catch {
    return Infinity
  }
}

// --- internal

/** The most names in one line of the log. */
const MOST_NAMED = 10
const LONGEST_NAMED = 64
