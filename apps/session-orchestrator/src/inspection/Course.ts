/** Makes the course of a turn from its explanation: attempts and waits as spans of time. Pure. */
import { defined, Failure, TurnCourse, type TurnExplanation } from "@holdfast/wire"

/** The course of a turn until `now`. */
export const of = (
  { acceptedAt, seal, steps, turnId }: TurnExplanation.TurnExplanation,
  now: number
): TurnCourse.TurnCourse => {
  const attempts: Array<TurnCourse.CourseAttempt> = []
  const latest = seal?.endedAt ?? now
  let at = acceptedAt
  for (const { attempts: made, step, tools } of steps) {
    for (const explained of made) {
      const attempt = attemptOf(explained, step, at, seal?.endedAt)
      attempts.push(attempt)
      // The spans of a clock that was set back would overlap (TurnCourse.C2).
      at = Math.max(at, attempt.wait?.to ?? attempt.to ?? latest)
    }
    at = Math.max(at, ...tools.map(({ endedAt = 0 }) => endedAt))
  }
  const shown = attempts.slice(-TurnCourse.MOST_ATTEMPTS)
  return { turnId, attempts: shown, omitted: attempts.length - shown.length }
}

// --- internal

const attemptOf = (
  explained: TurnExplanation.Attempt,
  step: number,
  from: number,
  sealedAt: number | undefined
): TurnCourse.CourseAttempt => {
  const { attempt, failure, target } = explained
  const end = explained.endedAt ?? sealedAt
  const to = end === undefined ? undefined : Math.max(from, end)
  return {
    step,
    attempt,
    target,
    from,
    ...defined({ to }),
    outcome: outcomeOf(explained),
    ...defined({
      code: failure === undefined ? undefined : Failure.codeOf(failure),
      wait: waitOf(explained, to ?? from)
    })
  }
}

const outcomeOf = ({ failure, outcome }: TurnExplanation.Attempt): TurnCourse.CourseOutcome => {
  if (outcome === "completed") return "answered"
  return outcome === "failed" && failure?.shared === true ? "shared" : outcome
}

const waitOf = ({ decision, wait }: TurnExplanation.Attempt, from: number): TurnCourse.CourseWait | undefined => {
  if (wait === undefined || decision?.type !== "retry") return undefined
  const { deaths, end, retryAt } = wait
  return {
    from,
    // Older records lack the time of an end; an answered question has moved the end.
    to: Math.max(from, end === undefined ? retryAt : (end.at ?? retryAt)),
    ...defined({ end: end?.type, deaths: deaths?.map(({ at }) => at) })
  }
}
