/**
 * Shortens an event's JSON by the facts that its rows hold, and restores it.
 *
 * Most of a small event is the names of its conversation, its turn and its type; a message has them twice more. The rows have these
 * names, so `pack` cuts them out and `unpack` puts them back. Both only cut and join text: the result is the same to the byte, and
 * nothing is parsed.
 *
 * - A text of an unexpected shape is stored whole.
 * - A stored text stays readable in all later versions (wire/CONTRACTS.md): a changed shape gets a new form.
 */
import type { Ids } from "@holdfast/wire"

/** The facts in the rows of an event and of its turn. */
export interface Origin {
  readonly conversationId: Ids.ConversationId
  readonly turnId: Ids.TurnId
  readonly type: string
}

/** The facts in a turn's row about its first events. */
export interface Opening {
  readonly acceptedAt: number
  readonly prompt: string | null | undefined
  /** The parts of a prompt with files, as JSON. */
  readonly content?: string | null | undefined
}

/**
 * Cuts out the facts of the rows; without an `opening` a first event is not cut to nothing.
 *
 * The result has one of these forms, recognised by its first character:
 *
 * - empty: a turn's first event, `turn-start` or its prompt as a message; the turn's row holds all of it, and its row in `turn_prompts`
 *   the parts of a prompt with files.
 * - `,…`: the text after conversation, turn and type.
 * - `user.0,…`: a message: its role and number, and the text after its turn.
 * - `{…`: the whole event.
 */
export const pack = (json: string, origin: Origin, opening: Opening | undefined): string => {
  if (opening !== undefined && isKeptWhole(opening) && json === opened(origin, opening)) return ""
  const identity = identityOf(origin)
  if (!json.startsWith(identity)) return json
  if (origin.type === "message" && json.endsWith("}}")) {
    MESSAGE.lastIndex = identity.length
    const [head, role, of, number, turnId] = MESSAGE.exec(json) ?? []
    if (head !== undefined && of === origin.turnId && turnId === origin.turnId) {
      return `${role}.${number}${json.slice(identity.length + head.length, -1)}`
    }
  }
  return json.slice(identity.length)
}

/** Returns the text that `pack` received. */
export const unpack = (packed: string, origin: Origin, opening: Opening | undefined): string => {
  switch (packed.charAt(0)) {
    case "{":
      return packed
    case ",":
      return identityOf(origin) + packed
    case "":
      return opening === undefined ? packed : opened(origin, opening)
    default:
      return `${identityOf(origin)},"message":${messageOf(packed, origin.turnId)}}`
  }
}

/** The JSON of a turn's first event, from the rows that hold all of it. */
export const opened = (origin: Origin, opening: Opening): string =>
  origin.type === "message"
    ? `${identityOf(origin)},"message":${promptOf(origin.turnId, opening)}}`
    : `${identityOf(origin)},"startedAt":${opening.acceptedAt}${opening.prompt == null ? ',"retry":true' : ""}}`

/**
 * Whether the rows of a turn hold all of its first events: JSON can hold two things that a text column cannot, half a surrogate pair and the
 * character with code 0.
 */
export const isKeptWhole = ({ content, prompt }: Opening): boolean =>
  prompt == null ||
  content != null || // JSON escapes both
  (prompt.isWellFormed() && !prompt.includes("\0"))

// --- internal

/** Ids and types contain no character that JSON would escape. */
const identityOf = ({ conversationId, turnId, type }: Origin): string =>
  `{"conversationId":"${conversationId}","turnId":"${turnId}","type":"${type}"`

const MESSAGE = /,"message":\{"role":"([a-z]+)","id":"([\w-]+)\.(\d+)","turnId":"([\w-]+)"(?=,)/y

const messageOf = (packed: string, turnId: Ids.TurnId): string => {
  const dot = packed.indexOf(".")
  const comma = packed.indexOf(",", dot)
  const number = packed.slice(dot + 1, comma)
  return `{"role":"${packed.slice(0, dot)}","id":"${turnId}.${number}","turnId":"${turnId}"${packed.slice(comma)}`
}

const promptOf = (turnId: Ids.TurnId, { acceptedAt, content, prompt }: Opening): string =>
  `{"role":"user","id":"${turnId}.0","turnId":"${turnId}","createdAt":${acceptedAt},` +
  `"content":${content ?? `[{"type":"text","text":${JSON.stringify(prompt ?? "")}}]`}}`
