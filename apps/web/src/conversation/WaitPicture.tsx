/** The attempts of the waiting step on a line of time, up to the next one. */
import type { ConversationView } from "@holdfast/client"
import * as Durations from "../text/Durations.ts"
import { useNow } from "../time/Now.ts"
import type { WaitCourse } from "./WaitCourse.ts"

/** Percent of the width that stay free at both ends, and the height of the line in pixels. */
const MARGIN = 2
const MIDDLE = 14

interface WaitPictureProps {
  readonly course: WaitCourse
  readonly retry: ConversationView.PendingRetry
}

/** The line of time of a wait. */
export const WaitPicture = ({ course: { failures }, retry }: WaitPictureProps) => {
  const now = useNow()
  const [first] = failures
  if (first === undefined) return null
  const until = Math.max(retry.retryAt, first.at + 1)
  const xOf = (at: number): string => {
    const part = Math.min(1, Math.max(0, (at - first.at) / (until - first.at)))
    return `${(MARGIN + (100 - 2 * MARGIN) * part).toFixed(2)}%`
  }
  // The server's clock, as the times of the attempts.
  const present = xOf(now + (retry.retryAt - retry.dueAt))
  const words = `${failures.length} failed ${failures.length === 1 ? "attempt" : "attempts"} since ${Durations.moment(first.at, now)}; the next one is due at ${Durations.moment(retry.dueAt, now)}`
  return (
    <svg className="wait-picture" role="img" aria-label={words}>
      <line className="axis" x1={`${MARGIN}%`} x2={`${100 - MARGIN}%`} y1={MIDDLE} y2={MIDDLE} />
      <line className="passed" x1={`${MARGIN}%`} x2={present} y1={MIDDLE} y2={MIDDLE} />
      {failures.map(({ at }, index) => (
        <circle key={index} className="failed" cx={xOf(at)} cy={MIDDLE} r={5} />
      ))}
      <circle className="next" cx={xOf(retry.retryAt)} cy={MIDDLE} r={6} />
    </svg>
  )
}
