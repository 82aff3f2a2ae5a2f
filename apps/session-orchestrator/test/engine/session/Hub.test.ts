/** Tests which subscribers get an event, when, and in how many chunks. */
import { assert, describe, it } from "@effect/vitest"
import { TurnStopped } from "@holdfast/kernel"
import { Push } from "@holdfast/kernel/host"
import type { TurnEvent } from "@holdfast/wire"
import { Cause, Effect, Exit, Pull, Result } from "effect"
import { Backlog } from "../../../src/engine/session/Backlog.ts"
import { ConversationNotFound, type Frame } from "../../../src/engine/conversation/Conversations.ts"
import { Hub, type Subscriber } from "../../../src/engine/session/Hub.ts"
import type { StoredEvent } from "../../../src/storage/Stored.ts"
import * as GivenTurn from "../../GivenTurn.ts"
import * as NumberedData from "../../storage/NumberedData.ts"

const ids = { conversationId: NumberedData.conversationId(1), turnId: NumberedData.turnId(1) }
const other = NumberedData.turnId(2)

const delta = (text: string): TurnEvent.TextDelta => ({ type: "text-delta", ...ids, delta: text })
const stepStart: TurnEvent.StepStart = { type: "step-start", ...ids, step: 0, target: "p/m" }
const stored = (id: number): StoredEvent => {
  const event = NumberedData.message(1, 1, id)
  return { id, event, json: JSON.stringify(event) }
}

const textsOf = (frames: ReadonlyArray<Frame>): ReadonlyArray<string | number | undefined> =>
  frames.map(({ event, id }) => (event.type === "text-delta" ? event.delta : id))

/** Lets microtasks run, and nothing of a later turn of the event loop. */
const microtasks = async (): Promise<void> => {
  for (let n = 0; n < 20; n++) await Promise.resolve()
}

const loopTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Everything that a subscriber gets from now on, a list per chunk, and how it ended. */
const listening = (subscriber: Subscriber) => {
  const chunks: Array<ReadonlyArray<string | number | undefined>> = []
  const fiber = Effect.runFork(
    Effect.forever(Effect.map(subscriber.pull, (frames) => void chunks.push(textsOf(frames))))
  )
  return { chunks, fiber }
}

/** A delta whose frame has this length. */
const ofLength = (length: number): TurnEvent.TextDelta => delta("x".repeat(length - JSON.stringify(delta("")).length))

const MIB = 1_048_576

const stopped = new TurnStopped.TurnStopped({ message: "It stopped." })

/** The end of a pull. */
const endOf = async (subscriber: Subscriber): Promise<unknown> => {
  const exit = await Effect.runPromise(Effect.exit(subscriber.pull))
  if (Exit.isSuccess(exit)) return textsOf(exit.value)
  const why = Pull.filterNoDone(exit.cause)
  return Result.isSuccess(why) ? Cause.squash(why.success) : "done"
}

describe("a hub", () => {
  it("encodes an event once, however many subscribers there are", () => {
    const hub = new Hub()
    let encoded = 0
    const event = { ...delta("x"), toJSON: () => ({ times: ++encoded }) }
    hub.live(event)
    assert.deepStrictEqual([encoded, hub.isWatched], [0, false])
    const subscribers = [hub.subscribe(), hub.subscribe(), hub.subscribe()]
    assert.isTrue(hub.isWatched)
    // Events in progress are encoded for later subscribers.
    const before = encoded
    hub.live(event)
    assert.strictEqual(encoded, before + 1)
    for (const subscriber of subscribers) subscriber.close()
    assert.isFalse(hub.isWatched)
    hub.live(event)
    assert.strictEqual(encoded, before + 1)
  })

  it("Hub.H4: passes no persisted event on twice, until its turn is run again", () => {
    const hub = new Hub()
    const subscriber = hub.subscribe()
    assert.isUndefined(hub.lastId)
    hub.persisted([stored(1), stored(2)])
    hub.persisted([stored(2), stored(3)])
    hub.persisted([stored(1)])
    assert.deepStrictEqual([textsOf(subscriber.take()), hub.lastId], [[1, 2, 3], 3])
    hub.restarted()
    assert.isUndefined(hub.lastId)
    // Before the turn has repeated its events, those of another one are no news of how far it is.
    hub.beside([stored(9)])
    hub.persisted([stored(2)])
    hub.beside([stored(2), stored(3)])
    hub.persisted([stored(3)])
    assert.deepStrictEqual([textsOf(subscriber.take()), hub.lastId], [[9, 2, 3], 3])
  })

  it("Hub.H4: drops in-progress events that were on disk before, unless an event has passed since or a wait is in progress", () => {
    const inProgress = (prepare: (hub: Hub) => void) => {
      const hub = new Hub()
      hub.live(stepStart)
      hub.live(delta("a"))
      prepare(hub)
      hub.repeated([NumberedData.message(1, 1, 1)])
      return hub.inProgress.events().map(({ type }) => type)
    }
    // Events of a turn that does not run are no news of the turn that does.
    for (const prepare of [() => {}, (hub: Hub) => hub.beside([stored(1)])])
      assert.deepStrictEqual(inProgress(prepare), [])
    const kept = inProgress((hub) => (hub.persisted([stored(1)]), hub.live(delta("b"))))
    assert.deepStrictEqual(kept, ["text-delta"])
  })

  it("Hub.H5: content is withdrawn only if no subscriber of its turn was given any, and no later one gets it", () => {
    const text = (hub: Hub) => hub.live(delta("a"))
    const file: TurnEvent.FileEvent = { type: "file", ...ids, file: { type: "file", mediaType: "a/b", data: "" } }
    const voided: StoredEvent = { id: 1, event: { type: "step-discarded", ...ids, step: 0, message: "" }, json: "{}" }
    const again = (hub: Hub) => (hub.live(stepStart), text(hub))
    const shown = (hub: Hub, show: () => void) => {
      const subscriber = hub.subscribe()
      show()
      subscriber.close()
    }
    const cases: ReadonlyArray<readonly [isWithdrawn: boolean, act: (hub: Hub) => void]> = [
      [true, text],
      // Before the content, in the middle of it, and gone since: read or not.
      [false, (hub) => (hub.subscribe(), text(hub))],
      [false, (hub) => (text(hub), hub.subscribe(ids.turnId))],
      [false, (hub) => (text(hub), hub.subscribe().close(), text(hub))],
      [false, (hub) => (hub.subscribe().close(), hub.subscribe(), hub.live(file), text(hub))],
      [false, (hub) => (shown(hub, () => hub.live({ ...delta("a"), type: "reasoning-delta" })), text(hub))],
      [true, (hub) => (hub.subscribe(), hub.live(GivenTurn.retry(ids)))],
      // Subscribers of another turn, of the step before its content, and of a step that is void.
      [true, (hub) => (hub.subscribe(other), text(hub), hub.subscribe(other))],
      [true, (hub) => (hub.subscribe().close(), text(hub))],
      [true, (hub) => (text(hub), hub.subscribe().close(), hub.persisted([voided]), again(hub))],
      [true, (hub) => (shown(hub, () => (text(hub), hub.restarted())), again(hub))]
    ]
    for (const [isWithdrawn, act] of cases) {
      const hub = new Hub()
      hub.live(stepStart)
      act(hub)
      assert.strictEqual(hub.withdraw(), isWithdrawn)
      const later = hub.subscribe().take()
      const types = new Set(later.map(({ event }) => event.type))
      assert.strictEqual(types.has("text-delta"), !isWithdrawn)
      assert.isTrue(types.has("step-start"))
    }
  })

  it("announces a prolonged wait if there is a wait", () => {
    const hub = new Hub()
    const subscriber = hub.subscribe()
    hub.held(9_000)
    hub.live(GivenTurn.retry(ids))
    hub.held(9_000)
    const [, held] = subscriber.take()
    assert.deepInclude(held?.event, { type: "provider-retry", retryAt: 9_000 })
  })

  it("ends the subscriptions of a stopped turn and of its conversation, behind the frames so far; others continue", async () => {
    const hub = new Hub()
    const [all, its, others] = [hub.subscribe(), hub.subscribe(ids.turnId), hub.subscribe(other)]
    hub.live(delta("a"))
    hub.stopped(ids.turnId, stopped)
    for (const ended of [all, its]) {
      assert.deepStrictEqual(await endOf(ended), ["a"])
      assert.strictEqual(await endOf(ended), stopped)
    }
    assert.deepStrictEqual(textsOf(others.take()), ["a"])
    hub.live(delta("b"))
    assert.deepStrictEqual([textsOf(others.take()), all.take(), its.take()], [["b"], [], []])
    // The events in progress were void.
    assert.deepStrictEqual(textsOf(hub.subscribe().take()), ["b"])
    // The conversation is deleted.
    const deleted = new ConversationNotFound({ conversationId: ids.conversationId })
    hub.ended(deleted)
    assert.strictEqual(await endOf(others), deleted)
  })

  it("wakes 64 in a turn of the event loop, the first of them at once, and each gets all frames so far", async () => {
    const hub = new Hub()
    const listeners = Array.from({ length: 150 }, () => listening(hub.subscribe()))
    await microtasks()
    const woken = () => listeners.filter(({ chunks }) => chunks.length > 0).length
    hub.live(delta("a"))
    assert.strictEqual(woken(), 0)
    await microtasks()
    assert.strictEqual(woken(), 64)
    await loopTurn()
    await microtasks()
    assert.strictEqual(woken(), 128)
    hub.live(delta("b"))
    for (let n = 0; n < 5; n++) await loopTurn()
    assert.deepStrictEqual([listeners[0]?.chunks, listeners[149]?.chunks], [[["a"], ["b"]], [["a", "b"]]])
    for (const { chunks } of listeners) assert.deepStrictEqual(chunks.flat(), ["a", "b"])
    // A frame that arrives when all are awake wakes them again.
    hub.live(delta("c"))
    for (let n = 0; n < 5; n++) await loopTurn()
    for (const { chunks } of listeners) assert.deepStrictEqual(chunks.flat(), ["a", "b", "c"])
    for (const { fiber } of listeners) fiber.interruptUnsafe()
  })
})

describe("a subscriber", () => {
  it("Hub.H1: is disconnected when it is too far behind, its first frames included", async () => {
    const sent = async (first: number, ...lengths: ReadonlyArray<number>) => {
      const hub = new Hub()
      if (first > 0) hub.live(ofLength(first))
      const subscriber = hub.subscribe()
      for (const length of lengths) void (length === 0 ? subscriber.take() : hub.live(ofLength(length)))
      await microtasks()
      return endOf(subscriber)
    }
    const full = [MIB, MIB, MIB, MIB]
    assert.isArray(await sent(0, ...full))
    assert.include(String(await sent(0, ...full, 200)), "too far behind")
    assert.isArray(await sent(MIB, ...full.slice(1)))
    assert.include(String(await sent(MIB, ...full)), "too far behind")
    assert.include(String(await sent(200, ...full)), "too far behind")
    // One event counts as a quarter at most.
    const large = full.map((length) => 3 * length)
    assert.isArray(await sent(0, ...large))
    assert.include(String(await sent(0, ...large, MIB)), "too far behind")
    // What it has read does not count.
    assert.isArray(await sent(0, ...full, 0, ...full))
  })

  it("gets the events in progress first, and then new ones, one by one or together", async () => {
    const hub = new Hub()
    hub.live(delta("a"))
    const [piecewise, whole] = [hub.subscribe(), hub.subscribe()]
    hub.live(delta("b"))
    assert.deepStrictEqual([await endOf(piecewise), await endOf(piecewise)], [["a"], ["b"]])
    assert.deepStrictEqual([textsOf(whole.take()), whole.take()], [["a", "b"], []])
    const { chunks, fiber } = listening(piecewise)
    hub.live(delta("c"))
    await microtasks()
    assert.deepStrictEqual(chunks, [["c"]])
    // Its end wakes it too.
    hub.stopped(ids.turnId, stopped)
    for (let n = 0; n < 5; n++) await loopTurn()
    assert.isDefined(fiber.pollUnsafe())
  })
})

describe("a subscriber that is pushed to", () => {
  /** Everything that it gets from now on, a list for each chunk; `isOver` when the next is to be pulled. */
  const pushing = (subscriber: Subscriber, goesOn: (chunk: ReadonlyArray<unknown>) => boolean = () => true) => {
    const chunks: Array<ReadonlyArray<string | number | undefined>> = []
    const state = { chunks, isOver: false, stop: () => {} }
    const push = Push.of(subscriber.pull)
    assert(push !== undefined)
    state.stop = push(
      (frames) => {
        chunks.push(textsOf(frames))
        return goesOn(frames)
      },
      () => (state.isOver = true)
    )
    return state
  }

  it("is done when it is closed, and fails with the first error that it was given", async () => {
    const hub = new Hub()
    const closed = hub.subscribe()
    closed.close()
    closed.close()
    hub.live(delta("a"))
    assert.deepStrictEqual(closed.take(), [])
    const failing = hub.subscribe()
    failing.fail(stopped)
    failing.fail(new TurnStopped.TurnStopped({ message: "again" }))
    failing.take()
    assert.strictEqual(await endOf(failing), stopped)
    assert.isFalse(hub.isWatched)
  })

  it("Hub.H1: gets what a read brings as one chunk, in the microtask behind it", async () => {
    const hub = new Hub()
    const { chunks } = pushing(hub.subscribe())
    for (const text of ["a", "b"]) hub.live(delta(text))
    assert.deepStrictEqual(chunks, [])
    await microtasks()
    assert.deepStrictEqual(chunks, [["a", "b"]])
    hub.live(delta("c"))
    hub.persisted([stored(1)])
    await microtasks()
    assert.deepStrictEqual(chunks, [
      ["a", "b"],
      ["c", 1]
    ])
  })

  it("is pushed to until its consumer takes no more, until that stops it, or until it ends", async () => {
    const hub = new Hub()
    const [slow, left, ended] = [hub.subscribe(), hub.subscribe(), hub.subscribe()]
    const pushes = [pushing(slow, () => false), pushing(left), pushing(ended)]
    const pushed = () => pushes.map(({ chunks, isOver }) => [isOver, ...chunks.flat()])
    hub.live(delta("b"))
    await microtasks()
    const expected = pushes.map(() => [false, "b"])
    assert.deepStrictEqual(pushed(), expected)
    pushes[1]?.stop()
    hub.live(delta("c"))
    await microtasks()
    assert.deepStrictEqual(pushed(), [
      [false, "b"],
      [false, "b"],
      [false, "b", "c"]
    ])
    // A consumer that was stopped before does not stop its successor.
    assert.deepStrictEqual(textsOf(left.take()), ["c"])
    const again = pushing(left)
    pushes[1]?.stop()
    hub.stopped(ids.turnId, stopped)
    await microtasks()
    assert.deepStrictEqual([again.isOver, pushes[0]?.isOver, pushes[2]?.isOver], [true, false, true])
    assert.strictEqual(await endOf(ended), stopped)
  })
})

it("Backlog.B2: whoever is far behind takes the same whole pages, and what was taken does not grow", () => {
  const backlog = new Backlog()
  const [late, ...readers] = [backlog.join(), backlog.join(), backlog.join()]
  const lengths = [8_190, 8_192, 8_192, 8_193, 1, 1]
  const page = lengths.map((length, id) => ({ event: delta(""), json: "".padEnd(length), id }))
  const firsts = page.map((frame) => (backlog.push(frame), frame.id === 0 ? backlog.takeSome(late) : []))
  assert.deepStrictEqual(firsts.flat(), page.slice(0, 1))
  const [left, right] = readers.map((reader) => backlog.takeSome(reader))
  assert.deepStrictEqual(left, page.slice(0, 5))
  assert.strictEqual(left, right)
  const taken = readers.map((reader) => backlog.takeSome(reader))
  backlog.push({ event: delta(""), json: "", id: 6 })
  assert.deepStrictEqual([...taken, backlog.takeSome(late)], [page.slice(5), page.slice(5), page.slice(1, 5)])
  assert.deepStrictEqual(backlog.take(backlog.join()), [])
})

it("Backlog.B1: keeps no frame that every reader has taken, though one of them is always behind", () => {
  const backlog = new Backlog()
  const [left, right] = [backlog.join(), backlog.join()]
  for (let n = 0; n < 10_000; n++) {
    const event = delta(`${n} `.padEnd(8_500, "x"))
    backlog.push({ event, json: JSON.stringify(event), id: undefined })
    backlog.take(n % 2 === 0 ? left : right)
  }
  assert.isAtMost(backlog.kept, 128)
  backlog.leave(left)
  backlog.take(right)
  assert.strictEqual(backlog.kept, 0)
  backlog.leave(right)
  backlog.push({ event: delta(""), json: "", id: 0 })
  assert.strictEqual(backlog.kept, 0)
})
