/** Tests turns that may change their target, by events, state and commands. */
import { assert, describe } from "@effect/vitest"
import { StorageError } from "@holdfast/journal"
import { ScriptedProvider } from "@holdfast/kernel/testing"
import { Ids } from "@holdfast/wire"
import { Duration, Effect } from "effect"
import { TestClock } from "effect/testing"
import { waits, watching, serving } from "../conversation/ConversationSetup.ts"

const { answer, emits, overloaded } = ScriptedProvider

const turnId = Ids.TurnId.make("a")

const quota = {
  reason: "quota-exhausted",
  message: "You exceeded your current quota.",
  retryable: false,
  status: 429
} as const

describe("a conversation that stays on a fallback target", () => {
  serving(
    'rule P9: leaves it when a person sets the model, with "never" too, also where it is the model that it had',
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
    function* ({ conversations, provider }) {
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
      assert.strictEqual(provider.requests.map(({ target }) => target.model).join(), "m,other,other,m")
    }
  )
})

describe("a turn whose router waits for the database", () => {
  const refused = new StorageError({ message: "The disk is full." })
  for (const [where, standings] of [
    ["where it begins", { load: () => Effect.fail(refused) }],
    ["when its target has failed", { note: () => Effect.fail(refused) }]
  ] as const) {
    serving(
      `rule D8: is ended by an abort: ${where}`,
      {
        scripts: [emits(overloaded)],
        retry: { routing: { type: "fallback-chain", chains: { default: ["test/other"] } } },
        standings: () => standings
      },
      function* ({ conversations }) {
        const id = yield* conversations.create({})
        yield* conversations.prompt(id, { prompt: "Hi", turnId })
        const watcher = yield* watching(conversations.watchTurn(turnId))
        yield* TestClock.adjust("5 minutes")
        assert.notInclude(watcher.types(), "turn-end")
        assert.isTrue(yield* conversations.abort(id))
        yield* watcher.until("turn-end")
        assert.deepInclude(watcher.seen.at(-1)?.event, { type: "turn-end", status: "aborted" })
      }
    )
  }
})

describe("a turn that a person sends to another provider", () => {
  serving(
    "rule P7: finds all of its keys there",
    {
      scripts: [emits(overloaded), emits(quota), answer("With the second key")],
      retry: waits(3_600, 3_600),
      credentials: { test: ["ONE"], other: ["FIRST", "SECOND"] }
    },
    function* ({ conversations, provider }) {
      const conversationId = yield* conversations.create({})
      yield* conversations.prompt(conversationId, { prompt: "Hi", turnId })
      const watcher = yield* watching(conversations.watchTurn(turnId))
      yield* watcher.until("provider-retry")
      yield* conversations.steer({ type: "switch-target", conversationId, model: "other/m" }, "a test")
      yield* watcher.until("turn-end")
      const called = provider.requests.map(({ credential, target }) => `${target.provider} ${credential}`)
      assert.deepStrictEqual(called, ["test undefined", "other undefined", "other SECOND"])
    }
  )
})
