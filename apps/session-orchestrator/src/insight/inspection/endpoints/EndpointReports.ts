/**
 * Joins what is known of each endpoint into a report, and writes it for a terminal. Pure.
 *
 * - An endpoint is listed if the configuration names its model, if it has a gate, if it was called in the last hour, or if its model is
 *   paused. A model is listed with every credential of its provider.
 * - Texts from outside (a provider's message, an address) are redacted.
 * - A pause of a credential or an account belongs to every listed model of it.
 */
import type { Route } from "@holdfast/kernel"
import { type News, Standing } from "@holdfast/policy"
import { Count, defined, type Health, Target } from "@holdfast/wire"
import type { Values } from "../../../config/Config.ts"
import * as ModelChoice from "../../../config/ModelChoice.ts"
import * as ProviderTable from "../../../config/ProviderTable.ts"
import type { GateView } from "../../../engine/gate/Gatekeeper.ts"
import type { KnownGate } from "../../../engine/gate/Gates.ts"
import * as RecentCalls from "../../../engine/gate/RecentCalls.ts"
import * as DurationText from "../../../base/text/DurationText.ts"
import type { Format } from "../../../base/text/LocalTime.ts"
import * as Prose from "../../../base/text/Prose.ts"
import * as ProviderName from "../../../base/text/ProviderName.ts"
import * as TurnReport from "../TurnReport.ts"

/** The findings that are joined. */
interface Findings {
  /** Epoch milliseconds. */
  readonly now: number
  readonly calls: ReadonlyArray<RecentCalls.Counted>
  /** In force at `now`. */
  readonly standing: Standing.Standing
  /** What is known of the gate of a route. */
  readonly gateOf: (route: Route.Route) => KnownGate | undefined
  /** Removes secrets from a text. */
  readonly redact: (text: string) => string
}

type Configured = Pick<Values, "providers" | "model" | "models" | "retry">

/** The routes that are listed, each once, with its credential if it has one. */
export const routesOf = (
  config: Configured,
  { calls, standing }: Pick<Findings, "calls" | "standing">,
  gates: ReadonlyArray<Route.Route>
): ReadonlyArray<Route.Route> => {
  const targets = [...ModelChoice.namesIn(config), ...Object.keys(standing.targets)]
    .flatMap((name) => Target.parse(name) ?? [])
    .filter(({ provider }) => config.providers.has(ProviderName.configured(provider)))
    .map((target) =>
      ProviderName.accountOf(target.provider) === undefined
        ? target
        : { ...target, provider: ProviderName.withClientKey(ProviderName.configured(target.provider)) }
    )
  const routes = [
    ...targets.flatMap((target): ReadonlyArray<Route.Route> => {
      const names = ProviderTable.keyNames(config.providers.get(target.provider))
      return names.length === 0 ? [{ target }] : names.map((credential) => ({ target, credential }))
    }),
    ...[...gates, ...calls.filter(({ lastHour }) => lastHour.calls > 0)].map(({ credential, target }) => ({
      target,
      ...defined({ credential: credentialOf(config, { credential, target }) })
    }))
  ]
  return Array.from(new Map(routes.map((route) => [keyOf(route), route])).values())
}

/** The reports of routes, in their order. */
export const of = (
  config: Configured,
  findings: Findings,
  routes: ReadonlyArray<Route.Route>
): ReadonlyArray<Health.EndpointReport> => {
  // A thousand routes with a thousand counts would be a million comparisons.
  const calls = new Map(
    findings.calls.map((counted) => [keyOf({ ...counted, credential: credentialOf(config, counted) }), counted])
  )
  return routes.map((route) => reportOf(config, findings, route, calls.get(keyOf(route))))
}

/** Which turns a gate lets through, in one or two sentences. */
export const gateWords = (view: Pick<GateView, "phase" | "waiting" | "held" | "room">): string => {
  const { held, phase, room, waiting } = view
  const waits = waiting === 1 ? "1 turn waits" : `${waiting} turns wait`
  const all = `${waits}${held === 0 ? "" : `, ${held} of them after the end of their wait`}.`
  const words: { readonly [P in GateView["phase"]]: readonly [none: string, some: string] } = {
    open: [
      "Every turn may call.",
      `Every turn may call. ${waits}${waiting === 1 ? "" : ", each"} for a time of its own.`
    ],
    shut: [
      "No turn waits. A new turn calls as usual.",
      `${all} A few are let through, to find out whether the endpoint answers.`
    ],
    ramp: [growing(room), `${growing(room)} ${all}`]
  }
  return words[phase][waiting === 0 ? 0 : 1]
}

/** How much of a limit is used, in words. */
const windowWords = ({ credential, name, provider, resetAt, used }: Health.WindowReport, moment: Format): string =>
  `Limit ${name} of ${provider}, ${credential}: ${Math.floor(used * 100)} % used${resetAt === undefined ? "" : `, begins anew ${moment(resetAt)}`}`

/** The report in lines; `moment` is the local form of a moment. */
export const lines = (health: Health.Health, moment: Format): ReadonlyArray<string> => {
  const { at, countedSince, endpoints, limits, runner, windows } = health
  const hour = at - countedSince >= HOUR_MS ? "last hour" : `since ${moment(countedSince)}`
  return [
    ...(runner === undefined ? [] : [`Runner ${runner}: gates and calls are its own.`, ""]),
    ...endpoints.flatMap((endpoint, index) => [
      ...(index === 0 ? [] : [""]),
      ...ofEndpoint(endpoint, hour, at, moment)
    ]),
    ...(limits.length === 0 ? [] : [""]),
    ...limits.map(ofLimits),
    ...(windows.length === 0 || endpoints.length + limits.length === 0 ? [] : [""]),
    ...windows.map((window) => windowWords(window, moment))
  ]
}

// --- internal

const reportOf = (
  config: Configured,
  { gateOf, now, redact, standing }: Findings,
  route: Route.Route,
  own: RecentCalls.Counted | undefined
): Health.EndpointReport => {
  const { credential, target } = route
  const known = gateOf(route)
  const pauses = pausesOf(standing, route, now)
  const { lastHour = RecentCalls.noCalls } = own ?? {}
  const lastAnswerAt = Math.max(own?.lastAnswerAt ?? 0, known?.view?.answeredAt ?? 0) || undefined
  const lastFailure = lastFailureOf(own, known?.view)
  const provider = ProviderName.configured(target.provider)
  const address = ProviderTable.reached(config.providers, provider)?.baseUrl
  return {
    target: redact(Target.format({ provider, model: target.model })),
    ...defined({
      credential: ProviderName.hasClientKey(target.provider) ? OF_CLIENT : credential,
      address: address && redact(address)
    }),
    state: stateOf({ pauses, lastHour }, known?.view, lastAnswerAt, lastFailure?.at),
    ...(known?.view && { gate: gateReport(known.view) }),
    pauses,
    lastHour,
    ...defined({
      lastAnswerAt,
      lastFailure: lastFailure && failureReport(lastFailure, redact),
      elsewhere: known?.news && elsewhereOf(known.news, redact)
    })
  }
}

/** The credential of calls that a client of the gateway makes with a key of its own. */
const OF_CLIENT = "the client's own key"

type Called = Pick<RecentCalls.Counted, "credential" | "target">

const keyOf = ({ credential, target }: Called): string => JSON.stringify([Target.format(target), credential])

/** A call without a named credential has the provider's first, if it has one, and is not sent with its client's own. */
const credentialOf = (config: Configured, { credential, target }: Called): string | undefined =>
  ProviderName.hasClientKey(target.provider)
    ? undefined
    : (credential ?? ProviderTable.keyNames(config.providers.get(target.provider))[0])

type Failed = NonNullable<RecentCalls.Counted["lastFailure"]>

/** The later failure: calls count each, and a gate those that concern its endpoint, also of other runners. */
const lastFailureOf = (own: RecentCalls.Counted | undefined, view: GateView | undefined): Failed | undefined => {
  const [a, b] = [own?.lastFailure, view?.last]
  return a === undefined || (b !== undefined && b.at > a.at) ? b : a
}

const failureReport = ({ at, failure }: Failed, redact: Findings["redact"]): Health.LastFailure => ({
  at,
  ...TurnReport.errorOf(failure, redact),
  ...defined({ askedUntil: failure.hint && at + failure.hint.retryAfterMs })
})

const elsewhereOf = ({ answeredAt, failedAt, failure }: News.News, redact: Findings["redact"]) =>
  defined({
    answeredAt: answeredAt > 0 ? answeredAt : undefined,
    failure: failure && failureReport({ failure, at: failedAt }, redact)
  })

const gateReport = (view: GateView): Health.GateReport => {
  const { held, nextTryAt, phase, room, underway, waiting } = view
  return {
    phase,
    waiting,
    held,
    underway,
    ...(phase === "open" ? {} : { room }),
    ...(nextTryAt === Infinity || waiting === 0 ? {} : { nextTryAt }),
    words: gateWords(view)
  }
}

const KINDS = { targets: "target", models: "model", credentials: "credential", accounts: "account" } as const

const pausesOf = (
  standing: Standing.Standing,
  { credential, target }: Route.Route,
  now: number
): ReadonlyArray<Health.PauseReport> =>
  [target, ...ofAccounts(standing, target)].flatMap((target) =>
    Standing.usedBy(target, credential).flatMap((thing) => {
      const pause = Standing.of(standing, thing, now)
      if (pause === undefined) return []
      const { askedUntil, reason, since, until } = pause
      const account = ProviderName.accountOf(target.provider)
      const isAsked = askedUntil !== undefined && askedUntil >= until
      const credential = account && `client ${account}`
      return [{ of: KINDS[thing.kind], until, reason, isAsked, ...defined({ credential, since }) }]
    })
  )

/** A target by the names of the accounts of clients that are paused. */
const ofAccounts = (standing: Standing.Standing, target: Target.Target): ReadonlyArray<Target.Target> =>
  ProviderName.hasClientKey(target.provider)
    ? Object.keys(standing.targets)
        .flatMap((name) => Target.parse(name) ?? [])
        .filter(({ model, provider }) => model === target.model && provider.startsWith(`${target.provider}:`))
    : []

const stateOf = (
  { lastHour, pauses }: Pick<Health.EndpointReport, "lastHour" | "pauses">,
  view: GateView | undefined,
  answeredAt = 0,
  failedAt = 0
): Health.EndpointState => {
  // The quota of a credential that another model has used up does not keep this model from a try (C12).
  // Nor does the pause of one account keep others from it.
  if (pauses.some(({ credential, of }) => of !== "credential" && credential === undefined)) return "paused"
  if (view?.phase === "ramp") return "recovering"
  if (view?.phase === "shut" || failedAt > answeredAt) return "failing"
  return lastHour.calls > 0 ? "answering" : "idle"
}

const growing = (room: number): string =>
  `It answers again: up to ${Count.of(room, "retry", "retries")} at once are let through, and more with each answer.`

const HOUR_MS = 3_600_000

const ofEndpoint = (
  endpoint: Health.EndpointReport,
  hour: string,
  now: number,
  moment: Format
): ReadonlyArray<string> => {
  const { credential, elsewhere, gate, lastAnswerAt, lastFailure, lastHour, pauses, state, target } = endpoint
  const next = gate?.nextTryAt
  const answer = lastAnswerAt === undefined ? "" : `; last answer ${moment(lastAnswerAt)}`
  return [
    `${state.toUpperCase().padEnd(10)}  ${target}${credential === undefined ? "" : `, ${credential}`}`,
    gate && `  gate    ${gate.phase}. ${gate.words}${next === undefined ? "" : ` Next by ${moment(next)}.`}`,
    ...pauses.map((pause) => `  pause   ${ofPause(pause, now, moment)}`),
    `  calls   ${lastHour.calls} ${hour}, ${lastHour.failed} failed${answer}`,
    lastFailure && `  failed  ${ofFailure(lastFailure, moment)}`,
    elsewhere?.failure && `  others  ${ofFailure(elsewhere.failure, moment)}`
  ].filter((line) => line !== undefined)
}

const PAUSED = {
  target: "cooldown of the model",
  model: "limit of the model with this key",
  credential: "quota of the key is used up",
  account: "limit of the key for every model"
} as const

const ofPause = ({ credential, isAsked, of, reason, until }: Health.PauseReport, now: number, moment: Format) =>
  `${PAUSED[of]}${credential === undefined ? "" : ` for ${credential}`} (${reason}) until ${moment(until)}, in ${DurationText.rough(until - now)}${isAsked ? ", named by the provider" : ""}`

const ofFailure = ({ askedUntil, at, code, message, reason }: Health.LastFailure, moment: Format): string =>
  Prose.oneLine(
    `${moment(at)} ${reason}${code === undefined ? "" : ` ${code}`}: ${message}${
      askedUntil === undefined ? "" : ` (it asked for no call before ${moment(askedUntil)})`
    }`
  )

const ofLimits = ({ calls, provider, requestsPerMinute, tokensPerMinute, waiting }: Health.LimitReport): string => {
  const used = [
    { ...calls, words: "calls at once" },
    { ...requestsPerMinute, words: "requests a minute" },
    { ...tokensPerMinute, words: "tokens a minute" }
  ].flatMap(({ limit, used, words }) => (limit === undefined ? [] : [`${used} of ${limit} ${words}`]))
  return `Limits of ${provider}: ${[...used, ...(waiting === 0 ? [] : [`${waiting} waiting`])].join(", ")}`
}
