/** Tests what clients get of conversations whose turn is not in memory. */
import { assert } from "@effect/vitest"
import { GivenRecords, ScriptedProvider } from "@holdfast/kernel/testing"
import type { Profile } from "@holdfast/policy"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import * as ConversationViews from "../../../src/engine/orchestrator/ConversationViews.ts"
import type { Parts } from "../../../src/engine/orchestrator/Parts.ts"
import { Sessions } from "../../../src/engine/session/Session.ts"
import * as HeldCallIds from "../../../src/storage/HeldCallIds.ts"
import { waits, serving } from "../conversation/ConversationSetup.ts"
import * as NumberedData from "../../storage/NumberedData.ts"
import * as It from "../../It.ts"

const { answer, emits, overloaded } = ScriptedProvider

const turnId = NumberedData.turnId(1)
const conversation = NumberedData.conversation(1)
const { conversationId } = conversation
const call = NumberedData.conversation(2, { conversationId: HeldCallIds.draft(turnId) })

const parked = { turnId, wakeAt: 6_000, heldUntil: undefined }
const held = { ...parked, heldUntil: 9_000 }
const isHeld = { parking: { find: () => held } }
const none = { parking: { find: () => undefined } }
const asks = { because: "tools", tokens: 0, limit: 0, waitedMs: 0, message: "May it?" } as const

/** The parts that views read, with these in their places; by default a turn is parked that has failed once. */
const given = (parts: { readonly [Part in keyof Parts]?: object } = {}) =>
  ({
    parking: { find: () => parked },
    sessions: new Sessions(),
    log: { load: () => Effect.succeed([GivenRecords.failed(0, 1_000), GivenRecords.retry(0, 5_000, 6_000)]) },
    defaults: { retry: waits(5), models: {} },
    providers: {},
    ...parts
  }) as unknown as Parts

const due = { attempt: 0, delayMs: 5_000, retryAt: 6_000 }
const wait = { ...due, message: "Overloaded", reason: "overloaded", code: "529", maxAttempts: 1 } as const
const shown = { type: "provider-retry", ...wait, target: "simulated/steady", conversationId, turnId } as const

It.effect("the state of a turn that waits on disk has the wait of its record", function* () {
  const log = (...records: ReadonlyArray<unknown>) => ({ log: { load: () => Effect.succeed(records) } })
  const last = (end: object) => ({ ...none, store: { lastTurn: () => Effect.succeedSome({ turnId, ...end }) } })
  const other = { store: { turn: () => Effect.succeedSome({ model: "test/own" }) } }
  const upcoming = { delaysMs: [], because: "max-retries" }
  const idle = { status: "idle", autoRetryEnabled: true, isRetrying: false, queued: [], model: conversation.model }
  const busy = { ...idle, status: "retrying", isRetrying: true, turnId, attempt: 0, retryAt: 6_000 }
  const retrying = { ...busy, retry: { ...wait, upcoming } }
  const atOnce = { ...retrying, retry: { ...wait, upcoming, delayMs: 0 } }
  const prolonged = { ...retrying, retryAt: 9_000, retry: { ...wait, upcoming, delayMs: 8_000, retryAt: 9_000 } }
  const asking = { ...busy, retry: { ...due, message: "May it?", reason: "unknown", asks } }
  const question = GivenRecords.wake(0, 0, { type: "asked", asks, at: 1_000, until: 6_000 })
  for (const [what, parts, expected, of = conversation] of [
    ["plain", {}, retrying],
    ["held by a gate", isHeld, prolonged],
    ["without length", log(GivenRecords.failed(0, 6_000), GivenRecords.retry(0, 0, 6_000)), atOnce],
    ["of a model of its own", other, { ...retrying, model: "test/own" }, { ...conversation, modelSince: 1 }],
    ["a question about tools", log(GivenRecords.completed(0, 1_000), question), asking],
    ["rule X13: a held call whose program has left", last({}), retrying, call],
    ["an ended one", last({ end: {} }), idle, call],
    ["one that has not begun", { ...none, store: { lastTurn: () => Effect.succeedNone } }, idle, call],
    ["another conversation", none, idle]
  ] satisfies ReadonlyArray<[string, Parameters<typeof given>[0], object, typeof conversation?]>) {
    const state: object = yield* ConversationViews.stateOf(given(parts), of)
    assert.deepStrictEqual(state, { conversationId: of.conversationId, ...expected }, what)
  }
})

It.effect("a watcher of a turn that waits on disk gets the wait of its record, once", function* () {
  const watched = (parts: Parts) =>
    Effect.map(ConversationViews.watched(parts, conversation), ({ hub }) => hub.inProgress.events())
  assert.deepStrictEqual(yield* watched(given()), [shown])
  const parts = given(isHeld)
  const longer = { ...shown, delayMs: 8_000, retryAt: 9_000 }
  assert.deepStrictEqual([yield* watched(parts), yield* watched(parts)], [[longer], [longer]])
  // Nothing, if it is taken up while its records are read, or has none yet.
  const found: Array<object> = [parked]
  assert.deepStrictEqual(yield* watched(given({ parking: { find: () => found.pop() } })), [])
  assert.deepStrictEqual(yield* watched(given({ log: { load: () => Effect.succeed([]) } })), [])
})

const chains = { default: ["test/other"] }
for (const [what, routing, days, expected] of [
  ["a fallback target while the primary cools down", { type: "fallback-chain", chains }, 0, "test/other"],
  ["the primary when that is over", { type: "fallback-chain", chains }, 1, "test/m"],
  ['that of the last answer under "never"', { type: "fallback-chain", chains, revert: "never" }, 1, "test/other"],
  ["its own where targets take turns", { type: "round-robin", targets: ["test/other"] }, 0, "test/m"]
] satisfies ReadonlyArray<[string, Profile.RetrySettings["routing"], number, string]>) {
  const options = { scripts: [emits(overloaded), answer("one")], retry: { ...waits(1), routing } }
  serving(`rule P9: the model of a conversation without a turn is ${what}`, options, function* ({ conversations }) {
    const c = yield* conversations.create({})
    const before = yield* conversations.state(c)
    yield* conversations.result(yield* conversations.prompt(c, { prompt: "Hi" }))
    yield* TestClock.adjust(`${days} days`)
    assert.deepStrictEqual([before.model, (yield* conversations.state(c)).model], ["test/m", expected])
  })
}
