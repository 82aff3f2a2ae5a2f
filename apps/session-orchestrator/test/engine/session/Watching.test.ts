/** Tests what a watcher assembles, whenever it begins to watch. */
import { assert, describe } from "@effect/vitest"
import { Push } from "@holdfast/kernel/host"
import { Property } from "@holdfast/kernel/testing"
import { Ids, TurnEvent } from "@holdfast/wire"
import { Channel, Effect, Fiber, Pull, Stream } from "effect"
import * as fc from "fast-check"
import type { Frame } from "../../../src/engine/conversation/Conversations.ts"
import { Session } from "../../../src/engine/session/Session.ts"
import * as Watching from "../../../src/engine/session/Watching.ts"
import type { StoredEvent } from "../../../src/storage/Stored.ts"
import * as GivenTurn from "../../GivenTurn.ts"
import * as It from "../../It.ts"

const conversationId = Ids.ConversationId.make("c")
const { turnId } = GivenTurn.ids

const { delta, stepStart } = GivenTurn
const retry = GivenTurn.retry()
const retryEnd: TurnEvent.RetryEnd = { type: "retry-end", ...GivenTurn.ids, success: true, attempt: 0 }
const answer = (n: number, text: string) => GivenTurn.answer(text, n)
const turnEnd = GivenTurn.end("completed")

/** The end of a turn that was aborted in the queue. */
const queuedEnd: TurnEvent.TurnEnd = { ...turnEnd, turnId: Ids.TurnId.make("queued"), status: "aborted", queued: true }

/** A conversation that a test drives by hand: persisted events go to disk first, then to the hub. */
class DrivenConversation {
  readonly session = new Session(conversationId)
  readonly disk: Array<StoredEvent> = []

  say(event: TurnEvent.TurnEvent): void {
    if (TurnEvent.isPersisted(event)) {
      const stored = { id: this.disk.length + 1, event, json: JSON.stringify(event) }
      this.disk.push(stored)
      if (event.turnId === turnId) this.session.hub.persisted([stored])
      else this.session.hub.beside([stored])
    } else {
      this.session.hub.live(event)
    }
  }
}

/** A turn of some steps: each waits or not, streams text in pieces, and is put on disk. */
const turn = fc
  .array(
    fc.record({ waits: fc.boolean(), pieces: fc.array(fc.string({ minLength: 1, maxLength: 3 }), { maxLength: 4 }) }),
    { minLength: 1, maxLength: 4 }
  )
  .map((steps) =>
    steps
      .flatMap(({ waits, pieces }, n): Array<TurnEvent.TurnEvent> => [
        stepStart(n),
        ...(waits ? [retry] : []),
        ...pieces.map(delta),
        ...(waits ? [retryEnd] : []),
        answer(n, pieces.join(""))
      ])
      .concat(turnEnd)
  )

/** A client's display: finished answers, the streamed text of each before it was finished, and the text since the last of them. */
const shownBy = (frames: ReadonlyArray<Frame>) => {
  const answers: Array<string> = []
  const streamed: Array<string> = []
  let current = ""
  for (const { event } of frames) {
    if (event.type === "text-delta") current += event.delta
    if (event.type === "message") {
      const text = event.message.content.map((part) => (part.type === "text" ? part.text : "")).join("")
      // The streamed text equals the finished text; a client that connected later has seen none of it.
      assert.isTrue(current === "" || current === text)
      answers.push(text)
      streamed.push(current)
      current = ""
    }
  }
  return { answers, current, streamed }
}

/** Collects the frames of a stream, by pulls alone or also by pushes. */
const collected = <E>(
  stream: Stream.Stream<Frame, E>,
  frames: Array<Frame>,
  isPushed: boolean
): Effect.Effect<void, E> =>
  isPushed
    ? Effect.scopedWith((scope) =>
        Effect.flatMap(Channel.toPullScoped(Stream.toChannel(stream), scope), (pull) =>
          Push.forEach(pull, (chunk) => {
            frames.push(...chunk)
            return undefined
          })
        )
      ).pipe(Pull.catchDone(() => Effect.void))
    : Stream.runForEach(stream, (frame) => Effect.sync(() => frames.push(frame)))

/** Lets emitted events arrive. */
const arrived = Effect.promise(async () => {
  for (let n = 0; n < 5; n++) await Promise.resolve()
})

describe("a watcher", () => {
  Property.prop(
    "rule X3: misses no event and gets none twice, at any point of subscription and of reading the disk",
    fc.tuple(turn, fc.nat(40), fc.nat(40), fc.boolean(), fc.boolean(), fc.array(fc.nat(40), { maxLength: 3 })),
    ([own, a, b, isPushed, isOfTurn, ends]) =>
      Effect.gen(function* () {
        const events = ends.reduce((all, at) => all.toSpliced(Math.min(at, own.length - 1), 0, queuedEnd), own)
        const subscribes = Math.min(a, events.length)
        const reads = Math.min(subscribes + b, events.length)
        const driven = new DrivenConversation()
        for (const event of events.slice(0, subscribes)) driven.say(event)
        const disk = Stream.suspend(() => {
          // The turn continues between the subscription and the read.
          for (const event of events.slice(subscribes, reads)) driven.say(event)
          return Stream.fromIterable(driven.disk.slice())
        })
        const frames: Array<Frame> = []
        const fiber = yield* Watching.watch(driven.session, () => disk).pipe(
          isOfTurn ? Watching.ofTurn(turnId) : Stream.takeUntil(({ event }) => event === turnEnd),
          (watched) => collected(watched, frames, isPushed),
          Effect.forkScoped({ startImmediately: true })
        )
        for (const event of events.slice(reads)) {
          driven.say(event)
          if (isPushed) yield* arrived
        }
        yield* Fiber.join(fiber)
        const given = frames.flatMap(({ id }) => (id === undefined ? [] : [id]))
        const stored = driven.disk.flatMap(({ event, id }) => (isOfTurn && event === queuedEnd ? [] : [id]))
        assert.deepStrictEqual(given, stored)
        const { answers, current, streamed } = shownBy(frames)
        assert.deepStrictEqual({ answers, current }, { answers: shownBy(driven.disk).answers, current: "" })
        // Every word of an answer that was unfinished when the disk was read has been streamed. The end of a chain of retries is written together
        // with the answer.
        const read = events.slice(0, reads)
        const finished =
          read.filter(({ type }) => type === "message").length +
          (read.findLast((event) => event !== queuedEnd)?.type === "retry-end" ? 1 : 0)
        assert.deepStrictEqual(streamed.slice(finished), answers.slice(finished))
        assert.isFalse(driven.session.hub.isWatched)
      })
  )
})

describe("between the disk and the hub", () => {
  const stored = (id: number, event: TurnEvent.PersistedEvent): StoredEvent => ({
    id,
    event,
    json: JSON.stringify(event)
  })
  const earlier = stored(1, answer(0, "before"))

  /** The frames that a watcher has by the turn's end, if the disk shows this much when it is read. */
  const seenBy = (session: Session, disk: ReadonlyArray<StoredEvent>, rest: () => void, after = 0) =>
    Effect.gen(function* () {
      const frames: Array<Frame> = []
      const read = (from: number) => Stream.fromIterable(disk.filter(({ id }) => id > from))
      const fiber = yield* Watching.watch(session, read, { after }).pipe(
        Watching.ofTurn(turnId),
        Stream.runForEach((frame) => Effect.sync(() => frames.push(frame))),
        Effect.forkScoped({ startImmediately: true })
      )
      rest()
      yield* Fiber.join(fiber)
      return frames.map(({ event }) => event)
    })

  It.effect("a turn that has stopped is read from disk, where another process may have continued it", function* () {
    const session = new Session(conversationId)
    session.hub.persisted([earlier])
    session.hub.restarted()
    const theirs = [stored(2, answer(1, "Hello")), stored(3, turnEnd)]
    const events = yield* seenBy(session, [earlier, ...theirs], () => {})
    assert.deepStrictEqual(events, [earlier.event, answer(1, "Hello"), turnEnd])
  })

  /** The chunks that two watchers of the turn get at once, with this text in progress; `after`: the id that they have. */
  const begunBy = Effect.fnUntraced(function* (text: string, after?: number) {
    const session = new Session(conversationId)
    session.hub.persisted([earlier])
    session.hub.live(stepStart(1))
    session.hub.live(delta(text))
    const options = after === undefined ? { turnId } : { after }
    return yield* Effect.replicateEffect(
      Effect.gen(function* () {
        const chunks: Array<ReadonlyArray<Frame>> = []
        const read = (from: number) => Stream.fromIterable([earlier].filter(({ id }) => id > from))
        yield* Watching.watch(session, read, options).pipe(
          Watching.ofTurn(turnId),
          Stream.runForEachArray((chunk) => Effect.sync(() => chunks.push(chunk))),
          Effect.forkScoped({ startImmediately: true })
        )
        yield* arrived
        return chunks
      }),
      2
    )
  })

  It.effect("a text in progress comes behind the stored events, as the same array for all subscribers", function* () {
    const text = "Hel"
    for (const after of [undefined, earlier.id - 1, earlier.id]) {
      const [one = [], two = []] = yield* begunBy(text, after)
      const last = one.at(-1) ?? assert.fail("nothing arrived")
      const inProgress = last.map(({ event }) => event)
      assert.deepStrictEqual(inProgress, [stepStart(1), delta(text)])
      assert.strictEqual(two.at(-1), last)
      const before = one.slice(0, -1).flatMap((chunk) => chunk.map(({ event }) => event))
      assert.deepStrictEqual(before, after === earlier.id ? [] : [earlier.event])
    }
  })

  It.effect("rule X3: a client with an event that has not passed the hub gets no event again", function* () {
    const session = new Session(conversationId)
    session.hub.persisted([earlier])
    const [known, end] = [stored(2, answer(1, "Hi")), stored(3, turnEnd)]
    const events = yield* seenBy(session, [earlier, known], () => session.hub.persisted([known, end]), 2)
    assert.deepStrictEqual(events, [turnEnd])
  })

  It.effect("rule X3: a client with an id that no event had gets all events, and misses no later one", function* () {
    const session = new Session(conversationId)
    session.hub.persisted([earlier])
    const end = stored(2, turnEnd)
    const events = yield* seenBy(session, [earlier], () => session.hub.persisted([end]), 40)
    assert.deepStrictEqual(events, [earlier.event, turnEnd])
  })
})
