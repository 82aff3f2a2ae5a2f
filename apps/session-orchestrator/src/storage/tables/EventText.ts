/**
 * An event's JSON, with and without what its rows say already.
 *
 * Most of a small event is names: of its conversation, its turn, its type, and of a message twice more. The row has them, so they are
 * left out on the way in and put back on the way out, by cutting and joining text: what comes out is what went in, to the byte, and
 * nothing is parsed.
 *
 * What is on disk is one of these; the first character tells which:
 *
 * - nothing: what a turn says first, `turn-start` or its prompt as a message, which its row says in full.
 * - `,…`: what comes behind conversation, turn and type.
 * - `user.0,…`: a message: whose it is and its number, and what comes behind its turn.
 * - `{…`: the event as it is.
 *
 * T1. `unpack` gives what `pack` was given. What does not have the shape that is expected goes to disk as it is.
 * T2. What was packed once is read for ever (wire/CONTRACTS.md): a shape that changes gets a form of its own.
 */
import type { Ids } from "@holdfast/wire"

/** What the rows of an event and of its turn say. */
export interface Origin {
  readonly conversationId: Ids.ConversationId
  readonly turnId: Ids.TurnId
  readonly type: string
}

/** What a turn's row says of its first events. */
export interface Opening {
  readonly acceptedAt: number
  readonly prompt: string | null | undefined
}

/** Leaves out what the rows say; without an `opening`, what that would say stays. */
export const pack = (json: string, origin: Origin, opening: Opening | undefined): string => {
  if (opening !== undefined && isKeptWhole(opening.prompt) && json === opened(origin, opening)) return ""
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

/** Puts back what was left out: the whole event. */
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

/**
 * As much of a message's event as has the message in it.
 *
 * Histories are read at every wake, with a hundred messages and more; nobody wants the rest of their events.
 */
export const unpackMessage = (packed: string, turnId: Ids.TurnId, opening: Opening): string => {
  switch (packed.charAt(0)) {
    case "{":
      return packed
    case ",":
      return `{"type":"message"${packed}`
    case "":
      return `{"message":${promptOf(turnId, opening)}}`
    default:
      return `{"message":${messageOf(packed, turnId)}}`
  }
}

// --- internal

/** Ids and types have no character that JSON would escape. */
const identityOf = ({ conversationId, turnId, type }: Origin): string =>
  `{"conversationId":"${conversationId}","turnId":"${turnId}","type":"${type}"`

const MESSAGE = /,"message":\{"role":"([a-z]+)","id":"([\w-]+)\.(\d+)","turnId":"([\w-]+)"(?=,)/y

const messageOf = (packed: string, turnId: Ids.TurnId): string => {
  const dot = packed.indexOf(".")
  const comma = packed.indexOf(",", dot)
  const number = packed.slice(dot + 1, comma)
  return `{"role":"${packed.slice(0, dot)}","id":"${turnId}.${number}","turnId":"${turnId}"${packed.slice(comma)}`
}

/** What a turn says first (T2). */
const opened = (origin: Origin, opening: Opening): string =>
  origin.type === "message"
    ? `${identityOf(origin)},"message":${promptOf(origin.turnId, opening)}}`
    : `${identityOf(origin)},"startedAt":${opening.acceptedAt}${opening.prompt == null ? ',"retry":true' : ""}}`

const promptOf = (turnId: Ids.TurnId, { acceptedAt, prompt }: Opening): string =>
  `{"role":"user","id":"${turnId}.0","turnId":"${turnId}","createdAt":${acceptedAt},` +
  `"content":[{"type":"text","text":${JSON.stringify(prompt ?? "")}}]}`

/** JSON can hold what a column of text cannot: half a character, and the one whose code is 0. */
const isKeptWhole = (prompt: string | null | undefined): boolean =>
  prompt == null || (prompt.isWellFormed() && !prompt.includes("\0"))
