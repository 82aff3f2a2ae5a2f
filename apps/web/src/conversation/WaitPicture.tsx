/**
 * The attempts of the waiting step in a row: those that failed, the next one, and those behind it.
 *
 * The places are even, because waits of one night are seconds and hours. A solid line is a wait whose length is fixed, a dashed line leads to an attempt that
 * comes not before its time.
 */
import type { ConversationView } from "@holdfast/client"
import { Count, type ConversationState } from "@holdfast/wire"
import * as Moments from "../text/Moments.ts"
import { useNow } from "../time/Now.ts"
import type { WaitCourse } from "./WaitCourse.ts"
import * as WaitSchedule from "./WaitSchedule.ts"
import "./wait-picture.css"

interface WaitPictureProps {
  readonly course: WaitCourse
  readonly retry: ConversationView.ShownRetry
  readonly upcoming: ConversationState.Upcoming | undefined
}

/** The picture, with its sentence. */
export const WaitPicture = ({ course: { failures }, retry, upcoming }: WaitPictureProps) => {
  const now = useNow()
  const skewMs = retry.retryAt - retry.dueAt
  const later = upcoming === undefined ? [] : WaitSchedule.of(upcoming, retry.dueAt)
  const shown = later.slice(0, MOST_LATER)
  const past = failures.slice(-MOST_FAILED)
  const begunAt = retry.dueAt - retry.delayMs
  const passed = Math.min(1, Math.max(0, (now - begunAt) / Math.max(1, retry.delayMs)))
  const sentence = upcoming === undefined ? "" : WaitSchedule.wordsOf(upcoming, later, now)
  const failed = Count.of(failures.length, "failed attempt")
  return (
    <div className="wait-picture">
      <div
        className="attempts"
        role="img"
        aria-label={`${failed}; the next one is due at ${Moments.moment(retry.dueAt, now)}`}
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
