import { expect } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import * as fc from "fast-check"
import * as SocketSession from "../../../src/http/socket/SocketSession.ts"
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
