/** Tests a conversation with many watchers: other requests are not delayed (Hub.H1, Hub.H3). */
import { assert, it } from "@effect/vitest"
import { Ids } from "@holdfast/wire"
import { Effect, Exit, Fiber, Stream } from "effect"
import { MAX_BEHIND } from "../../../src/engine/session/Backlog.ts"
import { Hub } from "../../../src/engine/session/Hub.ts"

const ids = { conversationId: Ids.ConversationId.make("c"), turnId: Ids.TurnId.make("t") }
const delta = (text: string) => ({ type: "text-delta", ...ids, delta: text }) as const

const WATCHERS = 500

const loopTurn = Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)))

/** The text that a watcher has assembled, and whether it still watches. */
const watch = (hub: Hub) =>
  Effect.gen(function* () {
    const seen = { text: "" }
    const subscriber = hub.subscribe()
    const fiber = yield* Stream.fromPull(Effect.succeed(subscriber.pull)).pipe(
      Stream.runForEach(({ event }) =>
        Effect.sync(() => (seen.text += event.type === "text-delta" ? event.delta : ""))
      ),
      Effect.forkChild({ startImmediately: true })
    )
    return { seen, fiber }
  })

it.live("Hub.H1: each of many watchers gets every frame, also frames that arrive while others are being woken", () =>
  Effect.gen(function* () {
    const hub = new Hub()
    const watchers = yield* Effect.forEach(Array.from({ length: WATCHERS }), () => watch(hub))
    let sent = ""
    for (let n = 0; n < 20; n++) {
      hub.live(delta(`${n} `))
      sent += `${n} `
      yield* loopTurn
    }
    // The last frame came after the first watchers had been woken.
    while (watchers.some(({ seen }) => seen.text !== sent)) yield* loopTurn
    for (const { fiber } of watchers) yield* Fiber.interrupt(fiber)
  })
)

it.live("Hub.H3: one turn of the event loop wakes some of many watchers, and never all", () =>
  Effect.gen(function* () {
    const hub = new Hub()
    const watchers = yield* Effect.forEach(Array.from({ length: WATCHERS }), () => watch(hub))
    const woken = () => watchers.filter(({ seen }) => seen.text !== "").length
    hub.live(delta("x"))
    const counts: Array<number> = []
    while (woken() < WATCHERS) {
      yield* loopTurn
      counts.push(woken())
    }
    assert.isAbove(counts.length, 4)
    for (const { fiber } of watchers) yield* Fiber.interrupt(fiber)
  })
)

it.live("Hub.H1: a watcher that takes nothing is disconnected, and the others are not", () =>
  Effect.gen(function* () {
    const hub = new Hub()
    const idle = hub.subscribe()
    const watchers = yield* Effect.forEach(Array.from({ length: WATCHERS }), () => watch(hub))
    const piece = "x".repeat(MAX_BEHIND / 64)
    for (let n = 0; n < 70; n++) {
      hub.live(delta(piece))
      while (watchers.some(({ seen }) => seen.text.length < (n + 1) * piece.length)) yield* loopTurn
    }
    const exit = yield* Effect.exit(idle.pull)
    assert.isTrue(Exit.isFailure(exit))
    for (const { fiber } of watchers) yield* Fiber.interrupt(fiber)
  })
)

it.live("Hub.H3: a watcher that has taken a frame before it was woken for it waits for the next one", () =>
  Effect.gen(function* () {
    const hub = new Hub()
    const subscriber = hub.subscribe()
    hub.live(delta("a"))
    subscriber.arrived()
    assert.lengthOf(yield* subscriber.pull, 1)
    const next = yield* Effect.forkChild(subscriber.pull, { startImmediately: true })
    yield* loopTurn
    assert.isUndefined(next.pollUnsafe())
    hub.live(delta("b"))
    assert.lengthOf(yield* Fiber.join(next), 1)
    subscriber.close()
  })
)
