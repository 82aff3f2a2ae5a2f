/** Replies to the calls of a dry run as the simulated provider would, within the time limits of the policy. */
import { type RetryPolicy, Classification } from "@holdfast/policy"
import { Course, Simulated } from "@holdfast/simulated"
import { Target } from "@holdfast/wire"
import type { DryCall, Reply } from "./DryTurn.ts"
import * as Outages from "./Outages.ts"

/** Replies by scripts whose clocks begin at `openedAt`, in epoch milliseconds. */
export const make = (
  outages: Outages.Outages,
  openedAt: number,
  { maxTurns, requestTimeout }: Pick<RetryPolicy.RetryPolicy, "requestTimeout"> & { readonly maxTurns: number }
): ((call: DryCall) => Reply | undefined) => {
  const play = Course.make({ openedAt, maxTurns })
  return ({ now, prompted, request }) => {
    const course = play(
      {
        // Each endpoint counts the requests of a turn for itself.
        turn: `${prompted.turnId} at ${Target.format(request.target)}`,
        startedAt: prompted.startedAt,
        script: Outages.scriptOf(outages, request.target),
        step: request.step,
        afterTool: request.messages.at(-1)?.role === "tool",
        inputTokens: 0,
        bytes: () => Simulated.bytesOf(request)
      },
      now
    )
    return replyOf(course, requestTimeout)
  }
}

// --- internal

type Limits = RetryPolicy.RetryPolicy["requestTimeout"]

const replyOf = (course: Course.Course, limits: Limits): Reply | undefined => {
  const cut = timedOut(course, limits)
  const [contentAt] = course.contentAt
  const first = contentAt === undefined ? undefined : { contentAt: Math.round(contentAt) }
  if (cut !== undefined) {
    const contentSeen = contentAt !== undefined && contentAt < cut.endAt
    const content = contentSeen ? course.content : []
    const outcome = { _tag: "Failed" as const, content, failure: cut.failure, contentSeen }
    return { ...(contentSeen ? first : {}), endAt: Math.round(cut.endAt), outcome }
  }
  const { content, end } = course
  const endAt = Math.round(course.endAt)
  switch (end._tag) {
    case "Silent":
      return undefined
    case "Finished": {
      const { finishReason, usage } = end
      return { ...first, endAt, outcome: { _tag: "Completed", content, finishReason, usage } }
    }
    case "Broken":
      return {
        ...first,
        endAt,
        outcome: { _tag: "Failed", content, failure: end.failure, contentSeen: contentAt !== undefined }
      }
    default:
      return end satisfies never
  }
}

/** The limit that a response exceeds, and when (C8); `undefined`: none. */
const timedOut = ({ contentAt, end, endAt }: Course.Course, { firstContentMs, idleMs }: Limits) => {
  let last = 0
  for (const [n, at] of [...contentAt, end._tag === "Silent" ? Infinity : endAt].entries()) {
    const limitMs = n === 0 ? firstContentMs : idleMs
    if (at - last > limitMs)
      return { endAt: last + limitMs, failure: Classification.timedOut(n === 0 ? "first-content" : "idle", limitMs) }
    last = at
  }
  return undefined
}
