/**
 * Runs a scenario against the whole service: a client over HTTP, providers on sockets, a database, the real timer.
 *
 * ServiceRunner.V1. Delays are shortened by configuration alone, and so are the delays that responses ask for.
 * ServiceRunner.V2. An action during a wait happens after a client has received the event of that wait, and one in an answer after its first text;
 *     only a slow provider sleeps here.
 * ServiceRunner.V3. The explanation of a turn has each of its calls with its target, and each of its retries (X9).
 */
import { assert } from "@effect/vitest"
import * as ScriptedServer from "@holdfast/simulated/testing"
import { defined, Message, TurnExplanation } from "@holdfast/wire"
import { Effect, Schema } from "effect"
import * as Configurations from "../config/Configurations.ts"
import * as Service from "../service/Service.ts"
import type { Live } from "../http/Socket.ts"
import * as Answers from "./Answers.ts"
import * as ReceivedCall from "./ReceivedCall.ts"
import type { Played, PlayedTurn } from "./PlayedScenario.ts"
import * as Scaling from "./Scaling.ts"
import * as RuleScenario from "./RuleScenario.ts"
import * as ToolEndpoint from "./ToolEndpoint.ts"

/** The factor by which delays are shortened. An action during a wait needs time. */
export const scaleOf = (scenario: RuleScenario.Scenario): number => {
  const acts = RuleScenario.turnsOf(scenario).flatMap(({ when = [] }) => when)
  return scenario.scale ?? (acts.some(({ at }) => typeof at === "number") ? 1 : RuleScenario.SCALE)
}

/** Plays a scenario with its delays shortened by a factor. */
export const play = Effect.fnUntraced(function* (
  scenario: RuleScenario.Scenario,
  format: RuleScenario.Format,
  scale: number
) {
  const provider = yield* ScriptedServer.start()
  const config = yield* configOf(scenario, format, scale, provider.url)
  const service = yield* Service.start({ provider, config })
  const id = yield* service.create()
  const turns: Array<PlayedTurn> = []
  for (const turn of RuleScenario.turnsOf(scenario)) {
    const responses = yield* Effect.forEach(turn.given, (answer) =>
      scripted(answer({ format, ms: (ms) => ms / scale }), scale)
    )
    service.provider.respond(...responses)
    const before = service.provider.requests().length
    const actsAt = (at: RuleScenario.When["at"]) =>
      (turn.when ?? []).flatMap((when) => (when.at === at ? [when.act] : []))
    for (const act of actsAt("start")) yield* perform(service, id, act)
    const live = yield* service.open({
      path: `/v1/conversations/${id}/${turn.prompt === null ? "retry" : "turns"}`,
      headers: { accept: "application/x-ndjson" },
      body: turn.prompt === null ? {} : { prompt: turn.prompt ?? RuleScenario.PROMPT }
    })
    assert.strictEqual(live.status, 200)
    for (const { act, at } of turn.when ?? []) {
      if (at === "start") continue
      if (at === "held") yield* live.until('"type":"text-delta"')
      else yield* waitIsTold(live, at)
      yield* perform(service, id, act)
    }
    const events = Service.eventsOf(yield* live.rest)
    const calls = service.provider.requests().slice(before).map(ReceivedCall.read)
    turns.push({ events, calls })
    yield* explained(service, id, events, calls)
    assert.strictEqual(service.provider.left(), 0, "responses that nobody asked for")
  }
  const { text } = yield* service.call({ path: `/v1/conversations/${id}/messages` })
  return { turns, history: decodeHistory(text).messages } satisfies Played
})

// --- internal

type Running = Effect.Success<ReturnType<typeof Service.start>>

/** The configuration as a user writes it. */
const configOf = Effect.fnUntraced(function* (
  scenario: RuleScenario.Scenario,
  format: RuleScenario.Format,
  scale: number,
  url: string
) {
  const { credentials = {}, models, retry = {}, targets = [RuleScenario.TARGET], tools } = scenario
  const type = format === "openai" ? "openai-compatible" : format
  const file = {
    server: { port: 0 },
    database: { path: ":memory:" },
    providers: Object.fromEntries(
      RuleScenario.providersOf(scenario).map((name) => [
        name,
        { type, baseUrl: `${url}/${name}/v1`, apiKeyEnv: credentials[name] ?? [] }
      ])
    ),
    model: targets[0],
    retry: retry === null ? { enabled: false } : Scaling.settings(retry, scale),
    ...defined({ models }),
    ...(tools === undefined ? {} : { tools: { scripted: { url: yield* ToolEndpoint.start(tools) } } })
  }
  const environment = Object.fromEntries(
    Object.values(credentials).flatMap((names) => names.map((name) => [name, RuleScenario.keyOf(name)]))
  )
  return Configurations.config({ file, environment })
})

/** A response of a server, with its delay. */
const scripted = (response: ReturnType<Answers.Answer>, scale: number) => {
  if (!Answers.isLate(response)) return Effect.succeed(response)
  if (typeof response.response === "string") return Effect.sync(() => assert.fail("a late response has a head"))
  const { response: late, takesMs } = response
  const gate = ScriptedServer.gate()
  const opened = Effect.andThen(gate.reached, Effect.delay(gate.open, takesMs / scale))
  return Effect.as(Effect.forkScoped(opened), { ...late, hold: gate })
}

/** Waits until a client has received the event of the turn's nth wait. */
const waitIsTold = (live: Live, n: number): Effect.Effect<void, Error> =>
  Effect.flatMap(live.until(""), (text) =>
    text.split('"type":"provider-retry"').length > n + 1 ? Effect.void : Effect.andThen(live.next, waitIsTold(live, n))
  )

const perform = Effect.fnUntraced(function* (service: Running, id: string, act: RuleScenario.Act) {
  const path = `/v1/conversations/${id}`
  if (typeof act === "object" && "switchesTo" in act) {
    const { status } = yield* service.call({ path: `${path}/switch-target`, body: { model: act.switchesTo } })
    assert.strictEqual(status, 202)
    return
  }
  if (typeof act === "object") {
    const state: object = JSON.parse((yield* service.call({ path })).text)
    assert.deepInclude(state, act.reads)
    return
  }
  switch (act) {
    case "abort":
    case "abort-retry":
    case "retry-now":
      assert.strictEqual((yield* service.call({ method: "POST", path: `${path}/${act}` })).status, 202)
      return
    case "auto-retry on":
    case "auto-retry off": {
      const body = { enabled: act === "auto-retry on" }
      const { status } = yield* service.call({ method: "PUT", path: `${path}/auto-retry`, body })
      assert.isBelow(status, 300)
      return
    }
    default:
      return act satisfies never
  }
})

/** ServiceRunner.V3 */
const explained = Effect.fnUntraced(function* (
  service: Running,
  id: string,
  events: PlayedTurn["events"],
  calls: PlayedTurn["calls"]
) {
  const turnId = events[0]?.turnId
  const { steps, unread } = decodeExplanation(
    (yield* service.call({ path: `/v1/conversations/${id}/turns/${turnId}/explain` })).text
  )
  assert.deepStrictEqual(unread, [])
  // If no message can be left out, the model is not called.
  const attempts = steps
    .flatMap(({ attempts }) => attempts)
    .filter(({ compaction, failure }) => compaction !== "nothing" || failure !== undefined)
  assert.deepStrictEqual(
    attempts.map(({ target }) => target),
    calls.map(({ target }) => target),
    "rule X9: calls"
  )
  const retries = attempts.flatMap(({ decision }) => (decision?.type === "retry" ? [decision] : []))
  assert.deepStrictEqual(
    retries.map(({ delayMs, retryAt }) => [delayMs, retryAt]),
    events.flatMap((event) => (event.type === "provider-retry" ? [[event.delayMs, event.retryAt]] : [])),
    "rule X9: retries"
  )
})

const decodeExplanation = Schema.decodeUnknownSync(Schema.fromJsonString(TurnExplanation.TurnExplanation))

const decodeHistory = Schema.decodeUnknownSync(
  Schema.fromJsonString(Schema.Struct({ messages: Schema.Array(Message.Message) }))
)
