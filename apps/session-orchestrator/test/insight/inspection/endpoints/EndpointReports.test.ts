/** Tests the report of an endpoint, from findings of each kind. */
import type { Route } from "@holdfast/kernel"
import { type News, Standing } from "@holdfast/policy"
import { defined, type Failure, Health } from "@holdfast/wire"
import { Schema } from "effect"
import { readFileSync } from "node:fs"
import { describe, expect, it } from "vitest"
import type { GateView } from "../../../../src/engine/gate/Gatekeeper.ts"
import { CallCounts } from "../../../../src/engine/gate/RecentCalls.ts"
import * as EndpointReports from "../../../../src/insight/inspection/endpoints/EndpointReports.ts"
import * as Configurations from "../../../config/Configurations.ts"

const now = 1_933_380_000_000
const overloaded: Failure.Failure = { reason: "overloaded", message: "Overloaded", retryable: true, status: 529 }

const config = Configurations.config({
  file: {
    model: "own/m",
    providers: {
      own: { type: "openai-compatible", baseUrl: "https://planted.example.org/v1", apiKeyEnv: ["A_KEY", "B_KEY"] }
    },
    retry: { routing: { type: "fallback-chain", chains: { "own/m": ["own/n"] } } }
  },
  environment: { A_KEY: "planted-planted-a", B_KEY: "planted-planted-b" }
})

const route: Route.Route = { target: { provider: "own", model: "m" }, credential: "A_KEY" }

const unused = { underway: 0, last: undefined, waiting: 0, held: 0, answeredAt: 0, nextTryAt: Infinity }
const openGate: GateView = { ...unused, phase: "open", room: 1 }

const last = { failure: overloaded, at: now - 1_000 }
const shut: GateView = { ...openGate, phase: "shut", last, waiting: 3, held: 1, nextTryAt: now + 4_000 }

interface Given {
  readonly view?: GateView
  readonly news?: News.News
  readonly standing?: Standing.Standing
  readonly counts?: CallCounts
}

const findings = ({ counts = new CallCounts(0), news, standing = Standing.empty, view = openGate }: Given) => ({
  now,
  calls: counts.read(now),
  standing,
  gateOf: () => ({ view, news }),
  redact: (text: string) => text.replaceAll("planted", "[redacted]")
})

const reports = (given: Given, routes: ReadonlyArray<Route.Route>) =>
  EndpointReports.of(config, findings(given), routes)

const report = (given: Given, of = route): Health.EndpointReport => {
  const [found] = reports(given, [of])
  if (found === undefined) throw new Error("A route has no report.")
  return found
}

const counted = (...calls: ReadonlyArray<Failure.Failure | undefined>): CallCounts => {
  const counts = new CallCounts(0)
  for (const [i, failure] of calls.entries()) {
    counts.count({ target: route.target, endedAt: now - 60_000 + i, failure, isAnswered: failure === undefined })
  }
  return counts
}

const pause = { until: now + 60_000, reason: "quota-exhausted", retryable: true, since: now - 5_000 } as const
const paused = (thing: Standing.Thing, askedUntil?: number): Standing.Standing =>
  Standing.paused(thing, { ...pause, ...defined({ askedUntil }) })

describe("the report on an endpoint", () => {
  it("names the credential and never its key, and redacts the endpoint's words", () => {
    const hint = { retryAfterMs: 90_000, source: "retry-after" }
    const failure = { ...overloaded, hint, message: "The key planted is fine, we are not" }
    const view = { ...openGate, last: { failure: overloaded, at: now - 60_000 } } // at the same time
    const found = report({ counts: counted(failure), view })
    expect(found).toMatchObject({ target: "own/m", credential: "A_KEY", address: "https://[redacted].example.org/v1" })
    const facts = { at: now - 60_000, reason: "overloaded", code: "529", askedUntil: now + 30_000 }
    expect(found.lastFailure).toEqual({ ...facts, message: "The key [redacted] is fine, we are not" })
    expect(JSON.stringify(found)).not.toContain("planted")
  })

  it.each<[Health.EndpointState, Given]>([
    ["idle", {}],
    ["answering", { counts: counted(overloaded, undefined) }],
    ["failing", { counts: counted(undefined, { reason: "auth", message: "No", retryable: false }) }],
    ["failing", { view: shut }],
    ["recovering", { view: { ...shut, phase: "ramp", room: 4 }, counts: counted(overloaded) }],
    ["paused", { view: shut, standing: paused(Standing.target(route.target)) }],
    ["paused", { standing: paused(Standing.model(route.target, "A_KEY")) }],
    ["paused", { standing: paused(Standing.account("own", "A_KEY")) }],
    // C12: other models of a used-up credential are still tried.
    ["answering", { standing: paused(Standing.credential("own", "A_KEY")), counts: counted(undefined) }]
  ])("reports that it is %s", (state, given) => {
    expect(report(given).state).toBe(state)
  })

  it("is one of a model that clients call with their own keys, by its gate and its calls", () => {
    const target = { provider: "own~client", model: "m" }
    const counts = new CallCounts(0)
    counts.count({ target, endedAt: now - 1_000, isAnswered: true })
    const of = { calls: counts.read(now), standing: Standing.empty }
    // A gate has the provider's first credential, by which its endpoint is known.
    const routes = EndpointReports.routesOf(config, of, [{ target, credential: "A_KEY" }])
    expect(routes.filter(({ target: { provider } }) => provider === target.provider)).toEqual([{ target }])
    expect(reports({ counts }, [{ target }])).toMatchObject([{ lastHour: { calls: 1 }, state: "answering" }])
  })

  it("has the pauses of clients' accounts, which pause no other account, also before its first call", () => {
    const standing = Standing.merge(
      paused(Standing.target({ provider: "own~client:Ab3-_x", model: "m" })),
      paused(Standing.target({ provider: "own~client:other1", model: "n" }))
    )
    const routes = EndpointReports.routesOf(config, { calls: [], standing }, [])
    const target = { provider: "own~client", model: "m" }
    expect(routes.map(({ target }) => target)).toContainEqual(target)
    const found = report({ standing }, { target })
    expect(found).toMatchObject({ target: "own/m", credential: "the client's own key", state: "idle" })
    expect(found.pauses.map(({ credential, of }) => [of, credential])).toEqual([["target", "client Ab3-_x"]])
    expect(report({ standing }).pauses).toEqual([])
  })

  it("has the pauses of its target, model, credential and account, with whose end the provider named", () => {
    const standing = [
      paused(Standing.target(route.target)),
      paused(Standing.credential("own", "A_KEY"), now + 60_000),
      paused(Standing.account("own", "B_KEY"))
    ].reduce(Standing.merge)
    const pauses = report({ standing }).pauses.flatMap(({ isAsked, of, until }) => [of, isAsked, until])
    expect(pauses).toEqual(["target", false, now + 60_000, "credential", true, now + 60_000])
    const asked = (ms: number) => report({ standing: paused(Standing.target(route.target), now + ms) }).pauses
    expect([asked(90_000), asked(30_000)]).toMatchObject([[{ isAsked: true }], [{ isAsked: false }]])
    const second = report({ standing }, { ...route, credential: "B_KEY" })
    expect(second.pauses.map(({ of }) => of)).toEqual(["target", "account"])
  })

  it("has the gate with who is let through, and the news of other runners", () => {
    const news = { triedAt: 0, answeredAt: 1, failedAt: now - 2_000, failure: overloaded, n: 1 }
    const { elsewhere, gate } = report({ view: shut, news })
    const some =
      "3 turns wait, 1 of them after the end of their wait. A few are let through, to find out whether the endpoint answers."
    const facts = { phase: "shut", waiting: 3, held: 1, underway: 0, room: 1, nextTryAt: now + 4_000 }
    expect(gate).toEqual({ ...facts, words: some })
    expect(elsewhere).toMatchObject({ answeredAt: 1, failure: { at: now - 2_000, code: "529" } })
    expect(report({ news: { ...news, answeredAt: 0 } }).elsewhere).not.toHaveProperty("answeredAt")
    expect(report({ view: { ...shut, waiting: 0 } }).gate).not.toHaveProperty("nextTryAt")
    expect(report({ view: { ...shut, nextTryAt: Infinity } }).gate).not.toHaveProperty("nextTryAt")
    const views = [1, 2].map((waiting) => ({ ...openGate, waiting }))
    const ramp = { ...shut, phase: "ramp", room: 4, held: 0 } as const
    const words = [...views, ramp, { ...shut, phase: "open" as const }, { ...shut, waiting: 0, held: 0 }]
    expect(words.map(EndpointReports.gateWords)).toEqual([
      "Every turn may call. 1 turn waits for a time of its own.",
      "Every turn may call. 2 turns wait, each for a time of its own.",
      "It answers again: up to 4 retries at once are let through, and more with each answer. 3 turns wait.",
      "Every turn may call. 3 turns wait, each for a time of its own.",
      "No turn waits. A new turn calls as usual."
    ])
    expect(report({}).gate?.words).toBe("Every turn may call.")
  })

  it("lists configured models with every credential, and what was called or is paused, each once", () => {
    const counts = counted(overloaded)
    counts.count({ target: { provider: "own~client", model: "m" }, endedAt: now, isAnswered: true })
    counts.count({ target: { provider: "own", model: "old" }, endedAt: now - 7_200_000, isAnswered: true })
    const standing = paused(Standing.target({ provider: "own", model: "o" }))
    const routes = EndpointReports.routesOf(config, { calls: counts.read(now), standing }, [route])
    const all = reports({ counts, standing }, routes)
    expect(all.map(({ credential, target }) => `${target} ${credential}`).join()).toBe(
      "own/m A_KEY,own/m B_KEY,own/n A_KEY,own/n B_KEY,own/o A_KEY,own/o B_KEY,own/m the client's own key"
    )
    expect(all.map(({ lastHour }) => lastHour.calls)).toEqual([1, 0, 0, 0, 0, 0, 1])
    const health = { at: now, countedSince: now - 3_600_000, endpoints: all, limits: [], boundCalls: 0, windows: [] }
    expect(Schema.decodeUnknownSync(Health.Health)(JSON.parse(JSON.stringify(health)))).toEqual(health)
  })
})

describe("the text of a report", () => {
  it("has each endpoint with gate, pauses, calls and the last failure", () => {
    const standing = paused(Standing.credential("own", "A_KEY"), now + 60_000)
    const endpoints = [report({ view: shut, standing, counts: counted(undefined, overloaded) })]
    const limits = [{ provider: "own", waiting: 2, calls: { used: 1, limit: 4 } }]
    const windows = [
      { provider: "own", credential: "client a1b2c3", name: "5h", used: 0.939, resetAt: now + 7_000, at: now }
    ]
    const runner = "10.0.0.5:4748"
    const health = { at: now, countedSince: now - 1_000, runner, endpoints, limits, boundCalls: 0, windows }
    const whole = EndpointReports.lines(health, (at) => `${(at - now) / 1_000} s`)
    const { status: _, ...unnumbered } = overloaded
    const local = { ...route, target: { provider: "own", model: "n" } }
    const news = { triedAt: 0, answeredAt: 0, failedAt: now, failure: unnumbered, n: 1 }
    const others = reports({ counts: counted(undefined), news }, [local, { ...local, credential: "B_KEY" }])
    const { runner: __, ...unnamed } = health
    const requestsPerMinute = { used: 2, limit: 9 }
    const minutely = [{ provider: "own", waiting: 0, requestsPerMinute, tokensPerMinute: { used: 3, limit: 8 } }]
    const countedSince = now - 3_600_000
    const rest = { ...unnamed, countedSince, endpoints: others, limits: minutely, windows: [] }
    const minimal = EndpointReports.lines(rest, (at) => `${(at - now) / 1_000} s`)
    expect([...whole, "---", ...minimal, ""].join("\n")).toBe(
      readFileSync(new URL("EndpointReports.txt", import.meta.url), "utf8")
    )
    expect(EndpointReports.lines({ ...rest, endpoints: [], limits: [], windows }, String)).toHaveLength(1)
  })
})
