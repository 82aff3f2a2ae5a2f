/** Describes a retry policy: its primitives, its schedule as a table, and its properties in sentences. Pure. */
import { TurnLimits } from "@holdfast/kernel"
import { ResponseLimit } from "@holdfast/kernel/host"
import { Preview, RetryPolicy, type Routing, type SpendGuard, type WaitRules, Budget } from "@holdfast/policy"
import { Failure, Target, type TurnEvent } from "@holdfast/wire"
import * as Document from "./Document.ts"
import * as DurationText from "./DurationText.ts"

/** The primitives, by their names in the configuration. */
export const primitives = (policy: RetryPolicy.RetryPolicy): ReadonlyArray<readonly [name: string, value: string]> => [
  ["enabled", String(policy.enabled)],
  ["schedule", schedule(policy.schedule)],
  ["jitter", policy.jitter.factor === 0 ? "none" : `up to ${Math.round(policy.jitter.factor * 100)} % more`],
  ["reasons", Object.keys(policy.reasons).join(", ") || "none of its own"],
  ["maxRetries", policy.maxRetries === undefined ? "no limit" : String(policy.maxRetries)],
  ["counts", policy.counts],
  [
    "budget",
    policy.budget.totalMs === undefined
      ? "no limit"
      : `${DurationText.format(policy.budget.totalMs)}${policy.budget.clip ? ", the last wait is cut to fit" : ""}`
  ],
  ["measure", policy.budget.measure],
  [
    "maxDelay",
    policy.maxDelayMs === undefined || policy.maxDelayMs <= 0 ? "no limit" : DurationText.format(policy.maxDelayMs)
  ],
  ["hints", policy.hints ? "followed" : "ignored"],
  ["midStream", midStream(policy)],
  [
    "spendGuard",
    policy.spendGuard === undefined
      ? "off"
      : `asks after ${DurationText.format(policy.spendGuard.afterMs)} of waiting, ${bounds(policy.spendGuard)}`
  ],
  ["requestTimeout.firstContent", DurationText.format(policy.requestTimeout.firstContentMs)],
  ["requestTimeout.idle", DurationText.format(policy.requestTimeout.idleMs)],
  ["maxResponseCharacters", String(policy.maxResponseCharacters ?? ResponseLimit.MOST_CHARACTERS)],
  ["routing", routing(policy.routing)],
  ["maxTurns", policy.maxTurns === undefined ? "no limit" : String(policy.maxTurns)],
  ["maxFailedToolSteps", String((policy.maxFailedToolSteps ?? TurnLimits.MOST_FAILED_TOOL_STEPS) || "no limit")],
  ["finalReport", policy.finalReport === undefined ? "none" : "required"]
]

/** One line: the number of retries, their total time, and the end. */
export const summary = (policy: RetryPolicy.RetryPolicy): string => {
  const preview = Preview.rows(policy)
  const retries = count(preview.rows.length)
  if (preview.because === undefined) {
    const { totalMs } = policy.budget
    // More retries than a person would list; the budget ends them all the same.
    return totalMs === undefined ? "retries without end" : `more than ${retries} over ${DurationText.format(totalMs)}`
  }
  return preview.rows.length === 0 ? "no retries" : `${retries} over ${DurationText.format(preview.totalMs)}`
}

/** The schedule as a table of `most` rows at most, with its sum, the number of further rows, and why the turn fails in the end. */
export const table = (policy: RetryPolicy.RetryPolicy, most: number): ReadonlyArray<string> => {
  const whole = Preview.rows(policy, Math.max(most, FURTHEST))
  if (whole.rows.length === 0) return [`No retries: ${because(policy, whole)}`]
  const shown = whole.rows.slice(0, most)
  const cells = shown.map((row) => [
    String(row.attempt + 1),
    DurationText.format(row.delayMs) + (row.clipped ? " (cut)" : ""),
    DurationText.format(row.atMs)
  ])
  const lines = Document.aligned([["retry", "wait", "since the first failure"], ...cells], true)
  return [...lines, "", conclusion(policy, whole, shown)]
}

/** Whether kinds of failures have their own waits or other targets. */
export const hasKinds = (policy: RetryPolicy.RetryPolicy): boolean =>
  Object.keys(policy.reasons).length > 0 || hasOthers(policy.routing)

/**
 * The course of each kind of failure while it lasts, for kinds with their own waits or other targets. Empty if the schedule applies to
 * all kinds.
 */
export const byKind = (policy: RetryPolicy.RetryPolicy, primary: Target.Target): ReadonlyArray<string> => {
  if (!hasKinds(policy)) return []
  const outlooks = Preview.byKind(policy, primary, SHOWN)
  return [
    "",
    `By kind of failure, on ${Target.format(primary)} and while it lasts everywhere:`,
    "",
    ...outlooks.flatMap(({ because, kinds, steps }) => [
      `  ${kinds.join(", ")}`,
      `    ${[...steps.map(step), because === undefined ? "and so on" : `${steps.length === 0 ? "" : "then "}the turn fails (${because})`].join(", ")}`
    ])
  ]
}

/** Further properties of a policy, one sentence each. */
export const remarks = (policy: RetryPolicy.RetryPolicy): ReadonlyArray<string> => {
  const { jitter, requestTimeout, spendGuard: guard } = policy
  return [
    jitter.factor > 0 &&
      `Jitter adds up to ${Math.round(jitter.factor * 100)} % of the schedule's wait to each; it is not in the table.`,
    ...hints(policy),
    ...limitsByReason(policy),
    // When the turn asks before it continues (X11).
    guard !== undefined &&
      `After ${DurationText.format(guard.afterMs)} of waiting the turn asks before it goes on ${bounds(guard)}; without an answer within ` +
        `${DurationText.format(guard.answerWithinMs)} it fails (retry.spendGuard; X11).`,
    ...midStreamRemarks(policy),
    `An attempt fails after ${DurationText.format(requestTimeout.firstContentMs)} without content, or ${DurationText.format(requestTimeout.idleMs)} between contents.`
  ].filter((remark) => remark !== false)
}

// --- internal

/** The tokens at which a guard of spending asks, in words. */
const bounds = ({ maxInputTokens, maxTurnTokens }: SpendGuard.SpendGuard): string =>
  [
    maxInputTokens !== undefined && `with a request of more than ${maxInputTokens} tokens`,
    maxTurnTokens !== undefined && `after more than ${maxTurnTokens} tokens`
  ]
    .filter((bound) => bound !== false)
    .join(", or ")

/** What follows a failure after content, with the reasons that have a setting of their own (X7). */
const midStream = ({ midStream, reasons }: RetryPolicy.RetryPolicy): string =>
  [
    midStream ?? "fail, and unseen for submitted turns",
    ...Object.entries(reasons).flatMap(([reason, rule]) =>
      rule.midStream === undefined ? [] : [`${reason}: ${rule.midStream}`]
    )
  ].join("; ")

const schedule = (schedule: RetryPolicy.RetryPolicy["schedule"]): string => {
  switch (schedule.type) {
    case "steps":
      return `${schedule.delaysMs.map(DurationText.format).join(", ")}, then every ${DurationText.format(schedule.tailMs)}`
    case "exponential":
      return `${DurationText.format(schedule.baseMs)}, then ${schedule.factor} times as long each time`
    case "linear":
      return `${DurationText.format(schedule.baseMs)}, then ${DurationText.format(schedule.incrementMs)} longer each time`
    default:
      return schedule satisfies never
  }
}

const routing = (routing: Routing.Routing): string => {
  const named = (targets: ReadonlyArray<Target.Target>) => targets.map(Target.format).join(", ")
  if (routing.type === "round-robin") {
    return routing.targets.length === 0 ? "the same target each time" : `${named(routing.targets)} in turn`
  }
  const chains = Object.entries(routing.chains).map(([role, targets]) => `${role}: ${named(targets) || "none"}`)
  return chains.length === 0
    ? "no fallback chains"
    : `${chains.join("; ")}; cooldown ${DurationText.format(routing.cooldownMs)}; revert ${routing.revert}`
}

/** The most retries that are counted to find the end of a schedule. */
const FURTHEST = 10_000

/** The sum of the shown rows, and the rows after them. */
const conclusion = (
  policy: RetryPolicy.RetryPolicy,
  whole: Preview.Preview,
  shown: ReadonlyArray<Preview.Row>
): string => {
  const most = whole.rows.length
  const left = most - shown.length
  const sofar = DurationText.format(shown.at(-1)?.atMs ?? 0)
  if (whole.because === undefined) {
    const isEndless =
      policy.budget.totalMs === undefined && policy.maxRetries === undefined && (policy.maxDelayMs ?? 0) <= 0
    const end = isEndless ? "nothing in this configuration ends it" : `it ends after more than ${count(most)}`
    return `${count(shown.length)}, ${sofar} of waiting so far. And so on: ${end}.`
  }
  return left === 0
    ? `${count(most)}, ${sofar} of waiting in all. Then the turn fails: ${because(policy, whole)}`
    : `${shown.length} of ${count(most)}, ${sofar} of waiting so far. ${left} more follow${left === 1 ? "s" : ""}, ` +
        `${DurationText.format(whole.totalMs)} of waiting in all. Then the turn fails: ${because(policy, whole)}`
}

/** What counts of a provider's own delay, and the reasons for which it counts differently. */
const hints = ({ hints, reasons }: RetryPolicy.RetryPolicy): ReadonlyArray<string> => {
  if (!hints) return ["What a provider asks for is not followed."]
  const having = (hint: WaitRules.ReasonWait["hint"]) =>
    Object.entries(reasons).flatMap(([reason, rule]) => (rule.hint === hint ? [reason] : []))
  const [replaced, ignored] = [having("replace"), having("ignore")]
  return [
    "A provider that asks for a longer wait gets it; one that asks for a shorter wait does not.",
    replaced.length > 0 && `For ${replaced.join(", ")} its own wait stands instead, longer or shorter.`,
    ignored.length > 0 && `For ${ignored.join(", ")} it is not followed.`
  ].filter((hint) => hint !== false)
}

/** The limits of failures of one reason (X11). */
const limitsByReason = (policy: RetryPolicy.RetryPolicy): ReadonlyArray<string> =>
  Failure.Reason.literals.flatMap((reason) => {
    const { measure = "scheduled", totalMs } = Budget.ofReason(policy, reason) ?? {}
    const retries = RetryPolicy.mostRetriesOn(policy, reason)
    const parts = [
      retries !== undefined && count(retries),
      totalMs !== undefined && `${DurationText.format(totalMs)} of ${measure === "scheduled" ? "waiting" : "time"}`
    ].filter((part) => part !== false)
    return parts.length === 0
      ? []
      : [
          `After ${reason} there are no more than ${parts.join(" and ")}, within what the step has (retry.reasons; X11).`
        ]
  })

const midStreamRemarks = (policy: RetryPolicy.RetryPolicy): ReadonlyArray<string> => {
  const reasons = Object.entries(policy.reasons).flatMap(([reason, rule]) =>
    rule.midStream === undefined ? [] : [`After ${reason} ${MID_STREAM[rule.midStream]} (retry.reasons; X7).`]
  )
  const whole =
    policy.midStream === undefined
      ? "When an answer breaks off, the turn fails; a turn that was submitted voids what no client has received, and retries the step (retry.midStream; X7)."
      : `When an answer breaks off, ${MID_STREAM[policy.midStream]} (retry.midStream; X7).`
  return [whole, ...reasons]
}

const MID_STREAM: { readonly [Setting in TurnEvent.MidStream]: string } = {
  fail: "the turn fails",
  discard: "it is void, and the step is retried",
  unseen: "it is void if no client has received any of it, and the step is retried; otherwise the turn fails"
}

/** The most retries that are listed per kind. */
const SHOWN = 8

const hasOthers = (routing: Routing.Routing): boolean =>
  routing.type === "round-robin" ? routing.targets.length > 0 : Object.keys(routing.chains).length > 0

const step = ({ delayMs, target }: Preview.RetryStep): string =>
  `${target} ${delayMs === 0 ? "at once" : `after ${DurationText.format(delayMs)}`}`

const count = (retries: number): string => `${retries} ${retries === 1 ? "retry" : "retries"}`

const because = (policy: RetryPolicy.RetryPolicy, preview: Preview.Preview): string => {
  switch (preview.because) {
    case "disabled":
      return "they are switched off (retry.enabled)."
    case "max-retries":
      return policy.counts === "attempts"
        ? `there are no more than ${policy.maxRetries} attempts (retry.maxRetries).`
        : `there are no more than ${count(RetryPolicy.mostRetries(policy) ?? 0)} (retry.maxRetries).`
    case "max-delay":
      return `the next wait would be longer than ${DurationText.format(policy.maxDelayMs ?? 0)} (retry.maxDelay).`
    case "budget":
      return `the next wait would not fit into the budget of ${DurationText.format(policy.budget.totalMs ?? 0)} (retry.budget).`
    case undefined:
      return "none was asked for."
    default:
      return preview.because satisfies never
  }
}
