/**
 * Recognises the conversations of held calls: calls of other programs through the gateway that wait for an answer (X13).
 *
 * Such a conversation has one turn, and only its program can ask again. Lists of conversations leave it out, lists of turns have it. This module imports no
 * schema, so that a page does not load any.
 */

/** The beginning of their ids. */
export const PREFIX = "holdfast-call-"

/** Whether a conversation is that of a held call. */
export const isHeld = (conversationId: string): boolean => conversationId.startsWith(PREFIX)

/** The words for a held call whose time has come, on every screen: its program has left, and no call is made until it asks again. */
export const dueWords = (conversationId: string, leftMs: number): "waits for its program" | undefined =>
  isHeld(conversationId) && leftMs <= 0 ? "waits for its program" : undefined
