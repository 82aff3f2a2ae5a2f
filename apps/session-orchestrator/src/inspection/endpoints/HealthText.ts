/** Describes the report on endpoints for a terminal. Pure. */
import type { Health } from "@holdfast/wire"
import * as DurationText from "../../text/DurationText.ts"
import * as Prose from "../../text/Prose.ts"

/** The report in lines; `moment` is the local form of a moment. */
export const lines = (health: Health.Health, moment: (at: number) => string): ReadonlyArray<string> => {
  const { at, countedSince, endpoints, limits, runner } = health
  const hour = at - countedSince >= HOUR_MS ? "last hour" : `since ${moment(countedSince)}`
  return [
    ...(runner === undefined ? [] : [`Runner ${runner}: gates and calls are its own.`, ""]),
    ...endpoints.flatMap((endpoint, index) => [
      ...(index === 0 ? [] : [""]),
      ...ofEndpoint(endpoint, hour, at, moment)
    ]),
    ...(limits.length === 0 ? [] : [""]),
    ...limits.map(ofLimits)
  ]
}

// --- internal

const HOUR_MS = 3_600_000

const ofEndpoint = (
  endpoint: Health.EndpointReport,
  hour: string,
  now: number,
  moment: (at: number) => string
): ReadonlyArray<string> => {
  const { credential, elsewhere, gate, lastAnswerAt, lastFailure, lastHour, pauses, state, target } = endpoint
  const next = gate?.nextTryAt
  return [
    `${state.toUpperCase().padEnd(10)}  ${target}${credential === undefined ? "" : `, ${credential}`}`,
    ...(gate === undefined
      ? []
      : [`gate    ${gate.phase}. ${gate.words}${next === undefined ? "" : ` Next by ${moment(next)}.`}`]),
    ...pauses.map((pause) => `pause   ${ofPause(pause, now, moment)}`),
    `calls   ${lastHour.calls} ${hour}, ${lastHour.failed} failed${
      lastAnswerAt === undefined ? "" : `; last answer ${moment(lastAnswerAt)}`
    }`,
    ...(lastFailure === undefined ? [] : [`failed  ${ofFailure(lastFailure, moment)}`]),
    ...(elsewhere?.failure === undefined ? [] : [`others  ${ofFailure(elsewhere.failure, moment)}`])
  ].map((line, index) => (index === 0 ? line : `  ${line}`))
}

const PAUSED = {
  target: "cooldown of the model",
  model: "limit of the model with this key",
  credential: "quota of the key is used up",
  account: "limit of the key for every model"
} as const

const ofPause = ({ isAsked, of, reason, until }: Health.PauseReport, now: number, moment: (at: number) => string) =>
  `${PAUSED[of]} (${reason}) until ${moment(until)}, in ${DurationText.rough(until - now)}${isAsked ? ", named by the provider" : ""}`

const ofFailure = (
  { askedUntil, at, code, message, reason }: Health.LastFailure,
  moment: (at: number) => string
): string =>
  Prose.oneLine(
    `${moment(at)} ${reason}${code === undefined ? "" : ` ${code}`}: ${message}${
      askedUntil === undefined ? "" : ` (it asked for no call before ${moment(askedUntil)})`
    }`
  )

const ofLimits = ({ calls, provider, requestsPerMinute, tokensPerMinute, waiting }: Health.LimitReport): string =>
  [
    `Limits of ${provider}: `,
    [
      ...[
        [calls, "calls at once"] as const,
        [requestsPerMinute, "requests a minute"] as const,
        [tokensPerMinute, "tokens a minute"] as const
      ].flatMap(([used, words]) => (used === undefined ? [] : [`${used.used} of ${used.limit} ${words}`])),
      ...(waiting === 0 ? [] : [`${waiting} waiting`])
    ].join(", ")
  ].join("")
