/** Common parts of scenarios of final reports: report, guidance, ends of the turn. */
import { REPORT } from "./Answers.ts"
import { type Expected, type Pattern, atOnce, called, failed } from "./RuleScenario.ts"

/** Its profile: 3 attempts, and no wait after an invalid answer. */
export const REPORTING = {
  profile: "cycling",
  finalReport: { schema: { type: "object", properties: { findings: { type: "string" } }, required: ["findings"] } }
} as const

export const GOOD = { findings: "All is well." }

export const NEITHER = "The response had neither a tool call nor a final report."
export const OTHER_TOOL = "The response asked for a tool other than the final report."
export const INVALID = "The final report was not valid: report must have required property 'findings'"

export const GO_ON = `Call a tool to go on, or ${REPORT} to end with your report: nothing else is accepted.`
export const END_NOW = `Call ${REPORT} now, with what you have: nothing else is accepted.`

export const failedFor = (why: string, wayOut: string): string => `TURN-FAILED: ${why} ${wayOut}`

export const lastStep = (because: string): string => `This is the last step of this turn: ${because}. ${END_NOW}`

export const AT_LIMIT = lastStep("it has as many steps as it may have")
export const MENDING = lastStep("the final report could not be accepted")
export const SPENT = lastStep("none of the responses before it could be used")
export const FULL = lastStep("its context is nearly full")

/** A last step begins, and the model got the reason. */
export const lastBegins = (
  step: number,
  cause: Extract<Pattern, { readonly type: "final-turn" }>["cause"] & string
): ReadonlyArray<Expected> => [{ type: "final-turn", step, cause }, "message", "step-start"]

/** An invalid answer, and the guidance for the model. */
export const refused = (attempt: number, shows: boolean): ReadonlyArray<Expected> => [
  ...(shows ? (["text-delta"] as const) : []),
  "message",
  "synthetic-retry",
  "message",
  atOnce(attempt, "invalid-response")
]

/** Invalid answers have used up the attempts of a step: one last step begins, which offers the report alone (A14). */
export const spent = (attempt: number, step: number): ReadonlyArray<Expected> => [
  "text-delta",
  { type: "retry-end", success: false, attempt },
  "message",
  ...lastBegins(step, "retries-exhausted")
]

/** The same in the history. */
export const rejected = (content: string, told: string): ReadonlyArray<string> => [
  `assistant (invalid-response): ${content}`,
  `told: ${told}`
]

/** The report is accepted and ends the turn; `attempt` is the last retry of an open chain. */
export const reported = (attempt?: number): ReadonlyArray<Expected> => [
  ...(attempt === undefined ? [] : [{ type: "retry-end", success: true, attempt } as const]),
  ...called(REPORT, false),
  ends
]

export const ends: Pattern = {
  type: "turn-end",
  status: "completed",
  report: { source: "tool-call", success: true, content: GOOD }
}

/** The turn fails, with a report of the reason (A14). */
export const failsWith = (
  reason: "invalid-response" | "auth" | "overloaded",
  context: string,
  attempt?: number
): ReadonlyArray<Expected> => [
  ...failed(reason, attempt === undefined ? undefined : { attempt }).slice(0, -1),
  { type: "turn-end", status: "failed", report: { source: "synthetic", success: false, content: { reason, context } } }
]

export const HANDED_IN = [`assistant: calls ${REPORT}`, `tool: ${REPORT}`] as const
