/**
 * The wait of a turn: the error with its code, the countdown, the budget, and the commands that end or change the wait (D13, X4).
 *
 * With `asks` the turn waits for a person's answer instead of a time (X11).
 */
import { ConversationView } from "@holdfast/client"
import { HeldCall } from "@holdfast/wire"
import { useQuery } from "@tanstack/react-query"
import { useId } from "react"
import * as Service from "../service/Service.ts"
import * as Moments from "../text/Moments.ts"
import * as ReasonText from "../text/ReasonText.ts"
import { useNow } from "../time/Now.ts"
import { WaitButtons } from "./WaitButtons.tsx"
import * as WaitCourse from "./WaitCourse.ts"
import { WaitPicture } from "./WaitPicture.tsx"
import "./wait.css"

interface WaitNoticeProps {
  readonly conversationId: string
  readonly retry: ConversationView.ShownRetry
}

/** The yellow message of a wait. */
export const WaitNotice = ({ conversationId, retry }: WaitNoticeProps) => {
  const id = useId()
  const { data: explanation } = useQuery({
    queryKey: ["explain", retry.turnId, retry.attempt, retry.retryAt, retry.asks !== undefined],
    queryFn: ({ signal }) => Service.client.turn(retry.turnId).explain({ signal }),
    // Another tab may extend the budget.
    refetchInterval: AGAIN_MS
  })
  const { data: state } = useQuery({
    queryKey: ["explain", "upcoming", retry.turnId, retry.attempt, retry.retryAt],
    queryFn: ({ signal }) => Service.client.conversation(conversationId).getState({ signal }),
    refetchInterval: AGAIN_MS,
    enabled: retry.asks === undefined
  })
  const upcoming = state?.turnId === retry.turnId ? state.retry?.upcoming : undefined
  const course = explanation === undefined ? undefined : WaitCourse.of(explanation)
  const { asks, code, credential, message, reason, target } = retry
  return (
    <section className={asks === undefined ? "wait" : "wait asks"} aria-labelledby={id}>
      <h2 id={id}>
        {asks === undefined ? ReasonText.wordsOf(reason) : "Holdfast asks before it goes on"}
        {asks === undefined && code !== undefined && <code className="code-tag">{code}</code>}
      </h2>
      {asks !== undefined && <p>{asks.message}</p>}
      <p className="verbatim">
        <span className="quiet">{target}: </span>
        {message}
        {asks !== undefined && code !== undefined && <code className="code-tag">{code}</code>}
      </p>
      <Countdown conversationId={conversationId} retry={retry} />
      <p className="facts">
        {factsOf(retry, course).map((fact) => (
          <span key={fact}>{fact}</span>
        ))}
        {credential !== undefined && <span>with the key “{credential}”</span>}
      </p>
      {course?.deaths.map((at) => (
        <p key={at} className="facts">
          The service’s process died. The next one went on with this wait at{" "}
          {Moments.moment(at - (retry.retryAt - retry.dueAt), Date.now())}.
        </p>
      ))}
      {course !== undefined && asks === undefined && (
        <WaitPicture conversationId={conversationId} course={course} retry={retry} upcoming={upcoming} />
      )}
      <WaitButtons conversationId={conversationId} retry={retry} hasBudget={course?.budget?.totalMs !== undefined} />
    </section>
  )
}

// --- internal

const AGAIN_MS = 15_000

/** A timer is not a live region: a screen reader reads it when it is asked to. */
const Countdown = ({ conversationId, retry }: WaitNoticeProps) => {
  const now = useNow()
  const left = ConversationView.remainingMs(retry, now)
  const at = Moments.moment(retry.dueAt, now)
  const due = HeldCall.dueWords(conversationId, left)
  if (due !== undefined) return <p className="countdown">The call {due}.</p>
  return (
    <p className="countdown" role="timer">
      {retry.asks !== undefined
        ? `${Moments.countdown(left)} left to answer; without an answer the turn ends at ${at}`
        : left > 0
          ? `Next attempt in ${Moments.countdown(left)}, at ${at}`
          : "The next attempt is due; it starts as soon as the endpoint admits it."}
    </p>
  )
}

const factsOf = (
  { attempt, maxAttempts }: ConversationView.ShownRetry,
  course: WaitCourse.WaitCourse | undefined
): ReadonlyArray<string> => [
  `Retry ${attempt + 1}${maxAttempts === undefined ? "" : ` of ${maxAttempts}`}`,
  ...(course?.budget === undefined
    ? []
    : course.budget.totalMs === undefined
      ? ["no limit of waiting time"]
      : [
          `${Moments.duration(Math.max(0, course.budget.totalMs - course.budget.usedMs))} of ${Moments.duration(course.budget.totalMs)} waiting time left after this wait`
        ])
]
