/** Tests limits of spending in the service, on a store in memory and a test clock. */
import { assert, describe, it } from "@effect/vitest"
import { StorageError } from "@holdfast/journal"
import { GivenRecords, ScriptedProvider } from "@holdfast/kernel/testing"
import type { Provider } from "@holdfast/kernel"
import { History } from "@holdfast/kernel/host"
import { Ids } from "@holdfast/wire"
import { Deferred, Duration, Effect, Fiber, Layer, Logger, type Scope, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as ConversationSetup from "../conversation/ConversationSetup.ts"
import * as Spending from "../../../src/engine/spend/Spending.ts"
import type * as SpendLimits from "../../../src/config/limits/SpendLimits.ts"
import type { SpendRaise } from "../../../src/storage/SpendRaises.ts"
import type { TurnFilter, TurnRow } from "../../../src/storage/ListPage.ts"
import * as LocalTime from "../../../src/base/text/LocalTime.ts"
import * as MemoryStore from "../../storage/MemoryStore.ts"
import * as It from "../../It.ts"

/** Its answers report 15 tokens each. */
const { answer, breaksOff, emits, text } = ScriptedProvider

type Service = ConversationSetup.Service
type SpendSettings = Parameters<typeof Spending.make>[0]
type Limits = ReadonlyArray<SpendLimits.SpendLimit>

/** Limits over what is read from these sources. */
const made = (limits: Limits, sources: Spending.Sources, isShared = false, prices: SpendSettings["prices"] = {}) =>
  Spending.make({ limits, prices, isShared }, sources)

const limited = (limits: Limits, scripts: ReadonlyArray<ScriptedProvider.Script>, test: It.Body<[Service]>) =>
  ConversationSetup.withService({ scripts, spend: { limits, prices: {}, isShared: false } }, test)

/** Services that run one after the other on one database. */
const lives = (limits: Limits, isShared: boolean) =>
  Effect.map(Layer.build(Layer.fresh(MemoryStore.layer)), (built) => {
    const storage = Layer.succeedContext(built)
    return <A>(scripts: ReadonlyArray<ScriptedProvider.Script>, test: It.Body<[Service], Scope.Scope, A>) =>
      ConversationSetup.withService({ scripts, storage, spend: { limits, prices: {}, isShared } }, test)
  })

/** A database without turns. */
const NOTHING = {
  lists: { turns: () => Effect.succeed({ rows: [], next: undefined }), labelsOf: () => Effect.succeed({}) },
  log: { load: () => Effect.succeed([]) }
}

const IDS = { conversationId: Ids.ConversationId.make("c"), turnId: Ids.TurnId.make("t") }

/** The record of an attempt that used 15 tokens. */
const used = (_: unknown, n: number) => {
  const { name, value } = GivenRecords.failed(n, 0)
  return { name, value: JSON.stringify({ ...JSON.parse(value), usage: { inputTokens: 10, outputTokens: 5 } }) }
}

/** The end of a turn that its first call answered. */
const ENDED = { status: "completed", attempts: 1, sleptMs: 0, endedAt: 0 }

/** A request for an attempt of the model `test/m`. */
const requestOf = (attempt: number) =>
  ({ attempt, target: { provider: "test", model: "m" } }) as unknown as Provider.ProviderRequest

/** The event of an attempt that a limit refuses, if one does. */
const refusalOf = (
  spending: Effect.Success<ReturnType<typeof Spending.make>>,
  own: Parameters<typeof spending.checked>[1],
  attempt = 0
) =>
  Effect.map(
    Stream.runCollect(spending.checked({ stream: () => Stream.empty }, own).stream(requestOf(attempt))),
    ([event]) => (event?.type === "error" ? event.failure.message : undefined)
  )

/** Runs a turn in a conversation of its own, to its end. */
const turn = Effect.fnUntraced(function* ({ conversations }: Service, tags: ReadonlyArray<string> = []) {
  const turnId = yield* conversations.prompt(yield* conversations.create({}), { prompt: "Hi", labels: { tags } })
  return yield* conversations.result(turnId)
})

describe("a limit of the day that fails turns", () => {
  it.effect("lets the step pass that reaches it, and fails the next turn without a call", () =>
    limited([{ per: "day", tokens: 30, then: "fail" }], [answer("one"), answer("two")], function* (service) {
      for (const expected of ["one", "two"]) assert.strictEqual((yield* turn(service)).text, expected)
      const { end } = yield* turn(service)
      assert.deepStrictEqual([end.status, end.attempts, end.error?.code], ["failed", 0, "spend-limit"])
      assert.include(end.error?.message, "it allows 30 tokens a day, and 30 tokens were spent since midnight (")
      assert.include(end.error?.message, "spend[0]")
      assert.strictEqual(service.provider.requests.length, 2)
    })
  )

  it.effect("counts an answer that broke off, and one whose turn failed", () =>
    limited(
      [{ per: "day", tokens: 15, then: "fail" }],
      [breaksOff(text("Hel"), { type: "usage", usage: { inputTokens: 10, outputTokens: 5 } })],
      function* (service) {
        assert.strictEqual((yield* turn(service)).end.error?.code, undefined)
        assert.strictEqual((yield* turn(service)).end.error?.code, "spend-limit")
      }
    )
  )

  It.effect("counts what turns of the day have used before the service started", function* () {
    const life = yield* lives([{ per: "tag", tag: "nightly", tokens: 15, then: "fail" }], false)
    yield* life([answer("one"), answer("two")], function* (service) {
      yield* turn(service, ["nightly"])
      yield* turn(service)
    })
    yield* life([answer("three")], function* (service) {
      const { end } = yield* turn(service, ["nightly", "other"])
      assert.include(end.error?.message, "on turns with the tag nightly, and 15 tokens were spent")
      assert.strictEqual((yield* turn(service, ["other"])).text, "three")
    })
  })
})

describe("a limit of a conversation", () => {
  const limits = [{ per: "conversation", tokens: 30, then: "fail" }] as const
  const prompt = ({ conversations }: Service, id: Ids.ConversationId) =>
    Effect.flatMap(conversations.prompt(id, { prompt: "Hi" }), conversations.result)
  const answers = ["one", "two", "three", "four"].map((text) => answer(text))

  it.effect("rule X11: fails its next turn, on another day too, and no turn of another one", () =>
    limited(limits, answers, function* (service) {
      const id = yield* service.conversations.create({})
      yield* prompt(service, id)
      yield* TestClock.adjust("24 hours")
      assert.strictEqual((yield* prompt(service, id)).text, "two")
      const { end } = yield* prompt(service, id)
      assert.strictEqual(end.error?.code, "spend-limit")
      assert.include(
        end.error?.message,
        "spend[0] of the configuration is reached: it allows 30 tokens a conversation, and 30 tokens were spent in this one. "
      )
      assert.include(end.error?.message, "allows as much again in this conversation; or open another one.")
      assert.strictEqual((yield* turn(service)).end.status, "completed")
    })
  )

  for (const isShared of [true, false])
    It.effect(`counts its turns before a restart (several runners: ${isShared})`, function* () {
      const life = yield* lives(limits, isShared)
      const conversation = yield* life(answers, function* (service) {
        const id = yield* service.conversations.create({})
        yield* prompt(service, id)
        return id
      })
      yield* life(answers, function* (service) {
        assert.strictEqual((yield* prompt(service, conversation)).end.status, "completed")
        assert.strictEqual((yield* prompt(service, conversation)).end.error?.code, "spend-limit")
      })
    })
})

describe("a limit of a turn", () => {
  const limits = [{ per: "turn", tokens: 30, then: "fail" }] as const
  const step = ScriptedProvider.tools(ScriptedProvider.call("none"))

  it.effect(`rule X11: fails a turn of many steps, and counts anew with its retry`, () =>
    limited(limits, [step, step, answer("Done.")], function* (service) {
      const { conversations } = service
      const id = yield* conversations.create({})
      const { end } = yield* conversations.result(yield* conversations.prompt(id, { prompt: "Hi" }))
      assert.deepStrictEqual([end.status, end.error?.code, end.attempts], ["failed", "spend-limit", 2])
      assert.include(end.error?.message, "it allows 30 tokens a turn, and 30 tokens were spent in this one. ")
      assert.include(end.error?.message, "and a retry is a turn of its own.")
      assert.strictEqual((yield* conversations.result(yield* conversations.retry(id, {}))).text, "Done.")
    })
  )

  for (const isShared of [true, false])
    It.effect(`rule X11: counts its steps before a restart (several runners: ${isShared})`, function* () {
      const life = yield* lives(limits, isShared)
      const waiting = yield* life([step, emits(ScriptedProvider.overloaded)], function* ({ conversations }) {
        const id = yield* conversations.create({})
        const watcher = yield* ConversationSetup.watching(conversations.watch(id, 0))
        const turnId = yield* conversations.prompt(id, { prompt: "Hi" })
        yield* watcher.until("provider-retry")
        return turnId
      })
      yield* life([step, answer("Never asked for.")], function* ({ conversations }) {
        yield* TestClock.adjust("1 minute")
        const { end } = yield* conversations.result(waiting)
        assert.strictEqual(end.error?.code, "spend-limit")
      })
    })
})

describe("a call of the gateway", () => {
  it.effect("rule X11: of a model without a price is warned of once, by the name that prices have", () => {
    const said: Array<string> = []
    return Effect.gen(function* () {
      const spending = yield* made([{ per: "day", money: 1, then: "ask" }], NOTHING)
      const provider = spending.checked({ stream: () => Stream.empty }, { ...IDS, tags: [] })
      for (const model of ["tiny", "tiny", "small"]) {
        const target = { provider: "local~client", model }
        yield* Stream.runDrain(provider.stream({ ...IDS, target, step: 0, attempt: 0, messages: [], tools: [] }))
      }
      const cannot = "spend[0].money cannot be checked for local/"
      const unpriced = said.map((line) => line.split(": its price")[0])
      assert.deepStrictEqual(unpriced, [`${cannot}tiny`, `${cannot}small`])
    }).pipe(Effect.provide(Logger.layer([Logger.make(({ message }) => void said.push(String(message)))])))
  })
})

describe("a turn that other runners had before", () => {
  const [conversationId, turnId] = [Ids.ConversationId.make("one"), Ids.TurnId.make("a")]

  /** Takes the turn up for a step each time, after more calls at another runner. Returns the message of each refusal. */
  const refusals = Effect.fnUntraced(function* (
    limit: SpendLimits.SpendLimit,
    more: ReadonlyArray<number>,
    changedFrom?: string
  ) {
    let calls = 0
    const row = { model: "test/m", changedFrom, turn: { turnId } } as unknown as TurnRow
    const limits = [limit, { per: "turn", tokens: 1_000, then: "fail" }] as const
    const prices = { "test/m": { input: 0, output: 0 }, "test/dear": { input: 1e5, output: 0 } }
    const sources: Spending.Sources = {
      lists: {
        turns: (filter) => Effect.succeed({ rows: "conversationId" in filter ? [row] : [], next: undefined }),
        labelsOf: () => Effect.succeed({ tags: ["nightly"] })
      },
      log: { load: () => Effect.sync(() => Array.from({ length: calls }, used)) }
    }
    const spending = yield* made(limits, sources, true, prices)
    return yield* Effect.forEach(more, (n) => {
      calls += n
      return refusalOf(spending, { conversationId, turnId })
    })
  })

  It.effect("rule X11: their calls count for the turn's tags", function* () {
    const [refusal] = yield* refusals({ per: "tag", tokens: 30, then: "fail" }, [2])
    assert.include(refusal, "the tag nightly, and 30 tokens were spent")
  })

  It.effect("rule X11: what was used before a change of the model has the price of the model before", function* () {
    const [refusal] = yield* refusals({ per: "turn", money: 1, then: "fail" }, [1], "test/dear")
    assert.include(refusal, "The limit spend[0]")
  })

  It.effect("rule X11: an answer of the target that an earlier turn moved to has that target's price", function* () {
    const end = { ...ENDED, usage: { inputTokens: 10, outputTokens: 5 } }
    const row = { model: "cheap/m", turn: { turnId, end }, labels: { tags: [] } } as unknown as TurnRow
    const rows = ({ status }: TurnFilter) => (status === "completed" ? [row] : [])
    const prices = { "test/m": { input: 1e6, output: 0 }, "cheap/m": { input: 0, output: 0 } }
    const sources: Spending.Sources = {
      lists: { ...NOTHING.lists, turns: (filter) => Effect.succeed({ rows: rows(filter), next: undefined }) },
      log: { load: () => Effect.die("Its records are not read.") }
    }
    const spending = yield* made([{ per: "day", money: 1, then: "fail" }], sources, false, prices)
    assert.isUndefined(yield* refusalOf(spending, { conversationId, turnId: Ids.TurnId.make("b"), tags: [] }))
  })

  for (const per of ["turn", "conversation"] as const)
    It.effect(`rule X11: a limit of a ${per} counts the calls at each, also after the turn was here`, function* () {
      const [first, second, third] = yield* refusals({ per, tokens: 45, then: "fail" }, [1, 1, 1])
      assert.deepStrictEqual([first, second], [undefined, undefined])
      assert.include(third, "45 tokens were spent in this one")
    })
})

describe("the first attempt of a call that is not on disk", () => {
  It.effect("Spending.P3: is made by what is in memory while the database is away; no other asks it", function* () {
    let reads = 0
    let isAway = false
    const away = new StorageError({ message: "The database is away." })
    const read = <A>(found: A) => Effect.suspend(() => (reads++, isAway ? Effect.fail(away) : Effect.succeed(found)))
    const sources = {
      lists: { turns: () => read({ rows: [], next: undefined }), labelsOf: () => read({ tags: [] }) },
      log: { load: () => read([]) }
    }
    const spending = yield* made([{ per: "turn", tokens: 30, then: "fail" }], sources, true)
    isAway = true
    yield* TestClock.adjust("1 minute")
    const asked: Array<number> = []
    for (const [n, id] of ["one", "two", "two"].entries()) {
      const own = { conversationId: Ids.ConversationId.make("draft"), turnId: Ids.TurnId.make(id), isDraft: true }
      if (n === 2) yield* TestClock.adjust("1 minute")
      reads = 0
      yield* refusalOf(spending, { ...own, tags: [] })
      asked.push(reads)
    }
    assert.deepStrictEqual(asked, [1, 0, 1])
  })
})

describe("the database", () => {
  /** Counts what is read of the database; `raises` are on it. */
  const counting = (rows: ReadonlyArray<TurnRow> = [], raises: Array<SpendRaise> = [], records: Records = []) => {
    const reads: Record<string, number> = {}
    const read = <A>(name: string, found: A) => Effect.sync(() => ((reads[name] = (reads[name] ?? 0) + 1), found))
    const sources: Spending.Sources = {
      lists: {
        turns: (filter) =>
          read(Object.keys(filter).join(), {
            rows: rows.filter(({ turn: { end } }) => (end?.status ?? "open") === filter.status),
            next: undefined
          }),
        labelsOf: () => read("labels", { tags: ["x"] })
      },
      log: { load: () => read("log", records) },
      raises: { load: () => read("raises", raises), add: (raise) => Effect.sync(() => void raises.push(raise)) }
    }
    return { raises, reads, sources }
  }
  type Records = Effect.Success<ReturnType<Spending.Sources["log"]["load"]>>
  const open = { model: "test/m", turn: { turnId: IDS.turnId }, labels: { tags: ["x"] } } as unknown as TurnRow
  const reads = { status: 1, "status,since": 3, raises: 1 }

  for (const [per, isShared, more] of [
    ["day", false, {}],
    ["day", true, { raises: 2 }],
    ["tag", false, { labels: 1 }],
    ["conversation", false, { conversationId: 1 }],
    ["turn", false, {}],
    ["turn", true, { conversationId: 1 }]
  ] as const)
    It.effect(`is read for what a limit of a ${per} needs, once (several runners: ${isShared})`, function* () {
      const { reads: asked, sources } = counting()
      const limits = [{ per, tokens: per === "day" ? 0 : 9, then: "fail" }] as const
      const settings = { limits, prices: {}, isShared }
      const spending = yield* Spending.shared(settings, sources)
      assert.strictEqual(yield* Spending.shared(settings, sources), spending)
      const turn = spending.checked({ stream: () => Stream.empty }, IDS)
      for (const attempt of [0, 0, 1]) yield* Stream.runDrain(turn.stream(requestOf(attempt)))
      assert.deepStrictEqual(asked, { ...reads, ...more, ...(per === "day" && isShared ? { raises: 3 } : {}) })
    })

  for (const [per, expected] of [
    ["tag", "labels of one, labels of two"],
    ["conversation", "turns of c-one, turns of c-two"]
  ] as const)
    It.effect(`rule X11: is read for the ${per} of each turn, also where its target was called before`, function* () {
      const seen: Array<string> = []
      const lists: Spending.Sources["lists"] = {
        labelsOf: (id) => Effect.sync(() => (seen.push(`labels of ${id}`), { tags: [id] })),
        turns: ({ conversationId }) =>
          Effect.sync(() => {
            if (conversationId !== undefined) seen.push(`turns of ${conversationId}`)
            return { rows: [], next: undefined }
          })
      }
      const spending = yield* made([{ per, tokens: 9, then: "fail" }], { ...NOTHING, lists })
      for (const name of ["one", "one", "two", "two"]) {
        const ids = { turnId: Ids.TurnId.make(name), conversationId: Ids.ConversationId.make(`c-${name}`) }
        assert.isUndefined(yield* refusalOf(spending, ids))
      }
      assert.strictEqual(seen.join(", "), expected)
    })

  It.effect(
    "rule X11: has the tags and calls of open turns and of today's, and the raises, when the service starts",
    function* () {
      const end = { ...ENDED, usage: { inputTokens: 10, outputTokens: 5 } }
      const done = { ...open, turn: { turnId: Ids.TurnId.make("done"), end } } as unknown as TurnRow
      const { raises, sources } = counting([open, done], [], [used(0, 0)])
      const make = made([{ per: "tag", tokens: 30, then: "fail" }], sources)
      const next = (tags: ReadonlyArray<string>) => ({ ...IDS, turnId: Ids.TurnId.make("next"), tags })
      const before = yield* make
      assert.include(yield* refusalOf(before, next(["x"])), "the tag x, and 30 tokens were spent")
      assert.isUndefined(yield* refusalOf(before, next(["y"])))
      const news = yield* Effect.forkChild(Stream.runCollect(Stream.take(before.raised, 1)), { startImmediately: true })
      yield* before.raise({ limit: 0, tag: "x", tokens: 5 })
      assert.deepStrictEqual([yield* Fiber.join(news), raises.length], [[{ limit: 0, tag: "x" }], 1])
      assert.isUndefined(yield* refusalOf(yield* make, next(["x"])))
    }
  )

  It.effect("rule X11: has the question and the answer of a turn that asked before a restart", function* () {
    const failure = { ...GivenRecords.overloaded, code: "spend-limit", shared: true } as const
    const asks = { because: "spend", tokens: 0, limit: 0, waitedMs: 0, message: "?" } as const
    const refused = (n: number) => [
      GivenRecords.failed(n, 0, 0, failure),
      GivenRecords.retry(n, 1, 1),
      GivenRecords.wake(n, 0, { type: "asked", until: 9, asks })
    ]
    const limits = [{ per: "day", tokens: 5, then: "ask" }] as const
    const tokens = { input: 9, output: 0, cachedInput: 0, cacheWrite: 0 }
    const call = { hour: 0, target: "test/m", calls: 1, unreported: 0, tokens }
    const answered = { between: () => Effect.succeed([call]) }
    const outcomes: Array<string> = []
    for (const records of [[], refused(0), [...refused(0), GivenRecords.failed(1, 2)]]) {
      const { raises, sources } = counting([open], [], records)
      const spending = yield* made(limits, { ...sources, answered })
      const retried = yield* refusalOf(spending, IDS, 1)
      outcomes.push(`${retried} ${raises.length} ${(yield* refusalOf(spending, IDS)) === undefined}`)
    }
    assert.deepStrictEqual(outcomes, ["undefined 0 false", "undefined 1 true", "undefined 0 true"])
    const strategy = { ask: () => "of the strategy" } as unknown as Parameters<typeof own.asking>[0]
    const own = yield* made(limits, { ...counting().sources, answered })
    const asked = (failed: object | undefined) =>
      own.asking(strategy, IDS.turnId).ask?.({} as never, failed && ({ failure: failed } as never))
    const questions = [asked(undefined), asked(GivenRecords.overloaded), asked(failure)]
    assert.deepStrictEqual(questions.slice(0, 2), ["of the strategy", "of the strategy"] as never)
    assert.include(questions[2]?.asks.message, "spend[0]")
  })
})

describe("a limit that is raised", () => {
  It.effect("rule X11: Spending.P6: is raised at each runner before that refuses a call, until midnight", function* () {
    const stored: Array<SpendRaise> = []
    let isFull = true
    const full = new StorageError({ message: "The disk is full." })
    const sources = {
      ...NOTHING,
      raises: {
        load: (now: number) => Effect.sync(() => stored.filter(({ until }) => until > now)),
        add: (raise: SpendRaise) =>
          Effect.suspend(() => (isFull ? Effect.fail(full) : Effect.sync(() => void stored.push(raise))))
      }
    }
    const make = made([{ per: "day", tokens: 0, then: "fail" }], sources, true)
    const [one, two] = [yield* make, yield* make]
    const refusal = () => refusalOf(two, { ...IDS, tags: [] })
    assert.include(yield* refusal(), "spend[0]")
    assert.strictEqual(yield* Effect.flip(two.raise({ limit: 0, tokens: 30 })), full)
    assert.include(yield* refusal(), "spend[0]")
    isFull = false
    const none = yield* Effect.flip(one.raise({ limit: 0 }))
    assert.strictEqual(none.message, "spend[0] allows nothing: name money or tokens.")
    const raised = yield* one.raise({ limit: 0, tokens: 30 })
    assert.strictEqual(raised.tokens, 30)
    // A repeated raise allows no more.
    assert.strictEqual((yield* one.raise({ limit: 0, tokens: 30 })).tokens, 30)
    assert.deepStrictEqual([(yield* two.raise({ limit: 0, tokens: 5 })).tokens, yield* refusal()], [30, undefined])
    yield* TestClock.adjust("24 hours")
    assert.include(yield* refusal(), "spend[0]")
  })

  It.effect("names the tag or the conversation that its limit has a sum for, and no other", function* () {
    const limits = [{ per: "tag" }, { per: "tag", tag: "x" }, { per: "conversation" }] as const
    const all = limits.map((limit) => ({ ...limit, tokens: 5, then: "fail" as const }))
    const conversationId = Ids.ConversationId.make("c")
    const end = { ...ENDED, usage: { inputTokens: 20, outputTokens: 0 } }
    const row = { model: "test/m", turn: { turnId: Ids.TurnId.make("t"), end }, labels: {} } as unknown as TurnRow
    const turns = (filter: TurnFilter) =>
      Effect.succeed({ rows: filter.conversationId === conversationId ? [row] : [], next: undefined })
    const sources = { ...NOTHING, lists: { ...NOTHING.lists, turns } }
    const { raise } = yield* made(all, sources)
    const words = (wanted: Omit<Parameters<typeof raise>[0], "tokens">) =>
      Effect.match(raise({ ...wanted, tokens: 9 }), {
        onFailure: ({ message }) => message,
        onSuccess: (raised) => JSON.stringify(raised)
      })
    const until = LocalTime.nextDaily("00:00", 0)
    assert.strictEqual(yield* words({ limit: 0 }), "tag: spend[0] has a sum for each; name one.")
    assert.strictEqual(yield* words({ limit: 0, tag: "x" }), JSON.stringify({ limit: 0, tag: "x", tokens: 14, until }))
    assert.strictEqual(yield* words({ limit: 1, tag: "x" }), "tag: spend[1] has one sum; leave it out.")
    assert.strictEqual(yield* words({ limit: 2 }), "conversationId: spend[2] has a sum for each; name one.")
    assert.strictEqual(yield* words({ limit: 2, conversationId }), '{"limit":2,"conversationId":"c","tokens":29}')
    const unknown = "limit: found 3; the configuration has 3 limits (spend)."
    assert.strictEqual(yield* words({ limit: 3 }), unknown)
  })

  It.effect("is in force as its row has it, where its client leaves, and where two are raised at once", function* () {
    const rows: Array<SpendRaise> = []
    const written = yield* Deferred.make<void>()
    const sources = {
      ...NOTHING,
      raises: {
        load: () => Effect.succeed([]),
        add: (raise: SpendRaise) => Effect.suspend(() => (rows.push(raise), Deferred.await(written)))
      }
    }
    const spending = yield* made([{ per: "day", tokens: 1, then: "fail" }], sources)
    const left = yield* Effect.forkChild(spending.raise({ limit: 0, tokens: 60 }), { startImmediately: true })
    const smaller = yield* Effect.forkChild(spending.raise({ limit: 0, tokens: 5 }), { startImmediately: true })
    const leaving = yield* Effect.forkChild(Fiber.interrupt(left), { startImmediately: true })
    yield* Deferred.succeed(written, undefined)
    yield* Fiber.join(leaving)
    assert.strictEqual((yield* Fiber.join(smaller)).tokens, 61)
    const counted = rows.map(({ tokens }) => tokens)
    assert.deepStrictEqual(counted, [61, 61])
  })

  It.effect("rule X11: Spending.P6: is raised once: a turn that went on at another runner has no answer", function* () {
    const stored: Array<SpendRaise> = []
    const tokens = { input: 5, output: 0, cachedInput: 0, cacheWrite: 0 }
    const calls = [0, 1, 1].map((unreported) => ({ hour: 0, target: "test/m", calls: 1, unreported, tokens }))
    const sources = {
      ...NOTHING,
      answered: { between: () => Effect.succeed(calls) },
      raises: {
        load: () => Effect.sync(() => [...stored]),
        add: (raise: SpendRaise) => Effect.sync(() => void stored.push(raise))
      }
    }
    const make = made([{ per: "day", tokens: 10, then: "ask" }], sources, true)
    const [one, two] = [yield* make, yield* make]
    const refused = yield* refusalOf(two, { ...IDS, tags: [] })
    assert.match(refused ?? "", / 15 tokens were spent since midnight \(.+\)\. 2 answers came/)
    yield* one.raise({ limit: 0, tokens: 5 })
    assert.isUndefined(yield* refusalOf(two, { ...IDS, tags: [] }, 1))
    assert.strictEqual(stored.map(({ tokens }) => tokens).join(), "20")
  })
})

describe("rule X11: a limit of the day that asks", () => {
  const limits = [{ per: "day", tokens: 15, then: "ask", answerWithin: Duration.hours(2) }] as const

  /** A turn at the limit, which asks. */
  const asks = Effect.fnUntraced(function* ({ conversations }: Service) {
    const id = yield* conversations.create({})
    const watcher = yield* ConversationSetup.watching(conversations.watch(id, 0))
    const turnId = yield* conversations.prompt(id, { prompt: "Hi" })
    yield* watcher.until("provider-retry")
    yield* TestClock.adjust("1 millis")
    yield* watcher.until("provider-retry", 2)
    return { id, turnId, watcher }
  })

  const asked = Effect.fnUntraced(function* (service: Service) {
    yield* turn(service)
    const { id, turnId, watcher } = yield* asks(service)
    const event = watcher.seen.findLast(({ event }) => event.type === "provider-retry")?.event
    assert.isTrue(event?.type === "provider-retry" && event.asks?.because === "spend")
    assert.strictEqual(service.provider.requests.length, 1)
    return { id, turnId }
  })

  it.effect("rule X11: waits for a person without a call, and goes on when the answer is retry-now", () =>
    limited(
      limits,
      [answer("one"), ScriptedProvider.tools(ScriptedProvider.call("none")), answer("three")],
      function* (service) {
        const { id, turnId } = yield* asked(service)
        assert.isTrue(yield* service.conversations.steer({ type: "retry-now", conversationId: id }, "test"))
        const { end, text } = yield* service.conversations.result(turnId)
        // An answer holds for the rest of the turn: its second step asks nothing.
        assert.deepStrictEqual([end.status, text, end.attempts], ["completed", "three", 2])
        const [first] = History.of(yield* service.log.load(turnId)).attempts
        assert.isTrue(first?.outcome?._tag === "Failed" && first.outcome.failure.code === "spend-limit")
      }
    )
  )

  It.effect("rule X11: is asked about before a restart, and answered after it", function* () {
    const life = yield* lives(limits, false)
    const { id, turnId } = yield* life([answer("one")], function* (service) {
      yield* turn(service)
      return yield* asks(service)
    })
    yield* life([ScriptedProvider.tools(ScriptedProvider.call("none")), answer("two")], function* (service) {
      const { conversations, provider } = service
      assert.strictEqual(provider.requests.length, 0)
      assert.isTrue(yield* conversations.steer({ type: "retry-now", conversationId: id }, "test"))
      assert.strictEqual((yield* conversations.result(turnId)).text, "two")
      // The answer holds for the rest of the turn.
      assert.strictEqual(provider.requests.length, 2)
    })
  })

  it.effect("rule X11: is asked about again by a turn that goes on after it was raised and is reached again", () =>
    limited(
      limits,
      [answer("one"), ScriptedProvider.tools(ScriptedProvider.call("none")), answer("two"), answer("three")],
      function* (service) {
        const { conversations, provider } = service
        const first = yield* asked(service)
        const { id, turnId, watcher } = yield* asks(service)
        yield* conversations.steer({ type: "retry-now", conversationId: first.id }, "test")
        assert.strictEqual((yield* conversations.result(first.turnId)).text, "two")
        const calls = provider.requests.length
        yield* conversations.steer({ type: "retry-now", conversationId: id }, "test")
        yield* watcher.until("provider-retry", 3)
        yield* TestClock.adjust("1 millis")
        yield* watcher.until("provider-retry", 4)
        assert.strictEqual(provider.requests.length, calls)
        yield* conversations.steer({ type: "retry-now", conversationId: id }, "test")
        assert.strictEqual((yield* conversations.result(turnId)).text, "three")
      }
    )
  )

  it.effect("rule X11: fails the turn when nobody answers in time, with the limit in its error", () =>
    limited(limits, [answer("one")], function* (service) {
      const { turnId } = yield* asked(service)
      yield* TestClock.adjust("2 hours")
      const { end } = yield* service.conversations.result(turnId)
      assert.strictEqual(end.status, "failed")
      assert.include(end.error?.message, "The limit spend[0] of the configuration is reached")
      assert.include(end.error?.message, "Nobody answered within 2 h")
    })
  )
})
