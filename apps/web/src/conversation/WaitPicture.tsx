/**
 * The attempts of the waiting step in a row: those that failed, the next one, and those behind it.
 *
 * The places are even, because waits of one night are seconds and hours. A solid line is a wait whose length is fixed, a dashed line leads to an attempt that
 * comes not before its time.
 */
import { ConversationView } from "@holdfast/client"
import { Count, type ConversationState, HeldCall } from "@holdfast/wire"
import * as Moments from "../text/Moments.ts"
import { useNow } from "../time/Now.ts"
import type { WaitCourse } from "./WaitCourse.ts"
import "./wait-picture.css"

interface WaitPictureProps {
  readonly conversationId: string
  readonly course: WaitCourse
  readonly retry: ConversationView.ShownRetry
  readonly upcoming: ConversationState.Upcoming | undefined
}

/** The picture, with its sentence. */
export const WaitPicture = ({ conversationId, course: { failures }, retry, upcoming }: WaitPictureProps) => {
  const now = useNow()
  const skewMs = retry.retryAt - retry.dueAt
  const later = upcoming === undefined ? [] : laterOf(upcoming, retry.dueAt)
  const shown = later.slice(0, MOST_LATER)
  const past = failures.slice(-MOST_FAILED)
  const begunAt = retry.dueAt - retry.delayMs
  const passed = Math.min(1, Math.max(0, (now - begunAt) / Math.max(1, retry.delayMs)))
  const sentence = upcoming === undefined ? "" : wordsOf(upcoming, later, now)
  const failed = Count.of(failures.length, "failed attempt")
  const due = HeldCall.dueWords(conversationId, ConversationView.remainingMs(retry, now))
  return (
    <div className="wait-picture">
      <div
        className="attempts"
        role="img"
        aria-label={`${failed}; the next one ${due ?? `is due at ${Moments.moment(retry.dueAt, now)}`}`}
      >
        {past.map(({ at, code }, index) => {
          const before = past[index - 1] ?? failures[failures.length - past.length - 1]
          const gap = at - (before?.at ?? 0)
          return (
            <AttemptMark
              key={index}
              kind="failed"
              wait={before === undefined ? undefined : Moments.duration(at - before.at)}
              moment={Moments.after(at - skewMs, Math.min(gap, (past[index + 1]?.at ?? at + retry.delayMs) - at))}
              code={code}
            />
          )
        })}
        <AttemptMark
          kind="next"
          wait={Moments.duration(retry.delayMs)}
          moment={Moments.after(retry.dueAt, retry.delayMs)}
          passed={passed}
        />
        {shown.map(({ delayMs, mostMs, notBefore }, index) => (
          <AttemptMark
            key={`later ${index}`}
            kind="later"
            wait={mostMs > delayMs ? `${Moments.duration(delayMs)} +` : Moments.duration(delayMs)}
            moment={Moments.after(notBefore, delayMs)}
          />
        ))}
        {later.length > shown.length && <span className="attempts-more">+ {later.length - shown.length}</span>}
      </div>
      {sentence !== "" && <p className="wait-later">{sentence}</p>}
    </div>
  )
}

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
export const laterOf = ({ delaysMs, jitter = 0 }: ConversationState.Upcoming, dueAt: number): ReadonlyArray<Later> => {
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

const MOST_FAILED = 3
const MOST_LATER = 4

interface AttemptMarkProps {
  readonly kind: "failed" | "next" | "later"
  /** The wait before it; absent for the first attempt. */
  readonly wait: string | undefined
  readonly moment: string
  /** The code of the attempt that failed. */
  readonly code?: string | undefined
  /** The part of the wait that has passed. */
  readonly passed?: number
}

const AttemptMark = ({ code, kind, moment, passed, wait }: AttemptMarkProps) => (
  <span className={wait === undefined ? `attempt ${kind} first` : `attempt ${kind}`} title={code}>
    <span className="attempt-wait">{wait}</span>
    <span className="attempt-line">
      {passed !== undefined && <span className="attempt-passed" style={{ width: `${(passed * 100).toFixed(2)}%` }} />}
    </span>
    <span className="attempt-dot" />
    <span className="attempt-moment">{moment}</span>
  </span>
)

const ENDS: Readonly<Record<NonNullable<ConversationState.Upcoming["because"]>, string>> = {
  budget: "the waiting time is used up",
  "max-retries": "no further retry is allowed",
  "max-delay": "the next wait would be longer than allowed",
  disabled: "retries are switched off"
}
