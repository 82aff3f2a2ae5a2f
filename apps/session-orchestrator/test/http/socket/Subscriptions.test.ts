/** Tests the events of a subscription whose source fails and comes back. */
import { expect } from "@effect/vitest"
import { StorageError } from "@holdfast/journal"
import { TurnStopped } from "@holdfast/kernel"
import { Clock, Effect, Stream } from "effect"
import { TestClock } from "effect/testing"
import { type Frame, SubscriberTooSlow } from "../../../src/engine/conversation/Conversations.ts"
import * as SocketCommands from "../../../src/http/socket/SocketCommands.ts"
import { feed, Subscriptions } from "../../../src/http/socket/Subscriptions.ts"
import * as It from "../../It.ts"
import * as Events from "../Events.ts"

It.effect("rule X3: events are watched again after the last one, at once or a second after a failure", function* () {
  const message = "It stopped."
  const failures = [SubscriberTooSlow, StorageError, TurnStopped.TurnStopped].map((Failed) => new Failed({ message }))
  const asked: Array<string> = []
  let last = 0
  const watch = (after: number) =>
    Stream.unwrap(
      Effect.map(Clock.currentTimeMillis, (now) => {
        const failure = failures[asked.push(`${now} ms: ${after}`) - 1]
        const events = Stream.make<[Frame]>({ id: asked.length, event: Events.of("c", "t").delta("x"), json: "" })
        return failure === undefined ? events : Stream.concat(events, Stream.fail(failure))
      })
    )
  const forward = (frames: ReadonlyArray<Frame>) => void (last = frames.at(-1)?.id ?? last)
  const fed = yield* Effect.forkChild(feed({ watch, after: () => last, forward }), { startImmediately: true })
  yield* TestClock.adjust("1 minute")
  expect(asked).toEqual(["0 ms: 0", "0 ms: 1", "1000 ms: 2", "2000 ms: 3"])
  expect([fed.pollUnsafe() !== undefined, last]).toEqual([true, 4])
})

It.effect(
  "rule X3: a turn has the events after the client's id; a socket has 1,024 subscriptions at most",
  function* () {
    const sent: Array<string> = []
    const output = { write: (bytes: Buffer) => void sent.push(...(String(bytes).match(/\{"\w+":\d/gu) ?? [])) }
    const frames = [undefined, 1, 2, undefined].map((id) => ({
      id,
      event: Events.of("c", "t").end,
      json: '{"x":0}'
    }))
    const conversations = { watch: () => Stream.never, watchTurn: () => Stream.fromIterable(frames) }
    const subscriptions = new Subscriptions(conversations as never, output as never, yield* Effect.scope)
    const begin = (subject: object, after = 0) => subscriptions.begin(subject as never, { after, bare: undefined })
    const isFull = (conversationId: string) => subscriptions.isFull({ conversationId } as never)
    yield* begin({ conversationId: "c", turnId: "t" }, 1)
    yield* TestClock.adjust("1 second")
    expect(sent).toEqual(['{"x":0', '{"eventId":2', '{"x":0'])
    const found: Array<boolean> = []
    for (let n = 0; found.push(isFull(`c${n}`)) <= 1_024; n++) yield* begin({ conversationId: `c${n}` })
    expect([found.indexOf(true), isFull("c0")]).toEqual([1_024, false])
    const answers: Array<unknown> = []
    const send = (answer: unknown) => Effect.sync(() => void answers.push(answer))
    const execution = SocketCommands.make({ gates: {} } as never, { subscriptions, send, origin: "a test" })
    yield* execution({ type: "subscribe", conversationId: "new" } as never).effect
    const error = "This socket has 1024 subscriptions, which is the most. End one, or open another socket."
    const refused = { type: "response", command: "subscribe", success: false }
    expect(answers).toEqual([{ ...refused, code: "invalid-request", error }])
  }
)
