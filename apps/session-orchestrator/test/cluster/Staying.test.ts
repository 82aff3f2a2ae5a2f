import { Effect, Fiber, Latch } from "effect"
import { describe, expect, it } from "vitest"
import { GRACE_MS, MAX_IDLE_MS, Staying } from "../../src/cluster/Staying.ts"

/** A conversation whose requests and time the test controls. */
const make = () => {
  const state = { now: 0, sent: 0, isAsleep: false }
  let timers: Array<{ readonly at: number; readonly wake: () => void }> = []
  const staying = new Staying({
    timer: {
      at: (at, wake) => {
        const timer = { at, wake: () => wake(true) }
        timers.push(timer)
        return () => {
          timers = timers.filter((other) => other !== timer)
        }
      }
    },
    now: () => state.now,
    send: () => void state.sent++,
    isAsleep: () => state.isAsleep
  })
  const pass = (ms: number): void => {
    state.now += ms
    const due = timers.filter(({ at }) => at <= state.now)
    timers = timers.filter(({ at }) => at > state.now)
    for (const { wake } of due) wake()
  }
  const stay = () => {
    const quiet = Latch.makeUnsafe()
    const fiber = Effect.runFork(staying.while(quiet.await))
    return { fiber, quiet: () => quiet.openUnsafe() }
  }
  return { state, staying, pass, stay }
}

describe("Staying", () => {
  it("S1: a turn that runs without a request gets one after the time of grace, and not before", () => {
    const { pass, state, staying } = make()
    staying.busy()
    pass(GRACE_MS - 1)
    expect(state.sent).toBe(0)
    pass(1)
    expect(state.sent).toBe(1)
  })

  it("S1: a turn that begins in a conversation that was idle for long gets its request at once", () => {
    const { pass, state, staying } = make()
    pass(MAX_IDLE_MS)
    staying.busy()
    staying.busy()
    expect(state.sent).toBe(1)
  })

  it("S1: the time of grace ends before the cluster may evict, counted from the last request", async () => {
    const { pass, state, stay, staying } = make()
    pass(MAX_IDLE_MS)
    const { fiber, quiet } = stay()
    quiet()
    await Effect.runPromise(Fiber.join(fiber))
    pass(MAX_IDLE_MS - GRACE_MS - 100)
    staying.busy()
    pass(99)
    expect(state.sent).toBe(0)
    pass(1)
    expect(state.sent).toBe(1)
  })

  it("S1: a turn that begins after a request has ended gets another", async () => {
    const { pass, state, stay, staying } = make()
    const { fiber, quiet } = stay()
    quiet()
    await Effect.runPromise(Fiber.join(fiber))
    staying.busy()
    pass(GRACE_MS)
    expect(state.sent).toBe(1)
  })

  it("S1: a turn that begins while a request lasts is waited for by the same request", async () => {
    const { pass, state, stay, staying } = make()
    const { fiber, quiet } = stay()
    staying.busy()
    quiet()
    await Effect.runPromise(Fiber.join(fiber))
    pass(GRACE_MS)
    expect(state.sent).toBe(0)
  })

  it("S1: a turn that began while a request lasted, and outlives it, gets another", async () => {
    const { pass, state, stay, staying } = make()
    const { fiber } = stay()
    staying.busy()
    await Effect.runPromise(Fiber.interrupt(fiber))
    pass(GRACE_MS)
    expect(state.sent).toBe(1)
  })

  it("S2: nothing is sent while a request lasts", () => {
    const { pass, state, stay, staying } = make()
    staying.busy()
    stay()
    staying.busy()
    pass(GRACE_MS)
    expect(state.sent).toBe(0)
  })

  it("S2: many beginnings are one request", () => {
    const { pass, state, staying } = make()
    for (let n = 0; n < 5; n++) staying.busy()
    pass(GRACE_MS)
    pass(GRACE_MS)
    expect(state.sent).toBe(1)
  })

  it("S2: nothing is sent for a turn that sleeps again", () => {
    const { pass, state, staying } = make()
    staying.busy()
    state.isAsleep = true
    pass(GRACE_MS)
    expect(state.sent).toBe(0)
  })

  it("nothing is sent once the conversation leaves memory", () => {
    const { pass, state, staying } = make()
    staying.busy()
    staying.close()
    staying.busy()
    pass(GRACE_MS)
    expect(state.sent).toBe(0)
  })
})
