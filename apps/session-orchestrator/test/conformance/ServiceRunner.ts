/**
 * Runs a scenario against the whole service: a client over HTTP, providers on sockets, a database, the real timer.
 *
 * V1. Delays are shortened by configuration alone, and so is what responses ask for.
 * V2. What somebody does in a wait is done once a client has been told of that wait; nothing here sleeps.
 */
import { assert } from "@effect/vitest"
import { Message } from "@holdfast/wire"
import { Effect, Schema } from "effect"
import * as Service from "../service/Service.ts"
import type { Live } from "../transport/http/Socket.ts"
import * as Answers from "./Answers.ts"
import * as Asked from "./Asked.ts"
import type { Played, PlayedTurn } from "./Played.ts"
import * as Scaling from "./Scaling.ts"
import * as Scenario from "./Scenario.ts"

/** How many times shorter a scenario's delays are made. Whoever acts in a wait needs the time to. */
export const scaleOf = ({ scale, turns }: Scenario.Scenario): number =>
  scale ?? (turns.some(({ when = [] }) => when.some(({ at }) => typeof at === "number")) ? 1 : Scenario.SCALE)

export const play = Effect.fnUntraced(function* (scenario: Scenario.Scenario, format: Scenario.Format) {
  const scale = scaleOf(scenario)
  const { retry, targets = [Scenario.TARGET] } = scenario
  const names = new Set(targets.map((target) => target.split("/")[0] ?? target))
  const service = yield* Service.start({
    format: format === "openai" ? "openai-compatible" : format,
    providers: Array.from(names),
    retry: {}
  })
  const id = yield* service.create({
    model: targets[0],
    retry: retry === null ? { enabled: false } : Scaling.settings(retry ?? {}, scale)
  })
  const turns: Array<PlayedTurn> = []
  for (const turn of scenario.turns) {
    const responses = turn.given.map((answer) => scripted(answer({ format, ms: (ms) => ms / scale })))
    service.provider.respond(...responses)
    const before = service.provider.requests().length
    const actsAt = (at: Scenario.When["at"]) => (turn.when ?? []).flatMap((when) => (when.at === at ? [when.act] : []))
    for (const act of actsAt("start")) yield* perform(service, id, act)
    const live = yield* service.open({
      path: `/v1/conversations/${id}/${turn.prompt === null ? "retry" : "turns"}`,
      headers: { accept: "application/x-ndjson" },
      body: turn.prompt === null ? {} : { prompt: turn.prompt ?? Scenario.PROMPT }
    })
    assert.strictEqual(live.status, 200)
    for (const { act, at } of turn.when ?? []) {
      if (at === "start") continue
      if (at === "held") for (const gate of responses.flatMap(Answers.gatesOf)) yield* gate.reached
      else yield* waitIsTold(live, at)
      yield* perform(service, id, act)
    }
    const events = Service.eventsOf(yield* live.rest)
    turns.push({ events, calls: service.provider.requests().slice(before).map(Asked.read) })
    assert.strictEqual(service.provider.left(), 0, "responses that nobody asked for")
  }
  const { text } = yield* service.call({ path: `/v1/conversations/${id}/messages` })
  return { turns, history: decodeHistory(text).messages } satisfies Played
})

// --- internal

type Running = Effect.Success<ReturnType<typeof Service.start>>

const scripted = (response: ReturnType<Answers.Answer>) =>
  Answers.isInside(response) ? assert.fail("no server can do this: the scenario is the kernel's alone") : response

/** Until a client has been told of the nth wait of the turn. */
const waitIsTold = (live: Live, n: number): Effect.Effect<void, Error> =>
  Effect.flatMap(live.until(""), (text) =>
    text.split('"type":"provider-retry"').length > n + 1 ? Effect.void : Effect.andThen(live.next, waitIsTold(live, n))
  )

const perform = Effect.fnUntraced(function* (service: Running, id: string, act: Scenario.Act) {
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
    case "sleep fails":
      return assert.fail("a real sleep does not fail: the scenario is the kernel's alone")
    default:
      return act satisfies never
  }
})

const decodeHistory = Schema.decodeUnknownSync(
  Schema.fromJsonString(Schema.Struct({ messages: Schema.Array(Message.Message) }))
)
