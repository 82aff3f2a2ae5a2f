/** What a conversation is doing, in the words of the list. Pure. */
import { type ConversationState, HeldCall, type TurnState } from "@holdfast/wire"
import * as Moments from "../text/Moments.ts"

/** What a conversation is doing. */
export type ConversationStatus =
  | { readonly kind: "empty" | "unknown" | "streaming" | "queued" | "done" | "aborted" }
  | { readonly kind: "waiting" | "asking"; readonly dueAt: number }
  | { readonly kind: "failed"; readonly message: string }

/** The state of a turn, as far as the list shows it. */
export type ShownTurn = Pick<TurnState.TurnState, "turnId" | "status" | "wait" | "error">

/** What a conversation is doing, from its newest turn. */
export const of = (
  { isBusy, lastTurnId }: Pick<ConversationState.ConversationSummary, "isBusy" | "lastTurnId">,
  turn: ShownTurn | undefined
): ConversationStatus => {
  if (lastTurnId === undefined) return { kind: "empty" }
  if (turn === undefined) return { kind: isBusy ? "streaming" : "unknown" }
  switch (turn.status) {
    case "waiting":
      return turn.wait === undefined
        ? { kind: "streaming" }
        : { kind: turn.wait.asks === undefined ? "waiting" : "asking", dueAt: turn.wait.retryAt }
    case "failed":
      return { kind: "failed", message: turn.error?.message ?? "" }
    case "running":
      return { kind: "streaming" }
    case "queued":
      return { kind: "queued" }
    case "completed":
      return { kind: "done" }
    case "aborted":
      return { kind: "aborted" }
    default:
      turn.status satisfies never
      return { kind: "unknown" }
  }
}

/**
 * Compares two conversations for the list: those that go on now come first, the newest turn on top, so that they keep their places; behind
 * them the others, by the end of their newest turn.
 */
export const compare = (one: Active, other: Active): number => {
  const [a, b] = [placeOf(one), placeOf(other)]
  return Number(b.goesOn) - Number(a.goesOn) || b.at - a.at
}

/** The words for a status at a moment. `conversationId`: that of a call of another program. */
export const wordsOf = (status: ConversationStatus, now: number, conversationId = ""): string => {
  switch (status.kind) {
    case "waiting":
      if (status.dueAt > now) return `waits ${Moments.countdown(status.dueAt - now)}`
      return HeldCall.dueWords(conversationId, 0) ?? "about to retry"
    case "asking":
      return `asks you · ${Moments.countdown(status.dueAt - now)} left`
    default:
      return WORDS[status.kind]
  }
}

// --- internal

const WORDS: Readonly<Record<Exclude<ConversationStatus["kind"], "waiting" | "asking">, string>> = {
  failed: "failed",
  streaming: "working",
  queued: "queued",
  done: "done",
  aborted: "aborted",
  empty: "no prompt yet",
  unknown: ""
}

/** A conversation and the turn that it is at. */
interface Active {
  readonly conversation: Pick<ConversationState.ConversationSummary, "createdAt" | "isBusy">
  readonly turn: Pick<TurnState.TurnState, "acceptedAt" | "endedAt"> | undefined
}

const placeOf = ({ conversation: { createdAt, isBusy }, turn }: Active) => ({
  goesOn: turn === undefined ? isBusy : turn.endedAt === undefined,
  at: turn?.endedAt ?? turn?.acceptedAt ?? createdAt
})
