/**
 * What a person is notified of: turns that have ended, and turns that ask. Pure.
 *
 * A turn's end, and each of its questions, is one notice. What was there at the first read is none. Many at once are one: when an
 * endpoint comes back, a night's turns end together.
 *
 * The conversation that a person is looking at has none.
 */
import type { TurnState } from "@holdfast/wire"

/** A turn, as far as notices are about it. */
export type Watched = Pick<TurnState.TurnSummary, "turnId" | "conversationId" | "status" | "attempts"> &
  Partial<Pick<TurnState.TurnSummary, "prompt" | "error" | "wait">>

/** A notice. The same `tag` in two tabs is one notice on the desktop. */
export interface DesktopNotice {
  readonly tag: string
  readonly title: string
  readonly body: string
  /** Where it leads; absent: to the night. */
  readonly conversationId: string | undefined
}

/** The tags that earlier reads have found. */
export type Known = ReadonlySet<string>

/** The tags after a read, and its notices. `known` is absent at the first read; `shown` is the conversation that a person is looking at. */
export const of = (
  known: Known | undefined,
  turns: ReadonlyArray<Watched>,
  shown: string | undefined
): { readonly known: Known; readonly notices: ReadonlyArray<DesktopNotice> } => {
  const found = turns.flatMap((turn) => {
    const kind = kindOf(turn)
    return kind === undefined ? [] : [{ turn, kind, tag: tagOf(turn, kind) }]
  })
  const next = new Set([...(known ?? []), ...found.map(({ tag }) => tag)])
  if (known === undefined) return { known: next, notices: [] }
  const fresh = found.filter(
    ({ tag, turn }, index) =>
      !known.has(tag) && turn.conversationId !== shown && found.findIndex((other) => other.tag === tag) === index
  )
  if (fresh.length <= MOST) return { known: next, notices: fresh.map(noticeOf) }
  return { known: next, notices: [sumOf(fresh)] }
}

// --- internal

/** More at once are one notice. */
const MOST = 3

const MOST_PROMPT = 80

type Kind = "completed" | "failed" | "aborted" | "asks"

interface Found {
  readonly turn: Watched
  readonly kind: Kind
  readonly tag: string
}

const kindOf = ({ status, wait }: Watched): Kind | undefined => {
  if (status === "completed" || status === "failed" || status === "aborted") return status
  return status === "waiting" && wait?.asks !== undefined ? "asks" : undefined
}

/** A turn asks again after another attempt. */
const tagOf = ({ attempts, turnId }: Watched, kind: Kind): string =>
  kind === "asks" ? `${turnId} asks ${attempts}` : `${turnId} ended`

const TITLES: Readonly<Record<Kind, string>> = {
  completed: "Answered",
  failed: "Failed",
  aborted: "Aborted",
  asks: "Asks you"
}

const noticeOf = ({ kind, tag, turn: { conversationId, error, prompt, wait } }: Found): DesktopNotice => {
  const text = prompt ?? "The model ran again"
  const about = text.length > MOST_PROMPT ? `${text.slice(0, MOST_PROMPT)} …` : text
  const why = kind === "failed" ? error?.message : kind === "asks" ? wait?.asks?.message : undefined
  return { tag, title: `${TITLES[kind]}: ${about}`, body: why ?? "", conversationId }
}

const sumOf = (found: ReadonlyArray<Found>): DesktopNotice => {
  const counts = (["asks", "failed", "completed", "aborted"] as const).flatMap((kind) => {
    const count = found.filter((each) => each.kind === kind).length
    return count === 0 ? [] : [`${count} ${WORDS[kind]}`]
  })
  return {
    tag: `sum ${found[0]?.tag}`,
    title: `${found.length} turns have ended or ask`,
    body: counts.join(", "),
    conversationId: undefined
  }
}

const WORDS: Readonly<Record<Kind, string>> = {
  completed: "answered",
  failed: "failed",
  aborted: "aborted",
  asks: "waiting for your answer"
}
