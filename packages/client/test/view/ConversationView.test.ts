import { TurnEvent } from "@holdfast/wire"
import * as Schema from "effect/Schema"
import * as fc from "fast-check"
import { assert, describe, it } from "vitest"
import { ConversationView } from "../../src/index.ts"
import { RUNS } from "../Runs.ts"
import { conversation, type Frame, joining, lastIdOf } from "../GeneratedConversation.ts"

const event = (fields: object): TurnEvent.TurnEvent =>
  ({ conversationId: "c1", turnId: "t1", ...fields }) as TurnEvent.TurnEvent

const fold = (frames: ReadonlyArray<Frame>, from: ConversationView.ConversationView = ConversationView.empty) =>
  frames.reduce((view, frame) => ConversationView.apply(view, frame.event), from)

const frozen = <A>(value: A): A => {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    Object.values(value).forEach(frozen)
  }
  return value
}

/** Without what a client that was away cannot have: the text that became void meanwhile, and the model of a step without a message. */
const comparable = ({ model, voided, ...view }: ConversationView.ConversationView) => ({
  ...view,
  model: view.turn?.status === "completed" ? model : undefined,
  voided: voided && { ...voided, parts: [] }
})

/** A conversation, and the moments of a client's cuts and reconnects. */
const watched = fc.record({ frames: conversation, cuts: fc.array(fc.tuple(fc.nat(), fc.nat(20)), { maxLength: 4 }) })

describe("ConversationView", () => {
  it("decodes every generated event", () => {
    const decode = Schema.decodeUnknownSync(TurnEvent.TurnEvent)
    for (const frames of fc.sample(conversation, 20)) for (const frame of frames) decode(frame.event)
  })

  it("is not changed by the end of a turn that was aborted in the queue", () => {
    const usage = {}
    const end = { status: "aborted", endedAt: 1, steps: 0, attempts: 0, sleptMs: 0, usage, queued: true }
    const queued = event({ type: "turn-end", turnId: "t2", ...end })
    for (const frames of fc.sample(conversation, 20)) {
      const view = fold(frames)
      assert.strictEqual(ConversationView.apply(view, queued), view)
      assert.strictEqual(ConversationView.applyAll(view, [queued]), view)
    }
  })

  it("is the same for a client that was always connected and for another that begins at any moment", () => {
    fc.assert(
      fc.property(conversation, fc.nat(), (frames, number) => {
        const passed = number % (frames.length + 1)
        const before = frames.slice(0, passed)
        const late = fold(joining(before, 0))
        assert.deepStrictEqual(comparable(late), comparable(fold(before)))
        assert.deepStrictEqual(comparable(fold(frames.slice(passed), late)), comparable(fold(frames)))
      }),
      { numRuns: RUNS }
    )
  })

  it("is the same for a client that reconnects with its last id after every cut", () => {
    fc.assert(
      fc.property(watched, ({ cuts, frames }) => {
        let view = ConversationView.empty
        let passed = 0
        for (const [at, away] of cuts) {
          const cut = Math.min(passed + (at % 12), frames.length)
          view = fold(frames.slice(passed, cut), view)
          const known = lastIdOf(frames.slice(0, cut))
          passed = Math.min(cut + away, frames.length)
          const before = frames.slice(0, passed)
          view = fold(joining(before, known), ConversationView.reconnected(view))
        }
        assert.deepStrictEqual(comparable(fold(frames.slice(passed), view)), comparable(fold(frames)))
      }),
      { numRuns: RUNS }
    )
  })

  it("changes no view, and a delta copies no history", () => {
    fc.assert(
      fc.property(conversation, (frames) => {
        let view = frozen(ConversationView.empty)
        for (const { event } of frames) {
          const next = frozen(ConversationView.apply(view, frozen(event)))
          if (event.type.endsWith("-delta")) assert.strictEqual(next.history, view.history)
          view = next
        }
        const all = frames.map((frame) => frame.event)
        assert.deepStrictEqual(ConversationView.applyAll(ConversationView.empty, all), view)
      })
    )
  })

  it("shows each finished text as the deltas before it", () => {
    fc.assert(
      fc.property(conversation, (frames) => {
        let view = ConversationView.empty
        for (const { event } of frames) {
          if (event.type === "message" && event.message.role === "assistant") {
            const shown = (view.progress?.parts ?? []).map((part) => (part.type === "text" ? part.text : "")).join("")
            const [first] = event.message.content
            assert.strictEqual(first?.type === "text" ? first.text : "", shown)
          }
          view = ConversationView.apply(view, event)
        }
      })
    )
  })

  const retry = event({
    type: "provider-retry",
    attempt: 2,
    delayMs: 30_000,
    retryAt: 130_000,
    message: "Overloaded",
    reason: "overloaded",
    code: "529",
    target: "test/m"
  })

  it("has the due time of a wait by this client's clock", () => {
    const behind = ConversationView.withClockSkew(ConversationView.empty, 5_000)
    const waiting = ConversationView.apply(behind, retry)
    assert.strictEqual(waiting.status, "retrying")
    assert.strictEqual(waiting.retry?.dueAt, 125_000)
    assert.strictEqual(waiting.retry?.retryAt, 130_000)
    const corrected = ConversationView.withClockSkew(waiting, -1_000)
    assert.strictEqual(corrected.retry?.dueAt, 131_000)
    assert.strictEqual(corrected.retry && ConversationView.remainingMs(corrected.retry, 130_500), 500)
    assert.strictEqual(corrected.retry && ConversationView.remainingMs(corrected.retry, 999_000), 0)
  })

  it("has the question of a spend guard until it is answered", () => {
    const asks = { because: "turn", tokens: 90, limit: 80, waitedMs: 1, message: "Go on?" }
    const asked = ConversationView.apply(ConversationView.empty, event({ ...retry, asks }))
    assert.strictEqual(asked.retry?.asks?.message, "Go on?")
    const answered = ConversationView.apply(asked, event({ type: "text-delta", delta: "Yes" }))
    assert.strictEqual(answered.retry, undefined)
    assert.strictEqual(answered.status, "running")
  })

  it("has the tool calls that wait for approval until they are answered", () => {
    const calls = [{ toolCallId: "k1", toolName: "pay", quoted: "{}" }]
    const asks = { because: "tools", tokens: 0, limit: 0, waitedMs: 0, message: "Pay?", calls }
    const asked = ConversationView.applyAll(ConversationView.empty, [
      event({ type: "tool-call", toolCallId: "k1", toolName: "pay", input: {} }),
      event({ ...retry, asks })
    ])
    assert.deepStrictEqual(asked.retry?.asks?.calls, calls)
    assert.strictEqual(asked.toolCalls[0]?.state, "running")
    const answered = ConversationView.apply(asked, event({ type: "retry-end", success: true, attempt: 0 }))
    assert.deepStrictEqual([answered.retry, answered.status], [undefined, "running"])
  })

  it("keeps void text beside the step until its next content", () => {
    const shown = ConversationView.applyAll(ConversationView.empty, [
      event({ type: "step-start", step: 0, target: "test/m" }),
      event({ type: "text-delta", delta: "Half an ans" }),
      event({ type: "step-discarded", step: 0, message: "It broke off." }),
      event({ type: "step-start", step: 0, target: "test/m" })
    ])
    assert.deepStrictEqual(shown.voided?.parts, [{ type: "text", text: "Half an ans" }])
    assert.deepStrictEqual(shown.progress?.parts, [])
    assert.strictEqual(ConversationView.apply(shown, event({ type: "text-delta", delta: "Half" })).voided, undefined)
  })

  it("allows a manual retry after an error or an abort, and while nothing runs", () => {
    const end = (status: string) =>
      ConversationView.apply(ConversationView.empty, event({ type: "turn-end", status, endedAt: 1, usage: {} }))
    assert.isTrue(ConversationView.canRetry(end("failed")))
    assert.isTrue(ConversationView.canRetry(end("aborted")))
    assert.isFalse(ConversationView.canRetry(end("completed")))
    assert.isFalse(ConversationView.canRetry(ConversationView.empty))
    const again = ConversationView.apply(end("failed"), event({ type: "turn-start", startedAt: 2, retry: true }))
    assert.isFalse(ConversationView.canRetry(again))
  })

  it("has the state of each tool call until their results are in the history", () => {
    const call = (toolCallId: string) => event({ type: "tool-call", toolCallId, toolName: "pay", input: {} })
    const result = (toolCallId: string, isError: boolean) =>
      event({ type: "tool-result", toolCallId, toolName: "pay", output: "x", isError })
    const before = [call("a"), call("b"), result("a", false), result("b", true)]
    const view = ConversationView.applyAll(ConversationView.empty, before)
    assert.deepStrictEqual(
      view.toolCalls.map(({ state }) => state),
      ["succeeded", "failed"]
    )
    const message = { role: "tool", id: "t1.2", turnId: "t1", createdAt: 1, content: [] }
    assert.deepStrictEqual(ConversationView.apply(view, event({ type: "message", message })).toolCalls, [])
  })

  it("ignores events that a later version adds", () => {
    const view = ConversationView.apply(ConversationView.empty, event({ type: "turn-start", startedAt: 1 }))
    assert.strictEqual(ConversationView.apply(view, event({ type: "from-the-future" })), view)
  })

  it("a file of the model stands between the texts around it, until its message replaces them", () => {
    const at = { conversationId: "c", turnId: "t" }
    const file = { type: "file", mediaType: "image/png", data: "AAAA" }
    const events = [
      { ...at, type: "step-start", step: 0, target: "p/m" },
      { ...at, type: "text-delta", delta: "Here" },
      { ...at, type: "file", file },
      { ...at, type: "text-delta", delta: "Good?" }
    ] as unknown as ReadonlyArray<TurnEvent.TurnEvent>
    assert.deepStrictEqual<unknown>(ConversationView.applyAll(ConversationView.empty, events).progress?.parts, [
      { type: "text", text: "Here" },
      file,
      { type: "text", text: "Good?" }
    ])
  })
})
