/** Tests turns that may change their target, by events, state and commands. */
import { assert, describe, it } from "@effect/vitest"
import { StorageError } from "@holdfast/journal"
import { ScriptedProvider } from "@holdfast/kernel/testing"
import { defined, Ids } from "@holdfast/wire"
import { Deferred, Duration, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { asking, waits, watching, withService } from "../conversation/ConversationSetup.ts"

const { answer, call, emits, hangs, overloaded, tools } = ScriptedProvider

const turnId = Ids.TurnId.make("a")

const quota = {
  reason: "quota-exhausted",
  message: "You exceeded your current quota.",
  retryable: false,
  status: 429
} as const

describe("a turn that continues elsewhere at once", () => {
  it.effect("rule P15: runs, and does not wait, while the other target is called", () =>
    Effect.gen(function* () {
      const reached = yield* Deferred.make<void>()
      yield* withService(
        {
          scripts: [emits(overloaded), hangs(reached)],
          retry: { routing: { type: "fallback-chain", chains: { default: ["test/other"] } } }
        },
        Effect.fnUntraced(function* ({ conversations }) {
          const id = yield* conversations.create({})
          yield* conversations.prompt(id, { prompt: "Hi", turnId })
          yield* Deferred.await(reached)
          const { isRetrying, retryAt, status } = yield* conversations.state(id)
          assert.deepStrictEqual([status, isRetrying, retryAt], ["running", false, undefined])
        })
      )
    })
  )
})

describe("a conversation that stays on a fallback target", () => {
  it.effect(
    'rule P9: leaves it when a person sets the model, with "never" too, also where it is the model that it had',
    () =>
      withService(
        {
          scripts: [emits(overloaded), answer("1"), answer("2"), answer("3"), answer("4")],
          retry: {
            routing: {
              type: "fallback-chain",
              chains: { default: ["test/other"] },
              revert: "never",
              cooldown: Duration.seconds(1)
            }
          }
        },
        Effect.fnUntraced(function* ({ conversations, provider }) {
          const id = yield* conversations.create({})
          const ask = Effect.fnUntraced(function* (name: string) {
            yield* conversations.prompt(id, { prompt: "Hi", turnId: Ids.TurnId.make(name) })
            yield* conversations.result(Ids.TurnId.make(name))
            yield* TestClock.adjust("1 minute")
          })
          yield* ask("a")
          yield* ask("b")
          assert.strictEqual((yield* conversations.state(id)).model, "test/other")
          yield* conversations.change({ type: "set-model", conversationId: id, model: "test/m" }, { ifOther: true })
          assert.strictEqual((yield* conversations.state(id)).model, "test/other")
          yield* conversations.change({ type: "set-model", conversationId: id, model: "test/m" })
          assert.strictEqual((yield* conversations.state(id)).model, "test/m")
          yield* ask("c")
          assert.deepStrictEqual(
            provider.requests.map(({ target }) => target.model),
            ["m", "other", "other", "m"]
          )
        })
      )
  )
})

describe("a turn whose model answers with text although a report is required", () => {
  it.effect("rule A9, P8: calls it again: its target is healthy, and does not cool down", () =>
    withService(
      {
        scripts: [answer("I am done."), tools(call("final_report")), answer("Hello")],
        retry: {
          ...waits(1, 1),
          routing: { type: "fallback-chain", chains: { default: ["test/other"] } },
          finalReport: { schema: { type: "object" } }
        }
      },
      Effect.fnUntraced(function* ({ conversations, provider }) {
        const id = yield* conversations.create({})
        yield* conversations.prompt(id, { prompt: "Hi", turnId })
        const watcher = yield* watching(conversations.watchTurn(turnId))
        yield* watcher.until("provider-retry")
        yield* TestClock.adjust("1 second")
        yield* watcher.until("turn-end")
        const another = yield* conversations.create({})
        yield* asking(conversations.prompt(another, { prompt: "Hi", turnId: Ids.TurnId.make("b") }))
        yield* Effect.repeat(Effect.yieldNow, { until: () => provider.requests.length === 3 })
        assert.deepStrictEqual(
          provider.requests.map(({ target }) => target.model),
          ["m", "m", "m"]
        )
      })
    )
  )
})

describe("a turn whose router waits for the database", () => {
  const refused = new StorageError({ message: "The disk is full." })
  for (const [where, standings] of [
    ["where it begins", { load: () => Effect.fail(refused) }],
    ["when its target has failed", { note: () => Effect.fail(refused) }]
  ] as const) {
    it.effect(`rule D8: is ended by an abort: ${where}`, () =>
      withService(
        {
          scripts: [emits(overloaded)],
          retry: { routing: { type: "fallback-chain", chains: { default: ["test/other"] } } },
          standings: () => standings
        },
        Effect.fnUntraced(function* ({ conversations }) {
          const id = yield* conversations.create({})
          yield* conversations.prompt(id, { prompt: "Hi", turnId })
          const watcher = yield* watching(conversations.watchTurn(turnId))
          yield* TestClock.adjust("5 minutes")
          assert.notInclude(watcher.types(), "turn-end")
          assert.isTrue(yield* conversations.abort(id))
          yield* watcher.until("turn-end")
          assert.deepInclude(watcher.seen.at(-1)?.event, { type: "turn-end", status: "aborted" })
        })
      )
    )
  }
})

describe("a conversation that began with retries switched off", () => {
  for (const [what, routing] of [
    ["waits for its only target", undefined],
    ["goes on with a stand-in", { type: "fallback-chain", chains: { default: ["test/other"] } }]
  ] as const) {
    it.effect(`rule P15: ${what} once they are switched on`, () =>
      withService(
        {
          scripts: [emits(overloaded), emits(overloaded), answer("At last")],
          retry: { ...waits(1), enabled: false, ...defined({ routing }) }
        },
        Effect.fnUntraced(function* ({ conversations }) {
          const id = yield* conversations.create({})
          assert.isFalse((yield* conversations.state(id)).autoRetryEnabled)
          yield* conversations.prompt(id, { prompt: "Hi", turnId })
          const first = yield* watching(conversations.watchTurn(turnId))
          yield* first.until("turn-end")
          assert.notInclude(first.types(), "provider-retry")

          yield* conversations.change({ type: "set-auto-retry", conversationId: id, enabled: true })
          const second = Ids.TurnId.make("b")
          yield* conversations.prompt(id, { prompt: "Again", turnId: second })
          const watcher = yield* watching(conversations.watchTurn(second))
          yield* watcher.until("provider-retry")
          yield* TestClock.adjust("1 second")
          yield* watcher.until("turn-end")
          assert.deepInclude(watcher.seen.at(-1)?.event, { type: "turn-end", status: "completed" })
        })
      )
    )
  }
})

describe("a turn that waits on disk", () => {
  const asking = (reason: "rate-limited" | "quota-exhausted", retryAfterMs: number) =>
    emits({ ...quota, reason, retryable: true, hint: { retryAfterMs, source: "retry-after" } })
  for (const [what, profile, scripts, credentials] of [
    ["so many attempts", "cycling", [asking("rate-limited", 30_000)], undefined],
    [
      "another key",
      "overnight",
      [60_000, 30_000, 60_000].map((ms) => asking("quota-exhausted", ms)),
      { test: ["ONE", "TWO", "THREE"] }
    ]
  ] as const) {
    it.effect(`rule X3: shows the same to later and earlier clients: ${what}`, () =>
      withService(
        { scripts, retry: { profile }, ...defined({ credentials }) },
        Effect.fnUntraced(function* ({ conversations }) {
          const id = yield* conversations.create({})
          yield* conversations.prompt(id, { prompt: "Hi", turnId })
          const first = yield* watching(conversations.watchTurn(turnId))
          yield* first.until("provider-retry", scripts.length)
          yield* Effect.repeat(conversations.counts, { until: ({ retrying }) => retrying === 1 })
          yield* Fiber.interrupt(first.fiber)
          const later = yield* watching(conversations.watchTurn(turnId))
          yield* later.until("provider-retry")
          const lastWait = ({ seen }: typeof first) =>
            seen.findLast(({ event }) => event.type === "provider-retry")?.event
          assert.deepStrictEqual(lastWait(later), lastWait(first))
        })
      )
    )
  }
})

describe("a turn that a person sends to another provider", () => {
  it.effect("rule P7: finds all of its keys there", () =>
    withService(
      {
        scripts: [emits(overloaded), emits(quota), answer("With the second key")],
        retry: waits(3_600, 3_600),
        credentials: { test: ["ONE"], other: ["FIRST", "SECOND"] }
      },
      Effect.fnUntraced(function* ({ conversations, provider }) {
        const conversationId = yield* conversations.create({})
        yield* conversations.prompt(conversationId, { prompt: "Hi", turnId })
        const watcher = yield* watching(conversations.watchTurn(turnId))
        yield* watcher.until("provider-retry")
        yield* conversations.steer({ type: "switch-target", conversationId, model: "other/m" }, "a test")
        yield* watcher.until("turn-end")
        assert.deepStrictEqual(
          provider.requests.map(({ credential, target }) => [target.provider, credential]),
          [
            ["test", undefined],
            ["other", undefined],
            ["other", "SECOND"]
          ]
        )
      })
    )
  )
})
