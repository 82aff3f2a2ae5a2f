/**
 * The outages of a dry run: for each endpoint a script of the simulated provider.
 *
 * One script is for every endpoint, or `TARGET=SCRIPT` for one: a provider, or a `provider/model`. The most exact name counts, and an
 * endpoint without a script answers.
 */
import { Simulated, Course } from "@holdfast/simulated"
import { Quote, Target } from "@holdfast/wire"
import { Result } from "effect"
import { type RetryPolicy, Classification } from "@holdfast/policy"
import type { DryCall, Reply } from "./DryTurn.ts"

/** Scripts by target: `provider/model`, `provider`, or `*` for every endpoint. */
export type OutageScripts = ReadonlyMap<string, string>

/** The script of an endpoint that has none. */
const ANSWERS = "ok"

/** Reads outages as they are written; fails with what was wrong, where, and what was expected. */
export const read = (texts: ReadonlyArray<string>): Result.Result<OutageScripts, string> => {
  const outages = new Map<string, string>()
  for (const text of texts) {
    const [, name = EVERY, script = text] = NAMED.exec(text) ?? []
    if (outages.has(name))
      return Result.fail(name === EVERY ? "there are two scripts for every endpoint." : `${name} has two scripts.`)
    const counts = Array.from(script.matchAll(/(?:tokens|after)-(\d+)/gu), ([, count]) => Number(count))
    if (counts.some((count) => count > MOST_TOKENS))
      return Result.fail(`${Quote.of(text)}: an answer of a dry run has ${MOST_TOKENS} tokens at most.`)
    const checked = Simulated.describe(script)
    if (Result.isFailure(checked)) {
      const { position, why } = checked.failure
      const at = text.length - script.length + position
      return Result.fail(`${Quote.of(text)}, character ${at}: ${why} Expected ${Simulated.LANGUAGE}.`)
    }
    outages.set(name, script)
  }
  return Result.succeed(outages)
}

/** The script of a target. */
export const scriptOf = (outages: OutageScripts, target: Target.Target): string =>
  outages.get(Target.format(target)) ?? outages.get(target.provider) ?? outages.get(EVERY) ?? ANSWERS

/** Whether an outage is for a target by name. */
export const describes = (outages: OutageScripts, target: Target.Target): boolean =>
  outages.has(Target.format(target)) || outages.has(target.provider) || outages.has(EVERY)

/** Outages in words, one line for each. */
export const describe = (outages: OutageScripts): ReadonlyArray<string> =>
  Array.from(outages, ([name, script]) => {
    const words = Result.getOrElse(Simulated.describe(script), () => script)
    return name === EVERY ? words : `${name}: ${words}`
  })

/** The names that outages are for, without the one for every endpoint. */
export const names = (outages: OutageScripts): ReadonlyArray<string> =>
  Array.from(outages.keys()).filter((name) => name !== EVERY)

// --- internal

const EVERY = "*"

/** More take the thread for a tenth of a second. */
const MOST_TOKENS = 10_000

/** A name before the first `=`; a script has no `=` before its first `;` or `,`. */
const NAMED = /^([A-Za-z0-9_.-]+(?:\/[^\s=;,]+)?)=(.*)$/s

/** Replies by scripts whose clocks begin at `openedAt`, in epoch milliseconds. */
export const simulated = (
  outages: OutageScripts,
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
        script: scriptOf(outages, request.target),
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

type Limits = RetryPolicy.RetryPolicy["requestTimeout"]

const replyOf = (course: Course.Course, limits: Limits): Reply | undefined => {
  const cut = timedOut(course, limits)
  const { end, endAt } = cut ?? course
  const [contentAt] = course.contentAt
  const contentSeen = contentAt !== undefined && (cut === undefined || contentAt < cut.endAt)
  const times = { ...(contentSeen ? { contentAt: Math.round(contentAt) } : {}), endAt: Math.round(endAt) }
  const content = cut === undefined || contentSeen ? course.content : []
  switch (end._tag) {
    case "Silent":
      return undefined
    case "Finished": {
      const { finishReason, usage } = end
      return { ...times, outcome: { _tag: "Completed", content, finishReason, usage } }
    }
    case "Broken":
      return { ...times, outcome: { _tag: "Failed", content, failure: end.failure, contentSeen } }
    default:
      return end satisfies never
  }
}

/** The end of a response that exceeds a limit (C8); `undefined`: it exceeds none. */
const timedOut = (
  { contentAt, end, endAt }: Course.Course,
  { firstContentMs, idleMs }: Limits
): Pick<Course.Course, "end" | "endAt"> | undefined => {
  let last = 0
  for (const [n, at] of [...contentAt, end._tag === "Silent" ? Infinity : endAt].entries()) {
    const [limitMs, limit] = n === 0 ? ([firstContentMs, "first-content"] as const) : ([idleMs, "idle"] as const)
    if (at - last > limitMs)
      return { endAt: last + limitMs, end: { _tag: "Broken", failure: Classification.timedOut(limit, limitMs) } }
    last = at
  }
  return undefined
}
