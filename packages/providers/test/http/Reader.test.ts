/** Tests `Undici` with undici's callbacks in every order; the tests call them. */
import { describe, expect, it } from "@effect/vitest"
import { Push } from "@holdfast/kernel/host"
import { Cause, Effect, Exit, Fiber, Pull, Scope } from "effect"
import type { Dispatcher } from "undici"
import { Broken } from "../../src/http/Http.ts"
import * as Undici from "../../src/http/Undici.ts"

class Controller {
  aborts = 0
  pauses = 0
  resumes = 0
  paused = false
  aborted = false
  reason = null
  abort(): void {
    this.aborts++
  }
  pause(): void {
    this.pauses++
    this.paused = true
  }
  resume(): void {
    this.resumes++
    this.paused = false
  }
}

/** A call, the handler that undici would have, and a scope that the test closes. */
const call = Effect.fnUntraced(function* () {
  let taken: Dispatcher.DispatchHandler | undefined
  const http = Undici.make({
    dispatch: (_options, handler) => {
      taken = handler
      return true
    }
  })
  const scope = yield* Scope.make()
  const answer = yield* Effect.forkChild(http.endpoint("http://127.0.0.1/", {})("{}", scope), {
    startImmediately: true
  })
  const handler = taken
  if (handler === undefined) return yield* Effect.die("Nothing was dispatched.")
  const controller = new Controller()
  return {
    controller,
    answer,
    close: Scope.close(scope, Exit.void),
    start: () => handler.onRequestStart?.(controller, undefined),
    head: (status = 200, headers: Record<string, string | Array<string>> = {}) =>
      handler.onResponseStart?.(controller, status, headers),
    data: (size: number) => handler.onResponseData?.(controller, Buffer.alloc(size, "x")),
    end: () => handler.onResponseEnd?.(controller, {}),
    error: (cause: Error) => handler.onResponseError?.(controller, cause)
  }
})

const sizesOf = (reads: ReadonlyArray<Uint8Array>) => reads.map((read) => read.length)

describe("an attempt over undici", () => {
  it.effect("H4: a request is a POST of JSON without time limits, to the path and its query", () =>
    Effect.gen(function* () {
      const sent: Array<unknown> = []
      const http = Undici.make({
        dispatch: (options) => {
          sent.push(options)
          return true
        }
      })
      const post = http.endpoint("https://a.test:8443/v1/x?y=1#z", { "x-a": "b" })
      const scope = yield* Scope.make()
      for (const body of ["1", "2"]) yield* Effect.forkChild(post(body, scope), { startImmediately: true })
      expect(sent).toEqual(
        ["1", "2"].map((body) => ({
          origin: "https://a.test:8443",
          path: "/v1/x?y=1",
          method: "POST",
          headers: { "x-a": "b", "content-type": "application/json" },
          body,
          headersTimeout: 0,
          bodyTimeout: 0
        }))
      )
    })
  )

  it.effect("a request that is cancelled before it has a connection is aborted when it gets one", () =>
    Effect.gen(function* () {
      const { close, controller, start } = yield* call()
      yield* close
      expect(controller.aborts).toBe(0)
      start()
      expect(controller.aborts).toBe(1)
    })
  )

  it.effect("a running request is aborted at once, and a request that starts in time is not", () =>
    Effect.gen(function* () {
      const { close, controller, data, head, start } = yield* call()
      start()
      head()
      data(1)
      expect(controller.aborts).toBe(0)
      yield* close
      expect(controller.aborts).toBe(1)
    })
  )

  it.effect("H3: a body that has ended and a connection that has failed are not aborted", () =>
    Effect.gen(function* () {
      const ended = yield* call()
      ended.start()
      ended.head()
      ended.end()
      yield* ended.close
      expect(ended.controller.aborts).toBe(0)
      const failed = yield* call()
      failed.start()
      failed.error(new Error("cut"))
      yield* failed.close
      expect(failed.controller.aborts).toBe(0)
    })
  )

  it.effect("informational statuses are no response; statuses from 200 on are", () =>
    Effect.gen(function* () {
      const { answer, head } = yield* call()
      head(199)
      yield* Effect.yieldNow
      expect(answer.pollUnsafe()).toBeUndefined()
      head(200, { "x-a": ["1", "2"], "x-b": "3" })
      const { headers, isWhole, status } = yield* Fiber.join(answer)
      expect({ headers, status }).toEqual({ headers: { "x-a": "1, 2", "x-b": "3" }, status: 200 })
      expect(isWhole()).toBe(false)
    })
  )

  it.effect(
    "a failure before the response fails the call; a later one fails the body, after the received data is read",
    () =>
      Effect.gen(function* () {
        const before = yield* call()
        before.error(new Error("refused"))
        expect(yield* Effect.flip(Fiber.join(before.answer))).toEqual(new Broken({ cause: new Error("refused") }))
        const behind = yield* call()
        behind.head()
        const { bytes, isWhole } = yield* Fiber.join(behind.answer)
        behind.data(3)
        behind.error(new Error("cut"))
        expect(isWhole()).toBe(false)
        expect(sizesOf(yield* bytes)).toEqual([3])
        expect(yield* Effect.flip(bytes)).toEqual(new Broken({ cause: new Error("cut") }))
      })
  )

  it.effect("a body ends once it is read, whether its end arrives early or late", () =>
    Effect.gen(function* () {
      const { answer, data, end, head } = yield* call()
      head()
      const { bytes, isWhole } = yield* Fiber.join(answer)
      const first = yield* Effect.forkChild(bytes, { startImmediately: true })
      data(1)
      data(2)
      // One wake-up for both: a waiting reader is woken after the read.
      expect(sizesOf(yield* Fiber.join(first))).toEqual([1, 2])
      const second = yield* Effect.forkChild(bytes, { startImmediately: true })
      data(4)
      end()
      expect(isWhole()).toBe(true)
      expect(sizesOf(yield* Fiber.join(second))).toEqual([4])
      const exit = yield* Effect.exit(bytes)
      expect(Exit.isFailure(exit) && Pull.isDoneCause(exit.cause)).toBe(true)
    })
  )

  it.effect("a reader interrupted while waiting is not woken, and the next one gets the data", () =>
    Effect.gen(function* () {
      const { answer, data, head } = yield* call()
      head()
      const { bytes } = yield* Fiber.join(answer)
      const waiting = yield* Effect.forkChild(bytes, { startImmediately: true })
      yield* Fiber.interrupt(waiting)
      data(5)
      expect(sizesOf(yield* bytes)).toEqual([5])
      const next = yield* Effect.forkChild(bytes, { startImmediately: true })
      data(6)
      expect(sizesOf(yield* Fiber.join(next))).toEqual([6])
    })
  )

  it.effect("beyond 256 KiB the socket is paused until they are read, each time", () =>
    Effect.gen(function* () {
      const { answer, controller, data, head, start } = yield* call()
      start()
      head()
      const { bytes } = yield* Fiber.join(answer)
      for (let n = 1; n <= 2; n++) {
        data(200_000)
        data(62_144)
        expect(controller.pauses).toBe(n - 1)
        data(1)
        expect(controller.pauses).toBe(n)
        expect(sizesOf(yield* bytes)).toEqual([200_000, 62_144, 1])
        expect(controller).toMatchObject({ paused: false, resumes: n })
      }
      data(1)
      yield* bytes
      expect(controller.resumes).toBe(2)
    })
  )
})

describe("a body that is pushed", () => {
  /** A body that is read to its end, and what came of each read of the socket. */
  const reading = Effect.fnUntraced(function* (act: (sizes: ReadonlyArray<number>) => Effect.Effect<void> | undefined) {
    const played = yield* call()
    played.start()
    played.head()
    const { bytes } = yield* Fiber.join(played.answer)
    const fiber = yield* Effect.forkChild(
      Push.forEach(bytes, (reads) => act(sizesOf(reads))),
      { startImmediately: true }
    )
    return { ...played, bytes, fiber }
  })

  it.effect("comes in one array a read of the socket, with what came meanwhile, up to its end", () =>
    Effect.gen(function* () {
      const seen: Array<ReadonlyArray<number>> = []
      const { bytes, data, end, fiber } = yield* reading((sizes) => {
        seen.push(sizes)
        return sizes[0] === 4 ? Effect.yieldNow : undefined
      })
      expect(Push.of(bytes)).toBeDefined()
      data(1)
      yield* Effect.promise(() => Promise.resolve())
      data(2)
      data(3)
      expect(Push.of(bytes)).toBeUndefined()
      yield* Effect.promise(() => Promise.resolve())
      expect(seen).toEqual([[1], [2, 3]])
      data(4)
      yield* Effect.promise(() => Promise.resolve())
      data(5)
      yield* Effect.yieldNow
      data(6)
      end()
      const exit = yield* Fiber.await(fiber)
      expect(Exit.isFailure(exit) && Pull.isDoneCause(exit.cause)).toBe(true)
      expect(seen.flat()).toEqual([1, 2, 3, 4, 5, 6])
      expect(seen.slice(0, 3)).toEqual([[1], [2, 3], [4]])
    })
  )

  it.effect("fails behind what came with its connection, and is not read on beyond 256 KiB", () =>
    Effect.gen(function* () {
      const seen: Array<ReadonlyArray<number>> = []
      const { controller, data, error, fiber } = yield* reading((sizes) => void seen.push(sizes))
      data(1)
      yield* Effect.promise(() => Promise.resolve())
      data(300_000)
      expect(controller.paused).toBe(true)
      yield* Effect.promise(() => Promise.resolve())
      expect(controller).toMatchObject({ paused: false, resumes: 1 })
      data(2)
      error(new Error("cut"))
      expect(yield* Effect.flip(Fiber.join(fiber))).toEqual(new Broken({ cause: new Error("cut") }))
      expect(seen).toEqual([[1], [300_000], [2]])
    })
  )

  it.effect("goes to nobody when its consumer was interrupted, and is a defect where its consumer throws", () =>
    Effect.gen(function* () {
      const left = yield* reading(() => undefined)
      left.data(1)
      yield* Effect.promise(() => Promise.resolve())
      left.data(2)
      yield* Fiber.interrupt(left.fiber)
      yield* Effect.promise(() => Promise.resolve())
      expect(sizesOf(yield* left.bytes)).toEqual([2])

      const thrown = yield* call()
      thrown.start()
      thrown.head()
      const { bytes } = yield* Fiber.join(thrown.answer)
      const bug = new Error("a bug")
      let overs = 0
      Push.of(bytes)?.(
        () => {
          throw bug
        },
        () => overs++
      )
      thrown.data(1)
      yield* Effect.promise(() => Promise.resolve())
      const exit = yield* Effect.exit(bytes)
      expect([overs, Exit.isFailure(exit) && Cause.squash(exit.cause)]).toEqual([1, bug])
    })
  )
})

describe("a request without a fiber", () => {
  /** A request, the handler that undici would have, and the outcomes reported for it. */
  const begun = (afterMs: Array<() => void> = []) => {
    let taken: Dispatcher.DispatchHandler | undefined
    const http = Undici.make({
      dispatch: (_options, handler) => {
        taken = handler
        return true
      }
    })
    const reported: Array<unknown> = []
    const world = {
      elapsed: () => 0,
      after: (_ms: number, act: () => void) => {
        afterMs.push(act)
        return () => void afterMs.splice(afterMs.indexOf(act), 1)
      }
    }
    const cancel = http.endpoint("http://127.0.0.1/", {}).begin?.("{}", world, {
      answered: ({ status }) => reported.push(["answered", status]),
      refused: ({ status }, text) => reported.push(["refused", status, text]),
      broken: ({ cause }) => reported.push(["broken", cause])
    })
    const handler = taken
    if (handler === undefined || cancel === undefined) throw new Error("Nothing was dispatched.")
    const controller = new Controller()
    handler.onRequestStart?.(controller, undefined)
    return { cancel, controller, handler, reported, waits: afterMs }
  }

  it("a success is reported with its head, a refusal with its whole body", () => {
    const answered = begun()
    answered.handler.onResponseStart?.(answered.controller, 200, {})
    answered.handler.onResponseData?.(answered.controller, Buffer.from("data"))
    expect(answered.reported).toEqual([["answered", 200]])
    const refused = begun()
    refused.handler.onResponseStart?.(refused.controller, 529, {})
    refused.handler.onResponseData?.(refused.controller, Buffer.from("Over"))
    refused.handler.onResponseData?.(refused.controller, Buffer.from("loaded"))
    expect(refused.reported).toEqual([])
    refused.handler.onResponseEnd?.(refused.controller, {})
    expect(refused.reported).toEqual([["refused", 529, "Overloaded"]])
    expect(refused.controller.aborts).toBe(0)
    expect(refused.waits).toEqual([])
  })

  it("an error's body has the time and size limits of `PlainBody.text`, and ends where the connection breaks", () => {
    const slow = begun()
    slow.handler.onResponseStart?.(slow.controller, 500, {})
    slow.handler.onResponseData?.(slow.controller, Buffer.from("Half"))
    expect(slow.waits).toHaveLength(1)
    slow.waits[0]?.()
    expect(slow.reported).toEqual([["refused", 500, "Half"]])
    expect(slow.controller.aborts).toBe(1)
    const long = begun()
    long.handler.onResponseStart?.(long.controller, 500, {})
    long.handler.onResponseData?.(long.controller, Buffer.alloc(65_537, "x"))
    expect(long.reported).toEqual([["refused", 500, "x".repeat(65_536)]])
    expect(long.controller.aborts).toBe(1)
    const broken = begun()
    broken.handler.onResponseStart?.(broken.controller, 500, {})
    broken.handler.onResponseData?.(broken.controller, Buffer.from("Some"))
    broken.handler.onResponseError?.(broken.controller, new Error("cut"))
    expect(broken.reported).toEqual([["refused", 500, "Some"]])
  })

  it("a connection failure before the response is reported, and nothing after a cancel", () => {
    const cause = new Error("cut")
    const broken = begun()
    broken.handler.onResponseError?.(broken.controller, cause)
    expect(broken.reported).toEqual([["broken", cause]])
    const cancelled = begun()
    cancelled.handler.onResponseStart?.(cancelled.controller, 500, {})
    cancelled.cancel()
    expect(cancelled.controller.aborts).toBe(1)
    expect(cancelled.waits).toEqual([])
    cancelled.handler.onResponseError?.(cancelled.controller, cause)
    expect(cancelled.reported).toEqual([])
  })

  it("an invalid URL is reported as a failure", () => {
    const reported: Array<unknown> = []
    const world = { elapsed: () => 0, after: () => () => {} }
    Undici.make({ dispatch: () => true })
      .endpoint("no address", {})
      .begin?.("{}", world, {
        answered: () => reported.push("answered"),
        refused: () => reported.push("refused"),
        broken: ({ cause }) => reported.push(cause instanceof TypeError)
      })
    expect(reported).toEqual([true])
  })
})
