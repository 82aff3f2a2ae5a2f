/**
 * Tests turns that are driven without a fiber, over a provider whose calls need none.
 *
 * The orders of events are in the nights of `simulate`.
 */
import { assert, describe, it } from "@effect/vitest"
import { StorageError } from "@holdfast/journal"
import { ProviderCall } from "@holdfast/kernel/host"
import { Standing } from "@holdfast/policy"
import { type Failure, Ids } from "@holdfast/wire"
import { Deferred, Duration, Effect, Exit, Fiber } from "effect"
import { TestClock } from "effect/testing"
import * as DrivenTurn from "../../../src/engine/driver/DrivenTurn.ts"
import { Gatekeeper } from "../../../src/engine/gate/Gatekeeper.ts"
import { Hub } from "../../../src/engine/session/Hub.ts"
import { TurnLife } from "../../../src/engine/session/TurnLife.ts"
import * as GivenTurn from "../../GivenTurn.ts"
import * as ConversationSetup from "../conversation/ConversationSetup.ts"
import type * as It from "../../It.ts"
import * as NumberedData from "../../storage/NumberedData.ts"
import type { Conversation } from "../../../src/storage/Stored.ts"

const OVERLOADED: Failure.Failure = { reason: "overloaded", message: "Overloaded", retryable: true, status: 529 }
const HELLO: ProviderCall.Events = [
  { type: "text-delta", delta: "Hello" },
  { type: "finish", finishReason: "stop" }
]

type Call = (listener: ProviderCall.Listener) => ProviderCall.Running

const UNDER_WAY: ProviderCall.Running = { more: () => {}, cancel: () => {} }

const answers: Call = (listener) => (listener.events(HELLO) ? ProviderCall.end(listener, Exit.void) : UNDER_WAY)

const refuses: Call = (listener) => ProviderCall.refuse(listener, { type: "error", failure: OVERLOADED })

/** The keys of a provider with a choice of them. */
const KEYS = { test: ["first", "second"] }

const throws: Call = () => {
  throw new TypeError("no such thing")
}

/** Never comes to anything. */
const silent: Call = () => UNDER_WAY

/** The outcomes of calls, one after the other; the last one repeats. */
type Script = ReadonlyArray<Call>

interface Service extends ConversationSetup.Service {
  readonly calls: { made: number }
}

const withService = (
  script: Script,
  test: It.Body<[Service]>,
  { beforeAppend = Effect.void, ...options }: Partial<Options> & { readonly beforeAppend?: Effect.Effect<void> } = {}
) => {
  const calls = { made: 0 }
  const given: Options = {
    scripts: [],
    provider: ProviderCall.provider((_request, _world, listener) =>
      (script[Math.min(calls.made++, script.length - 1)] ?? silent)(listener)
    ),
    retry: { schedule: { type: "steps", delays: [Duration.minutes(1)], tail: Duration.minutes(1) } },
    log: (real) => ({ append: (appends) => Effect.andThen(beforeAppend, real.append(appends)) }),
    ...options
  }
  return ConversationSetup.withService(given, function* (service) {
    yield* ConversationSetup.settled
    yield* Effect.gen(() => test({ ...service, calls }))
  })
}

type Options = ConversationSetup.Options

const begun = Effect.fnUntraced(function* ({ conversations }: Service) {
  const id = yield* conversations.create({})
  const turnId = yield* conversations.prompt(id, { prompt: "Hi" })
  yield* ConversationSetup.settled
  return { id, turnId }
})

describe("rule X2: a process that is to end", () => {
  /** A call whose content comes when the test wants it. */
  const later = () => {
    const open: { listener?: ProviderCall.Listener } = {}
    const call: Call = (listener) => {
      open.listener = listener
      return UNDER_WAY
    }
    return { call, answer: Effect.suspend(() => (open.listener?.events([HELLO[0]]), ConversationSetup.settled)) }
  }

  it.effect("rule X2: lets no answer leave whose content comes from then on, so that nothing of it is void", () => {
    const { answer, call } = later()
    return withService([call], function* (service) {
      const { turnId } = yield* begun(service)
      assert.isTrue(service.condition.settle())
      yield* answer
      assert.deepStrictEqual([service.condition.settle(), yield* service.log.load(turnId)], [true, []])
    })
  })

  it.effect("rule X2: waits for an answer whose mark is being written, and then for its end", () => {
    const { answer, call } = later()
    const door = Deferred.makeUnsafe<void>()
    return withService(
      [call],
      function* (service) {
        yield* begun(service)
        yield* answer
        assert.isFalse(service.condition.settle())
        yield* Deferred.succeed(door, undefined)
        yield* ConversationSetup.settled
        assert.isFalse(service.condition.settle())
        const [{ conversationId } = assert.fail()] = yield* service.log.tail()
        yield* service.conversations.abort(conversationId)
        assert.isTrue(service.condition.settle())
      },
      { beforeAppend: Deferred.await(door) }
    )
  })
})

it("rule X5: clients see a wait or a step once, and the wait behind the beginning of an early attempt", () => {
  const start = GivenTurn.stepStart(0)
  const missing = { type: "tools-missing", ...GivenTurn.ids, servers: [] } as const
  for (const [isEarly, seen] of [
    [undefined, "provider-retry step-start tools-missing text-delta"],
    [false, "step-start tools-missing text-delta"],
    [true, "step-start provider-retry tools-missing text-delta"]
  ] as const) {
    const [hub, turn] = [new Hub(), new TurnLife(GivenTurn.ids.turnId)]
    const watcher = hub.subscribe()
    const ticket = new Gatekeeper({ now: () => 0, at: () => () => {} }).admit()
    if (isEarly !== undefined) turn.hold("ticket", { ...ticket, isEarly })
    for (const event of [GivenTurn.retry(), GivenTurn.retry(), start, start, missing, GivenTurn.delta("Hi")])
      DrivenTurn.live(turn, hub, event)
    const types = watcher.take().map(({ event }) => event.type)
    assert.deepStrictEqual([types.join(" "), hub.inProgress.retry], [seen, undefined])
  }
})

describe("turns that are driven in groups", () => {
  it.effect("rule C10: a provider that throws has failed, as a defect", () =>
    withService([throws], function* (service) {
      const [attempt] = yield* service.log.load((yield* begun(service)).turnId)
      assert.include(attempt?.value, '"defect":true')
      assert.include(attempt?.value, "TypeError: no such thing")
    })
  )
})

describe("a turn that ends beside what it does", () => {
  it.effect("rule C10: a defect of a port fails it, with the reason", () =>
    withService(
      [answers],
      function* (service) {
        const { end } = yield* service.conversations.result((yield* begun(service)).turnId)
        assert.deepStrictEqual([end.status, service.calls.made], ["failed", 0])
        assert.include(end.error?.message, "no such table")
      },
      {
        credentials: KEYS,
        standings: () => ({ load: () => Effect.die(new Error("no such table")), note: () => Effect.void })
      }
    )
  )

  it.effect("rule X1: while it is read from the disk it stops with the service", () => {
    let waiting: Fiber.Fiber<unknown, unknown> | undefined
    const test = withService(
      [answers],
      function* (service) {
        const { id, turnId } = yield* begun(service)
        yield* service.conversations.result(turnId)
        const second = yield* service.conversations.prompt(id, { prompt: "And?" })
        waiting = yield* Effect.forkDetach(service.conversations.result(second), { startImmediately: true })
        yield* ConversationSetup.settled
        assert.isUndefined(waiting.pollUnsafe())
      },
      { store: () => ({ resumption: () => Effect.never }) }
    )
    return Effect.andThen(
      test,
      Effect.suspend(() => Effect.flip(Fiber.join(waiting ?? assert.fail())))
    )
  })
})

describe("a draft", () => {
  /** Runs a draft, and keeps how it was sealed as one. */
  const drafted = Effect.fnUntraced(function* ({ held }: Service, wait: Partial<Conversation> = {}) {
    const conversationId = Ids.ConversationId.make("draft")
    const conversation = { ...NumberedData.conversation(1), ...wait, conversationId, model: "test/m" }
    const turnId = Ids.TurnId.make("t")
    const seals: Array<string> = []
    const turn = { turnId, conversationId, prompt: "Hi", acceptedAt: 0, end: undefined }
    const begun = held.begin(conversation, turn, ({ end }) => void seals.push(end.status))
    const running = yield* Effect.forkChild(begun, { startImmediately: true })
    yield* ConversationSetup.settled
    return { conversation, running, seals, turnId }
  })

  /** Accepts a draft whose first attempt has failed, as a turn of this conversation. */
  const accepted = Effect.fnUntraced(function* (
    { held }: Service,
    { conversation, running }: Effect.Success<ReturnType<typeof drafted>>
  ) {
    const left = yield* Fiber.join(running)
    if (left._tag !== "Failed") return assert.fail()
    const conversationId = Ids.ConversationId.make("accepted")
    yield* held.accept({ ...conversation, conversationId }, left)
    yield* ConversationSetup.settled
    return conversationId
  })

  it.effect("rules X13, P8: that began at another target goes on there, and its first target is left alone", () => {
    const pause = { until: 28_800_000, reason: "rate-limited", retryable: true } as const
    const paused = Standing.paused(Standing.target({ provider: "test", model: "m" }), pause)
    return withService(
      [refuses, answers],
      function* (service) {
        const { log, store } = service
        const routing = { type: "fallback-chain", chains: { default: ["test/n"] } }
        const draft = yield* drafted(service, { retry: { routing } })
        const { turnId } = draft
        const conversationId = yield* accepted(service, draft)
        yield* TestClock.adjust(Duration.minutes(1))
        yield* ConversationSetup.settled
        const { end } = yield* service.conversations.result(turnId, conversationId)
        assert.deepStrictEqual([end.status, end.attempts], ["completed", 2])
        const events = yield* store.turnEvents(turnId)
        const changes = events.flatMap(({ event }) => (event.type === "model-change" ? [[event.from, event.to]] : []))
        assert.deepStrictEqual(changes, [["test/m", "test/n"]])
        const names = (yield* log.load(turnId)).slice(0, 3).map(({ name }) => name)
        assert.deepStrictEqual(names, ["step/0/route", "step/0/attempt/0", "step/0/decision/0"])
      },
      { credentials: KEYS, standings: () => ({ load: () => Effect.succeed(paused), note: () => Effect.void }) }
    )
  })

  it.effect("rule X13: that has a choice of keys is answered although the database is away", () => {
    const away = Effect.fail(new StorageError({ message: "The database is away." }))
    return withService(
      [answers],
      function* (service) {
        const { running, seals } = yield* drafted(service)
        assert.strictEqual((yield* Fiber.join(running))._tag, "Sealed")
        assert.deepStrictEqual([seals, service.calls.made], [["completed"], 1])
      },
      { credentials: KEYS, standings: () => ({ load: () => away, note: () => away }) }
    )
  })

  it.effect("rule X13: is accepted, and ends, while the turns of the last process cannot be taken up", () =>
    withService([refuses, answers], function* (service) {
      const { condition, held } = service
      yield* condition.setStarting("The disk is full.")
      const draft = yield* drafted(service)
      const conversationId = yield* accepted(service, draft)
      yield* TestClock.adjust(Duration.minutes(1))
      yield* ConversationSetup.settled
      const { end } = yield* held.conversations.result(draft.turnId, conversationId)
      assert.deepStrictEqual([end.status, end.attempts], ["completed", 2])
    })
  )

  it.effect("rule X13: whose first wait would exceed a limit is accepted, and is sealed by that decision", () =>
    withService([refuses], function* (service) {
      const draft = yield* drafted(service, { retry: { budget: "1 second" } })
      const { turnId } = draft
      const { end } = yield* service.conversations.result(turnId, yield* accepted(service, draft))
      assert.deepStrictEqual([end.status, end.attempts, service.calls.made], ["failed", 1, 1])
      assert.deepInclude((yield* service.held.lastAttempt(turnId))?.decision, { _tag: "GiveUp", because: "exhausted" })
    })
  )
})
