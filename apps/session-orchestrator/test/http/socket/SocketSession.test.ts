import { expect } from "@effect/vitest"
import { Clock, Deferred, Effect, Fiber, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import { EventEmitter } from "node:events"
import * as SocketSession from "../../../src/http/socket/SocketSession.ts"
import { Outlet } from "../../../src/rpc/Outlet.ts"
import * as It from "../../It.ts"

const given = fc.array(fc.record({ key: fc.constantFrom("a", "b", "c"), turns: fc.nat(5) }), {
  maxLength: 30,
  size: "max"
})

It.effect("commands of one key run one after the other in their order, whatever the others do", function* () {
  const property = fc.asyncProperty(given, (commands) =>
    Effect.gen(function* () {
      const order = yield* SocketSession.commandOrder(2)
      const log: Array<readonly [key: string, n: number, what: "begins" | "ends"]> = []
      let [underWay, most] = [0, 0]
      for (const [n, { key, turns }] of commands.entries())
        yield* order.accept(
          key,
          Effect.gen(function* () {
            most = Math.max(most, ++underWay)
            log.push([key, n, "begins"])
            for (let i = 0; i < turns; i++) yield* Effect.yieldNow
            log.push([key, n, "ends"])
            underWay--
          })
        )
      yield* order.idle
      expect(most).toBeLessThanOrEqual(2)
      for (const wanted of ["a", "b", "c"]) {
        const own = commands.flatMap(({ key }, n) =>
          key === wanted ? ["begins", "ends"].map((it) => [key, n, it]) : []
        )
        expect(log.filter(([key]) => key === wanted)).toEqual(own)
      }
    }).pipe(Effect.scoped, Effect.runPromise)
  )
  yield* Effect.promise(() => fc.assert(property))
})

It.effect("a command too many waits to be accepted", function* () {
  const order = yield* SocketSession.commandOrder(1)
  const gate = Deferred.makeUnsafe<void>()
  yield* order.accept("a", Deferred.await(gate))
  const second = yield* Effect.forkChild(order.accept("b", Effect.void), { startImmediately: true })
  expect(second.pollUnsafe()).toBe(undefined)
  yield* Deferred.succeed(gate, undefined)
  yield* Fiber.join(second)
  yield* order.idle
})

It.effect("a client that has sent nothing for a minute is gone; what it does not take is not repeated", function* () {
  const clock = yield* Clock.Clock
  const log: Array<string> = []
  const note = (what: string) => log.push(`${clock.currentTimeMillisUnsafe() / 1_000} ${what}`) > 0
  const state = { destroyed: false, writableEnded: false, writableNeedDrain: false, received: 0 as number | undefined }
  const stream = Object.assign(new EventEmitter(), state, { write: () => note("keep-alive"), end: () => {} })
  const closed = Deferred.makeUnsafe<void>()
  const session = SocketSession.run({ gates: { drain: { ended: Effect.never } } } as never, {
    input: Stream.fromEffectDrain(Deferred.await(closed)),
    output: new Outlet(stream),
    received: () => stream.received,
    destroyed: Effect.sync(() => void note("gone")),
    origin: "a test"
  })
  const running = yield* Effect.forkChild(session, { startImmediately: true })
  for (const [seconds, more] of [
    [20, { received: 1 }],
    [20, { received: undefined }], // while the service does not read
    [60, { writableNeedDrain: true }],
    [30, { writableNeedDrain: false }],
    [70, { received: 1 }],
    [200, {}]
  ] as const) {
    yield* TestClock.adjust(`${seconds} seconds`)
    Object.assign(stream, more)
  }
  const beats = Array.from({ length: 18 }, (_, n) => n * 15).filter((second) => second !== 105 && second !== 120)
  expect(log).toEqual([...beats.map((second) => `${second} keep-alive`), "270 gone"])
  yield* Deferred.succeed(closed, undefined)
  expect(yield* Fiber.join(running)).toBe(false)
})
