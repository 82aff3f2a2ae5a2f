/**
 * The attempts behind the next one, as the service expects them. Pure.
 *
 * The next attempt's time is fixed. A later one comes not before its time: attempts take time of their own, and a part of its wait may be
 * drawn at random.
 */
import { Count, type ConversationState } from "@holdfast/wire"
import * as Moments from "../text/Moments.ts"

/** An attempt behind the next one. */
interface Later {
  /** The shortest wait before it. */
  readonly delayMs: number
  /** The longest; the same where nothing is drawn at random. */
  readonly mostMs: number
  /** The earliest moment, by the clock of `dueAt`. */
  readonly notBefore: number
}

/** The later attempts, by the moment of the next one. */
export const of = ({ delaysMs, jitter = 0 }: ConversationState.Upcoming, dueAt: number): ReadonlyArray<Later> => {
  let notBefore = dueAt
  return delaysMs.map((delayMs) => {
    notBefore += delayMs
    return { delayMs, mostMs: Math.floor(delayMs * (1 + jitter)), notBefore }
  })
}

/** The sentence about the attempts behind the next one, and about the end of the turn. */
export const wordsOf = (
  { because, jitter }: ConversationState.Upcoming,
  later: ReadonlyArray<Later>,
  now: number
): string => {
  const last = later.at(-1)
  if (last === undefined) return because === undefined ? "" : `If it fails, the turn fails: ${ENDS[because]}.`
  const count = `${because === undefined ? "more than " : ""}${Count.of(later.length, "attempt")}`
  const random = jitter === undefined ? "" : ` Each wait is up to ${Math.round(jitter * 100)} % longer, at random.`
  const end =
    because === undefined
      ? "."
      : `, ${later.length === 1 ? "" : "the last one "}not before ${Moments.moment(last.notBefore, now)}; then ${ENDS[because]}.`
  return `If it keeps failing, ${count} ${later.length === 1 ? "follows" : "follow"}${end}${random}`
}

// --- internal

const ENDS: Readonly<Record<NonNullable<ConversationState.Upcoming["because"]>, string>> = {
  budget: "the waiting time is used up",
  "max-retries": "no further retry is allowed",
  "max-delay": "the next wait would be longer than allowed",
  disabled: "retries are switched off"
}
