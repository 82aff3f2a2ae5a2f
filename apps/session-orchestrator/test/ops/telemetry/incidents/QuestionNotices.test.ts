import { assert, describe, it } from "@effect/vitest"
import { StorageError } from "@holdfast/journal"
import { Ids, type TurnEvent, type TurnState } from "@holdfast/wire"
import { Duration, Effect, Redacted } from "effect"
import { TestClock } from "effect/testing"
import * as NoticeMessages from "../../../../src/ops/delivery/NoticeMessages.ts"
import * as QuestionNotice from "../../../../src/ops/delivery/QuestionNotice.ts"
import type { NewMessage } from "../../../../src/storage/Outbox.ts"
import { SharedMemory, started } from "./SharedMemory.ts"
import * as GivenTurn from "../../../GivenTurn.ts"
import * as It from "../../../It.ts"

const HOUR = 3_600_000
const { ids } = GivenTurn

/** A question since 01:00 that takes answers for eight hours. */
const wait = (over: Partial<TurnEvent.ProviderRetry> = {}) =>
  GivenTurn.retry({
    delayMs: 8 * HOUR,
    retryAt: 9 * HOUR,
    asks: { because: "tools", tokens: 0, limit: 0, waitedMs: 0, message: "May send run with sk-secret?\u001b[2J" },
    ...over
  })

const question = { event: wait(), asks: wait().asks ?? assert.fail() }

const options: QuestionNotice.Options = {
  after: Duration.minutes(5),
  receivers: NoticeMessages.receiversOf({ webhook: { url: Redacted.make("http://a/"), headers: {} }, command: ["a"] }),
  redact: (text) => text.replaceAll("sk-secret", "[redacted]"),
  origin: undefined
}

const place = { ...ids, step: 0, stepStartedAt: 0, target: { provider: "a", model: "m" } }

describe("a notice of a question", () => {
  It.effect(
    "rule X12: is written once a question and receiver, whatever part is answered, due after a while",
    function* () {
      const added: Array<NewMessage> = []
      let isRefused = true
      const add = (messages: ReadonlyArray<NewMessage>) =>
        Effect.suspend(() => {
          if (isRefused) return Effect.fail(new StorageError({ message: "The disk is full." }))
          // One is asked while others are written.
          if (added.length === 0) asks(wait({ turnId: Ids.TurnId.make("late") }))
          added.push(...messages)
          return Effect.void
        })
      const { after, receivers, redact } = options
      const listeners = yield* started(new SharedMemory(), { add, after, receivers, redact })
      const asks = (event: TurnEvent.ProviderRetry) => listeners.event?.({ ...place, event })
      asks(wait())
      const { asks: _, ...plain } = wait()
      asks(plain)
      // Moved by an hour, after one of two answers.
      asks(wait({ delayMs: 9 * HOUR, retryAt: 10 * HOUR }))
      asks(wait({ turnId: Ids.TurnId.make("other") }))
      yield* Effect.yieldNow
      isRefused = false
      yield* TestClock.adjust("10 seconds")
      const asked = ["t", "t", "other", "late"].map((turn) => `question/${turn}/${HOUR}`)
      const written = added.map(({ id }) => id)
      const expected = asked.flatMap((id) => [`${id}/webhook`, `${id}/command`])
      assert.deepStrictEqual(written, expected)
      assert.deepStrictEqual(new Set(added.map(({ dueAt }) => dueAt)), new Set([HOUR + 300_000]))
      const body = JSON.parse(added[0]?.payload ?? "")
      assert.deepInclude(body, { type: "question", ...ids, because: "tools", until: "1970-01-01T09:00:00.000Z" })
      assert.match(
        body.text,
        /^A turn waits for a person\. May send run with \[redacted\]\?.* holdfast chat --conversation c$/
      )
      assert.notInclude(added[0]?.payload, "\u001b")
    }
  )

  It.effect("is written at once, of ten thousand questions at most that are asked in the meantime", function* () {
    const added: Array<NewMessage> = []
    const add = (messages: ReadonlyArray<NewMessage>) => Effect.sync(() => void added.push(...messages))
    const listeners = yield* started(new SharedMemory(), { add })
    for (let n = 0; n < 10_001; n++) listeners.event?.({ ...place, event: wait({ turnId: Ids.TurnId.make(`t${n}`) }) })
    yield* TestClock.adjust(0)
    assert.strictEqual(added.length, 10_000)
  })

  it("has the address of its conversation in the page, where the page has one", () => {
    const bodyIn = (origin: string | undefined) => {
      const asks = { ...question.asks, message: "x".repeat(601) }
      return JSON.parse(QuestionNotice.messagesOf({ event: wait(), asks }, { ...options, origin })[0]?.payload ?? "")
    }
    const { message, text, url } = bodyIn("https://holdfast.example.org")
    assert.strictEqual(message, `${"x".repeat(599)}…`)
    assert.strictEqual(url, "https://holdfast.example.org/#/c/c")
    assert.isTrue(text.endsWith(`: holdfast chat --conversation c, or ${url}`), text)
    assert.notProperty(bodyIn(undefined), "url")
  })

  it("is due at the end of quiet hours", () => {
    const dueAt = HOUR + 300_000
    const timeOf = (at: number) => new Date(at).toTimeString().slice(0, 5)
    const quiet = { from: timeOf(dueAt - HOUR), to: timeOf(dueAt + HOUR) }
    const [message] = QuestionNotice.messagesOf(question, { ...options, receivers: { ...options.receivers, quiet } })
    assert.strictEqual(message?.dueAt, dueAt + HOUR)
  })

  It.effect("is not sent once its turn has an answer, or asks something else; other notices are sent", function* () {
    const [message] = QuestionNotice.messagesOf(question, options)
    const body = JSON.parse(message?.payload ?? "")
    const { asks } = question
    const isDue = (wait: TurnState.TurnState["wait"] | undefined) =>
      QuestionNotice.isDue(body, () =>
        Effect.succeed(wait === undefined ? undefined : ({ wait } as TurnState.TurnState))
      )
    assert.isTrue(yield* isDue({ retry: 0, retryAt: 9 * HOUR, since: HOUR, asks }))
    assert.isFalse(yield* isDue({ retry: 0, retryAt: 9 * HOUR, since: HOUR }))
    assert.isFalse(yield* isDue({ retry: 0, retryAt: 9 * HOUR, since: 2 * HOUR, asks }))
    assert.isFalse(yield* isDue(undefined))
    assert.isTrue(yield* QuestionNotice.isDue({ id: "i", type: "incident-began", text: "" }, () => Effect.undefined))
  })
})
