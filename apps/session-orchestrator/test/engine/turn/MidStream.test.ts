/** Tests answers that break off in the service, by the setting `midStream` (rule X7). */
import { assert, describe } from "@effect/vitest"
import { ScriptedProvider } from "@holdfast/kernel/testing"
import type { TurnEvent } from "@holdfast/wire"
import { TestClock } from "effect/testing"
import * as ConversationSetup from "../conversation/ConversationSetup.ts"

const { answer, breaksOff, text } = ScriptedProvider

/** A wait that turns spend on disk. */
const PARKED = ConversationSetup.waits(10, 10)

const discardedIn = (events: ReadonlyArray<{ readonly event: TurnEvent.TurnEvent }>) =>
  events.filter(({ event }) => event.type === "step-discarded").length

describe("an answer that breaks off", () => {
  ConversationSetup.serving(
    "rule X7: `discard` voids what a client has, before its wait; the retry comes back from disk",
    { scripts: [breaksOff(text("Hel")), answer("Hello")], retry: PARKED },
    function* ({ conversations, log, store }) {
      const id = yield* conversations.create({ retry: { midStream: "discard" } })
      const watcher = yield* ConversationSetup.watching(conversations.watch(id, 0))
      const turnId = yield* conversations.prompt(id, { prompt: "Hi" })
      yield* watcher.until("provider-retry")
      yield* ConversationSetup.settled
      assert.deepStrictEqual(yield* conversations.counts, { running: 0, retrying: 1, queued: 0 })
      // X7, X9: on disk together with the decision.
      const records = (yield* log.load(turnId)).map(({ name }) => name)
      assert.deepStrictEqual(records.slice(-2), ["step/0/attempt/0", "step/0/decision/0"])
      assert.strictEqual(discardedIn(yield* store.turnEvents(turnId)), 1)
      yield* TestClock.adjust("10 seconds")
      const { end, text } = yield* conversations.result(turnId)
      assert.deepStrictEqual([end.status, end.attempts, text], ["completed", 2, "Hello"])
      yield* watcher.until("turn-end")
      const types = watcher.types()
      assert.strictEqual(
        types.slice(types.indexOf("step-start")).join(),
        "step-start,text-delta,step-discarded,provider-retry,step-start,text-delta,retry-end,usage,message,turn-end"
      )
    }
  )

  ConversationSetup.serving(
    "rule X7: a turn that was submitted has `unseen`, and any other `fail`, also after a manual retry",
    {
      scripts: [breaksOff(text("One")), breaksOff(text("Two")), breaksOff(text("Three")), answer("Four")],
      retry: PARKED
    },
    function* ({ conversations }) {
      const id = yield* conversations.create({})
      const first = yield* conversations.prompt(id, { prompt: "Hi" })
      assert.strictEqual((yield* conversations.result(first)).end.status, "failed")
      const second = yield* conversations.retry(id, { isSubmitted: true })
      yield* ConversationSetup.settled
      yield* TestClock.adjust("10 seconds")
      yield* ConversationSetup.settled
      yield* TestClock.adjust("10 seconds")
      assert.deepInclude(yield* conversations.result(second), { text: "Four" })
    }
  )

  ConversationSetup.serving(
    "rule X7, X11: the spend guard asks after void content, however short the wait was",
    {
      scripts: [breaksOff(text("Hel"), { type: "usage", usage: { inputTokens: 9, outputTokens: 3 } }), answer("Hello")],
      retry: { ...ConversationSetup.waits(1), midStream: "discard", spendGuard: { maxTurnTokens: 10 } }
    },
    function* ({ conversations, provider }) {
      const id = yield* conversations.create({})
      const watcher = yield* ConversationSetup.watching(conversations.watch(id, 0))
      const turnId = yield* conversations.prompt(id, { prompt: "Hi" })
      yield* watcher.until("provider-retry")
      yield* ConversationSetup.settled
      yield* TestClock.adjust("1 second")
      yield* watcher.until("provider-retry", 2)
      const { retry } = yield* conversations.state(id)
      assert.deepInclude(retry?.asks, { because: "turn", tokens: 12, limit: 10 })
      assert.strictEqual(provider.requests.length, 1)
      yield* conversations.steer({ type: "retry-now", conversationId: id }, "a test")
      const { end, text } = yield* conversations.result(turnId)
      assert.deepStrictEqual([text, end.usage], ["Hello", { inputTokens: 19, outputTokens: 8 }])
    }
  )
})
