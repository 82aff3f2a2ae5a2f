/** Ids of the conversations of held calls (rule X13). They have the call's key, so that a wait is found by it after a restart. */
import { HeldCall, Ids } from "@holdfast/wire"

/** The beginning of such ids; lists of conversations leave them out. */
export const PREFIX = HeldCall.PREFIX

/** Characters of a call's key. */
export const KEY_LENGTH = 22

/** Characters at its beginning that name the call whatever its login is. */
export const CALL_LENGTH = 11

/** The id of the one turn of a held call: short enough for a person to type. `since` is when the call began, in epoch milliseconds. */
export const turn = (since: number, chance: string): Ids.TurnId =>
  Ids.TurnId.make(`${TURN}${since.toString(36)}-${chance}`)

/** The conversation of a turn; another `chance` makes another id of the same turn. */
export const make = (key: string, turnId: Ids.TurnId, chance: string): Ids.ConversationId =>
  Ids.ConversationId.make(`${PREFIX}${key}-${turnId.slice(TURN.length)}-${chance}`)

/** The conversation of a turn that is not on disk. Without a key: that costs a digest of the body, and most calls need none. */
export const draft = (turnId: Ids.TurnId): Ids.ConversationId => Ids.ConversationId.make(`${PREFIX}${turnId}`)

/** The turn of a conversation. What follows a hyphen in its `chance` is not part of it. */
export const turnOf = (id: Ids.ConversationId): Ids.TurnId =>
  Ids.TurnId.make(`${TURN}${partsOf(id).slice(0, 2).join("-")}`)

/** The call of a conversation; `undefined` for any other conversation. */
export const read = (id: Ids.ConversationId): { readonly key: string; readonly since: number } | undefined => {
  if (!id.startsWith(PREFIX)) return undefined
  const [since = ""] = partsOf(id)
  return { key: id.slice(PREFIX.length, KEY_END), since: Number.parseInt(since, 36) }
}

/** Whether a conversation is that of a held call. */
export const isHeld: (id: Ids.ConversationId) => boolean = HeldCall.isHeld

// --- internal

const TURN = "call-"

const KEY_END = PREFIX.length + KEY_LENGTH

/** What stands behind the key, which may have hyphens of its own. */
const partsOf = (id: Ids.ConversationId): ReadonlyArray<string> => id.slice(KEY_END + 1).split("-")
