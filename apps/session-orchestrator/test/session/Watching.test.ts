/** What a watcher assembles, whenever it begins to watch. */
import { assert, describe, it } from "@effect/vitest"
import { Push } from "@holdfast/kernel"
import { Property } from "@holdfast/kernel/testing"
import { Ids, TurnEvent } from "@holdfast/wire"
import { Channel, Effect, Fiber, Pull, Stream } from "effect"
import * as fc from "fast-check"
import type { Frame } from "../../src/conversation/Conversations.ts"
import { MAX_BEHIND } from "../../src/session/Backlog.ts"
import { Hub } from "../../src/session/Hub.ts"
import { Session } from "../../src/session/Session.ts"
import * as Watching from "../../src/session/Watching.ts"
import type { StoredEvent } from "../../src/storage/Store.ts"

const conversationId = Ids.ConversationId.make("c")
const turnId = Ids.TurnId.make("t")
const common = { conversationId, turnId }

const delta = (text: string): TurnEvent.TextDelta => ({ type: "text-delta", ...common, delta: text })
const stepStart = (step: number): TurnEvent.StepStart => ({ type: "step-start", ...common, step, target: "p/m" })
const retry: TurnEvent.ProviderRetry = {
  type: "provider-retry",
  ...common,
  attempt: 0,
  delayMs: 5_000,
  retryAt: 5_000,
  message: "overloaded",
  reason: "overloaded",
  target: "p/m"
}
const retryEnd: TurnEvent.RetryEnd = { type: "retry-end", ...common, success: true, attempt: 0 }
const answer = (n: number, text: string): TurnEvent.MessageEvent => ({
  type: "message",
  ...common,
  message: {
    role: "assistant",
    id: Ids.messageIdOf(turnId, n),
    turnId,
    createdAt: 0,
    content: [{ type: "text", text }],
    target: { provider: "p", model: "m" }
  }
})
const turnEnd: TurnEvent.TurnEnd = {
  type: "turn-end",
  ...common,
  status: "completed",
  endedAt: 0,
  steps: 1,
  attempts: 1,
  sleptMs: 0,
  usage: {}
}

/** A conversation that a test drives by hand: what is persisted goes to disk first, then to the hub. */
class Stage {
  readonly session = new Session(conversationId)
  readonly disk: Array<StoredEvent> = []

  say(event: TurnEvent.TurnEvent): void {
    if (TurnEvent.isPersisted(event)) {
      const stored = { id: this.disk.length + 1, event, json: JSON.stringify(event) }
      this.disk.push(stored)
      this.session.hub.persisted([stored])
    } else {
      this.session.hub.live(event)
    }
  }
}

/** A turn of some steps: each waits or not, says something in pieces, and is put on disk. */
const turn = fc
  .array(
    fc.record({ waits: fc.boolean(), pieces: fc.array(fc.string({ minLength: 1, maxLength: 3 }), { maxLength: 4 }) }),
    {
      minLength: 1,
      maxLength: 4
    }
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

/** What a client shows: finished answers, what it had shown of each before that was finished, and the text since the last of them. */
const shownBy = (frames: ReadonlyArray<Frame>) => {
  const answers: Array<string> = []
  const streamed: Array<string> = []
  let current = ""
  for (const { event } of frames) {
    if (event.type === "text-delta") current += event.delta
    if (event.type === "message") {
      const text = event.message.content.map((part) => (part.type === "text" ? part.text : "")).join("")
      // What was shown as it came is what was finished; a client that was not there yet has seen none of it.
      assert.isTrue(current === "" || current === text)
      answers.push(text)
      streamed.push(current)
      current = ""
    }
  }
  return { answers, current, streamed }
}

/** Collects the frames of a stream, by pulls alone or also by what is pushed. */
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

/** Lets what was said arrive. */
const arrived = Effect.promise(async () => {
  for (let n = 0; n < 5; n++) await Promise.resolve()
})

describe("a watcher", () => {
  Property.prop(
    "X3: misses nothing and sees nothing twice, wherever in a turn it subscribes and whenever it reads the disk",
    fc.tuple(turn, fc.nat(40), fc.nat(40), fc.boolean()),
    ([events, a, b, isPushed]) =>
      Effect.gen(function* () {
        const subscribes = Math.min(a, events.length)
        const reads = Math.min(subscribes + b, events.length)
        const stage = new Stage()
        for (const event of events.slice(0, subscribes)) stage.say(event)
        const disk = Stream.suspend(() => {
          // The turn goes on between the subscription and the read.
          for (const event of events.slice(subscribes, reads)) stage.say(event)
          return Stream.fromIterable(stage.disk.slice())
        })
        const frames: Array<Frame> = []
        const fiber = yield* Watching.watch(stage.session, () => disk).pipe(
          Watching.ofTurn(turnId),
          (watched) => collected(watched, frames, isPushed),
          Effect.forkScoped({ startImmediately: true })
        )
        for (const event of events.slice(reads)) {
          stage.say(event)
          if (isPushed) yield* arrived
        }
        yield* Fiber.join(fiber)
        assert.deepStrictEqual(
          frames.flatMap(({ id }) => (id === undefined ? [] : [id])),
          stage.disk.map(({ id }) => id)
        )
        const { answers, current, streamed } = shownBy(frames)
        assert.deepStrictEqual({ answers, current }, { answers: shownBy(stage.disk).answers, current: "" })
        // Of an answer that was not finished when the disk was read every word has been streamed. What ends a chain of retries is
        // written together with the answer.
        const read = events.slice(0, reads)
        const finished =
          read.filter(({ type }) => type === "message").length + (read.at(-1)?.type === "retry-end" ? 1 : 0)
        assert.deepStrictEqual(streamed.slice(finished), answers.slice(finished))
        assert.isFalse(stage.session.hub.isWatched)
      })
  )

  Property.prop(
    "V5: of a turn that was accepted here reads nothing, wherever in it it subscribes and whatever it has, and misses nothing",
    fc.tuple(turn, fc.nat(40), fc.nat(10), fc.boolean(), fc.boolean()),
    ([events, a, b, isOfTurn, isPushed]) =>
      Effect.gen(function* () {
        const subscribes = Math.min(a, events.length - 1)
        const stage = new Stage()
        stage.session.hub.recent.accepted(turnId)
        for (const event of events.slice(0, subscribes)) stage.say(event)
        const after = isOfTurn ? 0 : Math.min(b, stage.disk.length)
        const options = isOfTurn ? { turnId } : { after }
        let reads = 0
        const read = (from: number) => {
          reads++
          return Stream.fromIterable(stage.disk.slice(from))
        }
        const frames: Array<Frame> = []
        const fiber = yield* Watching.watch(stage.session, read, options).pipe(
          Watching.ofTurn(turnId),
          (watched) => collected(watched, frames, isPushed),
          Effect.forkScoped({ startImmediately: true })
        )
        // Of a conversation without an event nobody knows that there is none.
        const isKnown = isOfTurn || stage.disk.length > 0
        for (const event of events.slice(subscribes)) {
          stage.say(event)
          if (isPushed) yield* arrived
        }
        yield* Fiber.join(fiber)
        assert.strictEqual(reads, isKnown ? 0 : 1)
        assert.deepStrictEqual(
          frames.flatMap(({ id }) => (id === undefined ? [] : [id])),
          stage.disk.slice(after).map(({ id }) => id)
        )
        assert.strictEqual(shownBy(frames).current, "")
      })
  )

  it.effect("X3: that comes late is shown the text of the step in progress, as one piece", () =>
    Effect.gen(function* () {
      const { session, say } = bound(new Stage())
      for (const event of [stepStart(0), delta("Hel"), delta("lo")]) say(event)
      const chunk = yield* session.hub.subscribe().pull
      assert.deepStrictEqual(
        chunk.map(({ event }) => event),
        [stepStart(0), delta("Hello")]
      )
    })
  )

  it.effect("X3: that comes during a wait is told of it, with its absolute end", () =>
    Effect.gen(function* () {
      const { session, say } = bound(new Stage())
      for (const event of [stepStart(0), retry]) say(event)
      assert.deepStrictEqual((yield* session.hub.subscribe().pull).at(-1)?.event, retry)
      session.hub.inProgress.resume()
      assert.deepStrictEqual(
        (yield* session.hub.subscribe().pull).map(({ event }) => event),
        [stepStart(0)]
      )
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

  /** What a watcher has seen by the turn's end, if the disk shows this much when it is read. */
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

  it.effect(
    "V3: a message that is on disk and has not passed the hub comes once, behind the text that it stands in for",
    () =>
      Effect.gen(function* () {
        const session = new Session(conversationId)
        session.hub.persisted([earlier])
        session.hub.live(stepStart(1))
        session.hub.live(delta("Hel"))
        const message = stored(2, answer(1, "Hello"))
        const events = yield* seenBy(session, [earlier, message], () => {
          session.hub.live(delta("lo"))
          session.hub.persisted([message])
          session.hub.persisted([stored(3, turnEnd)])
        })
        assert.deepStrictEqual(events, [earlier.event, stepStart(1), delta("Hel"), delta("lo"), message.event, turnEnd])
      })
  )

  it.effect("H4: what a turn that is run again tells anew comes once, whether it was read from the disk or heard", () =>
    Effect.gen(function* () {
      const session = new Session(conversationId)
      const message = stored(2, answer(1, "Hello"))
      const events = yield* seenBy(session, [earlier, message], () => {
        session.hub.persisted([earlier])
        session.hub.persisted([message])
        session.hub.live(stepStart(2))
        session.hub.persisted([message])
        session.hub.persisted([stored(3, turnEnd)])
      })
      assert.deepStrictEqual(events, [earlier.event, message.event, stepStart(2), turnEnd])
    })
  )

  it("H4: a wait that was told of while its turn was on disk is known when the turn is run again from its start", () => {
    const { hub } = new Session(conversationId)
    hub.live(retry)
    hub.repeated([earlier.event])
    assert.isTrue(hub.inProgress.isKnown(retry))
    assert.deepStrictEqual(hub.inProgress.events(), [retry])
  })

  it.effect("V5: a turn that has stopped is read from disk, where another process may have gone on with it", () =>
    Effect.gen(function* () {
      const session = new Session(conversationId)
      session.hub.recent.accepted(turnId)
      session.hub.persisted([earlier])
      session.hub.again()
      const theirs = [stored(2, answer(1, "Hello")), stored(3, turnEnd)]
      const events = yield* seenBy(session, [earlier, ...theirs], () => {})
      assert.deepStrictEqual(events, [earlier.event, answer(1, "Hello"), turnEnd])
    })
  )

  it.effect("X3: nothing up to the id that a client has comes again, though the hub passes it only now", () =>
    Effect.gen(function* () {
      const session = new Session(conversationId)
      const events = yield* seenBy(
        session,
        [earlier],
        () => {
          session.hub.persisted([earlier])
          session.hub.persisted([stored(2, turnEnd)])
        },
        1
      )
      assert.deepStrictEqual(events, [turnEnd])
    })
  )

  it.effect(
    "X3: a client with an id that the conversation never had is told all of it, and misses nothing of what comes",
    () =>
      Effect.gen(function* () {
        const session = new Session(conversationId)
        session.hub.persisted([earlier])
        const end = stored(2, turnEnd)
        const events = yield* seenBy(session, [earlier], () => session.hub.persisted([end]), 40)
        assert.deepStrictEqual(events, [earlier.event, turnEnd])
      })
  )

  it.effect("X3: so is one whose conversation has nothing yet", () =>
    Effect.gen(function* () {
      const session = new Session(conversationId)
      const rest = () => {
        session.hub.persisted([earlier])
        session.hub.persisted([stored(2, turnEnd)])
      }
      assert.deepStrictEqual(yield* seenBy(session, [], rest, 40), [earlier.event, turnEnd])
    })
  )
})

describe("the hub", () => {
  it.effect("gives what is said at once as one chunk", () =>
    Effect.gen(function* () {
      const hub = new Hub()
      const subscriber = hub.subscribe()
      const fiber = yield* Effect.forkChild(subscriber.pull, { startImmediately: true })
      for (const text of ["a", "b", "c"]) hub.live(delta(text))
      const chunk = yield* Fiber.join(fiber)
      assert.deepStrictEqual(
        chunk.map(({ event }) => event),
        [delta("a"), delta("b"), delta("c")]
      )
    })
  )

  it.effect("lets go of a subscriber that is too far behind, tells it so, and keeps the others", () =>
    Effect.gen(function* () {
      const hub = new Hub()
      const slow = hub.subscribe()
      const quick = hub.subscribe()
      const text = "x".repeat(1024 * 1024)
      for (let sent = 0; sent <= MAX_BEHIND; sent += text.length) {
        hub.live(delta(text))
        quick.take()
      }
      // Subscribers are looked at when the turn of the event loop is over.
      yield* Effect.promise(() => Promise.resolve())
      const error = yield* Effect.flip(slow.pull)
      assert.include(String(error), "too far behind")
      hub.live(delta("still here"))
      assert.strictEqual(quick.take().length, 1)
    })
  )

  it("sends nobody away for one event, however large", () => {
    const hub = new Hub()
    const subscriber = hub.subscribe()
    hub.live(delta("x".repeat(MAX_BEHIND)))
    hub.live(delta("and on"))
    assert.strictEqual(subscriber.take().length, 2)
  })

  it("encodes nothing while nobody watches", () => {
    const hub = new Hub()
    const untouchable = { ...delta("x"), toJSON: () => assert.fail("was encoded") }
    hub.live(untouchable)
  })
})

const bound = (stage: Stage) => ({ session: stage.session, say: (event: TurnEvent.TurnEvent) => stage.say(event) })
