/** Tests what becomes of a held call whose client leaves, under a test clock. */
import { assert, describe, expect } from "@effect/vitest"
import { Dialects } from "@holdfast/providers/dialects"
import type * as RawCall from "@holdfast/providers/raw"
import { TurnStopped } from "@holdfast/kernel"
import type { History } from "@holdfast/kernel/host"
import type { Failure, Ids, TurnEvent } from "@holdfast/wire"
import { Deferred, Duration, Effect, Fiber, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as Configurations from "../config/Configurations.ts"
import type * as HeldCalls from "../../src/engine/conversation/HeldCalls.ts"
import type { Conversations, TurnResult } from "../../src/engine/conversation/Conversations.ts"
import type * as ClientAnswer from "../../src/gateway/ClientAnswer.ts"
import * as Upstreams from "../../src/gateway/Upstreams.ts"
import * as GatedCall from "../../src/gateway/GatedCall.ts"
import * as Holding from "../../src/gateway/Holding.ts"
import * as LocalWaits from "../../src/gateway/LocalWaits.ts"
import * as Relayed from "./Relayed.ts"
import * as HeldCallIds from "../../src/storage/HeldCallIds.ts"
import { KEPT_MS } from "../../src/engine/orchestrator/HeldWaits.ts"
import * as It from "../It.ts"

const FAILURE: Failure.Failure = { reason: "overloaded", message: "Overloaded", status: 503, retryable: true }

const TARGET = { provider: "own~client", model: "m" }

const BODY = { model: "m", stream: true, messages: [] }

const call: GatedCall.GatedCall = {
  provider: "own",
  rest: "/chat/completions",
  headers: ["authorization", "Bearer sk-client-0123456789"],
  key: { _tag: "Client" },
  dialect: Dialects.byFormat.chat,
  asked: { format: "chat", framing: "events", model: "m" },
  body: Buffer.from(JSON.stringify(BODY)),
  coded: undefined,
  digest: undefined,
  retry: undefined
}

/** A client that notes how its call ended. */
const client = () => {
  const ends: Array<string> = []
  const answer: Partial<ClientAnswer.ClientAnswer> = {
    hasContent: false,
    named: () => {},
    fail: ({ message }) => void ends.push(message),
    giveUp: ({ message }) => void ends.push(message),
    refused: () => {},
    pass: () => false,
    cut: () => void ends.push("cut")
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The parts of it that holding uses before content.
  return { ends, answer: answer as ClientAnswer.ClientAnswer }
}

/** The calls that an endpoint which refuses everything gets, and what is done to turns. */
const rig = Effect.gen(function* () {
  const done: Array<string> = []
  const calls = new Map<Ids.ConversationId, HeldCalls.HeldCall>()
  const endpoint = { status: 503 }
  const records: { last?: Pick<History.Attempt, "hasContent" | "outcome"> } = {}
  const ended = yield* Deferred.make<TurnResult, TurnStopped.TurnStopped>()
  const send: RawCall.Send = (_request, listener) => {
    done.push("call")
    queueMicrotask(() => {
      listener.head({ status: endpoint.status, statusText: "", headers: [] })
      listener.end()
    })
    return { resume: () => {}, close: () => {} }
  }
  const conversations: Partial<Conversations["Service"]> = { result: () => Deferred.await(ended) }
  const config = Configurations.config({
    file: { providers: { own: { type: "openai-compatible", baseUrl: "http://127.0.0.1:1/v1" } }, model: "own/m" }
  })
  const waits = LocalWaits.make(() => Effect.sync(() => void done.push("abort")), yield* Effect.scope)
  const holding = Holding.make({
    send,
    endpoints: Upstreams.of(config),
    calls,
    waits,
    turns: {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The calls that holding makes.
      conversations: conversations as Conversations["Service"],
      choose: (make) => make(),
      begin: ({ conversationId }, turn) =>
        Effect.as(
          Stream.runDrain((calls.get(conversationId) ?? assert.fail()).stream({ ...Relayed.UNREAD, target: TARGET })),
          { _tag: "Failed" as const, turn, records: [], report: () => {}, drop: () => void done.push("drop") }
        ).pipe(Effect.orDie),
      accept: () => Effect.sync(() => void done.push("accept")),
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The parts that holding reads.
      lastAttempt: () => Effect.sync(() => records.last as History.Attempt | undefined),
      release: () => Effect.sync(() => void done.push("release")),
      resume: () => Effect.sync(() => (done.push("resume"), true)),
      unsealed: Effect.succeed([])
    },
    defaults: { model: { provider: "own", model: "m" }, models: {}, retry: {} },
    ended: () => {},
    answered: () => {},
    redact: (text) => text
  })
  const begin = (answer: ClientAnswer.ClientAnswer, headers = call.headers) =>
    Effect.forkChild(holding.answer({ ...call, headers }, answer))
  const until = (what: string) =>
    Effect.promise(async () => {
      while (!done.includes(what)) await new Promise(setImmediate)
    })
  const end = (error: Failure.Failure) => {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The parts of a turn's end that holding reads.
    const turnEnd = { type: "turn-end", status: "failed", usage: {}, error } as TurnEvent.TurnEnd
    return Deferred.succeed(ended, { turnId: "t" as Ids.TurnId, end: turnEnd, text: "" })
  }
  const stop = Deferred.fail(ended, new TurnStopped.TurnStopped({ message: "It went." }))
  return { begin, calls, done, end, endpoint, records, stop, until, waits }
})

describe("a held call whose login ends", () => {
  for (const [when, ending] of [
    ["after a head of ours is cut", "cut"],
    ["before a head has the refusal, and nothing of its turn, which is released", "passed"]
  ] as const)
    It.effect(`rule X13: ${when}; its client renews the login, and goes on in its wait`, function* () {
      const { begin, calls, done, endpoint, stop, until } = yield* rig
      const of = (login: string) => ["authorization", `Bearer ${login}`, "session-id", "s"]
      const { answer, ends } = client()
      if (ending === "passed") answer.pass = () => ends.push("passed") > 0
      const first = yield* begin(answer, of("old"))
      yield* until("accept")
      endpoint.status = 401
      const [provider = assert.fail()] = calls.values()
      const attempt = { ...Relayed.UNREAD, attempt: 1, target: TARGET }
      const [error] = yield* Stream.runCollect(provider.stream({ ...attempt, target: { provider: "no", model: "m" } }))
      const message = "no/m has another wire format than this call."
      expect(error).toEqual({ type: "error", failure: { reason: "model-unavailable", message, retryable: false } })
      const read = yield* Effect.forkChild(Effect.exit(Stream.runCollect(provider.stream(attempt))))
      yield* Effect.promise(async () => {
        while (ends.length === 0) await new Promise(setImmediate)
      })
      expect([ends, read.pollUnsafe()]).toEqual([[ending], undefined])
      if (ending === "cut") yield* Fiber.interrupt(first) // as its connection has ended
      else yield* Effect.andThen(stop, Fiber.join(first)) // as its turn has been released
      const renewed = yield* begin(client().answer, of("new"))
      yield* until("resume")
      const released = ending === "cut" ? ["release"] : ["release", "release"]
      expect([ends, done.slice(0, done.indexOf("resume"))]).toEqual([[ending], ["call", "accept", "call", ...released]])
      yield* Fiber.interruptAll([read, renewed])
    })
})

describe("twins that both lost their clients", () => {
  It.effect("go on one by one, and each is given up after 15 minutes", function* () {
    const { begin, done, until } = yield* rig
    const ask = Effect.fnUntraced(function* (wanted: string) {
      done.splice(0)
      const asked = yield* begin(client().answer)
      yield* until(wanted)
      return asked
    })
    yield* Fiber.interruptAll([yield* ask("accept"), yield* ask("accept")])
    yield* Fiber.interruptAll([yield* ask("resume"), yield* ask("resume")])
    done.splice(0)
    yield* TestClock.adjust(Duration.millis(KEPT_MS))
    expect(done).toEqual(["abort", "abort"])
  })
})

describe("a held call that gave up", () => {
  It.effect("gives the same error to the same call for 15 minutes, and is tried anew after that", function* () {
    const { begin, done, end, until } = yield* rig
    const [first, second, third] = [client(), client(), client()]
    const waiting = yield* begin(first.answer)
    yield* until("accept")
    yield* end(FAILURE)
    yield* Fiber.join(waiting)
    expect(first.ends).toEqual(["Overloaded"])
    done.splice(0)
    yield* TestClock.adjust(Duration.millis(KEPT_MS - 1))
    yield* Fiber.join(yield* begin(second.answer))
    expect([second.ends, done]).toEqual([["Overloaded"], []])
    yield* TestClock.adjust(Duration.millis(1))
    yield* begin(third.answer)
    yield* until("accept")
    expect(done).toEqual(["call", "accept"])
  })
})

describe("a held call whose answer was cut by the death of its process", () => {
  const cut = { hasContent: true, outcome: undefined }
  const key = GatedCall.keyOf(call)
  const turnId = HeldCallIds.turn(0, "0")
  const wait = { key, turnId, conversationId: HeldCallIds.make(key, turnId, "0") }

  It.effect("rule X13: is a new call when it is asked again", function* () {
    const { begin, done, end, records, until, waits } = yield* rig
    records.last = cut
    yield* waits.left(wait)
    yield* end(FAILURE)
    yield* begin(client().answer)
    yield* until("call")
    records.last = { ...cut, hasContent: false }
    yield* until("accept")
    expect(done).toEqual(["resume", "call", "accept"])
  })

  It.effect("rule X13: is a new call, too, at a runner where the same call gave up long ago", function* () {
    const { begin, done, end, records, until, waits } = yield* rig
    const refusal = { head: { status: 503, statusText: "", headers: [] }, body: [] }
    const waiting = yield* begin(Object.assign(client().answer, { lastRefusal: refusal }))
    yield* until("accept")
    yield* end(FAILURE)
    yield* Fiber.join(waiting)
    yield* TestClock.adjust(Duration.millis(KEPT_MS))
    records.last = cut
    waits.gaveUp(wait, FAILURE, KEPT_MS)
    done.splice(0)
    yield* begin(client().answer)
    yield* until("accept")
    expect(done).toEqual(["call", "accept"])
  })
})
