/** Tests `Undici` with undici's callbacks in every order; the tests call them. */
import type { Dispatcher } from "undici"
import { describe, expect, it } from "vitest"
import * as Zlib from "node:zlib"
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

/** A call, the handler that undici would have, and what the listener got. */
const call = (isTaken = true) => {
  let taken: Dispatcher.DispatchHandler | undefined
  const dispatch = (_options: unknown, handler: Dispatcher.DispatchHandler) => {
    taken = handler
    return true
  }
  const got: Array<unknown> = []
  const running = Undici.make({ dispatch }).endpoint("http://127.0.0.1/", {})("{}", {
    head: (head) => got.push(head),
    data: (bytes) => {
      got.push(bytes.length)
      return isTaken
    },
    end: () => got.push("end"),
    broken: (cause) => got.push(cause)
  })
  const handler = taken
  if (handler === undefined) throw new Error("Nothing was dispatched.")
  const controller = new Controller()
  return {
    ...running,
    controller,
    got,
    start: () => handler.onRequestStart?.(controller, undefined),
    head: (status = 200, headers: Record<string, string | Array<string>> = {}) =>
      handler.onResponseStart?.(controller, status, headers),
    data: (bytes: number | Buffer) =>
      handler.onResponseData?.(controller, typeof bytes === "number" ? Buffer.alloc(bytes, "x") : bytes),
    end: () => handler.onResponseEnd?.(controller, {}),
    error: (cause: Error) => handler.onResponseError?.(controller, cause)
  }
}

const HEAD = { status: 200, headers: {} }

describe("a call over undici", () => {
  it("Http: a request is a POST of JSON without time limits, to the path and its query", () => {
    const sent: Array<unknown> = []
    const dispatch = (options: unknown) => sent.push(options) > 0
    const post = Undici.make({ dispatch }).endpoint("https://a.test:8443/v1/a b?y=1#z", { "x-a": "b" })
    for (const body of ["1", "2"]) post(body, { head: () => {}, data: () => true, end: () => {}, broken: () => {} })
    expect(sent).toEqual(
      ["1", "2"].map((body) => ({
        origin: "https://a.test:8443",
        path: "/v1/a%20b?y=1",
        method: "POST",
        headers: ["x-a", "b", "content-type", "application/json"],
        body,
        headersTimeout: 0,
        bodyTimeout: 0
      }))
    )
  })

  it("one that is closed before it has a connection is aborted when it gets one, and a running one at once", () => {
    const early = call()
    early.close()
    expect(early.controller.aborts).toBe(0)
    early.start()
    expect(early.controller.aborts).toBe(1)
    const running = call()
    running.start()
    running.head()
    running.data(1)
    running.close()
    running.data(1)
    running.error(new Error("aborted"))
    expect([running.controller.aborts, running.got]).toEqual([1, [HEAD, 1]])
  })

  it("Http.H3: a body that has ended and a connection that has failed are not aborted", () => {
    const ended = call()
    ended.start()
    ended.head()
    ended.end()
    ended.close()
    const failed = call()
    failed.start()
    failed.error(new Error("cut"))
    failed.close()
    expect([ended.controller.aborts, failed.controller.aborts]).toEqual([0, 0])
    expect([ended.got, failed.got]).toEqual([[HEAD, "end"], [new Error("cut")]])
  })

  it("what is not sent fails behind the call, whose maker has it by then", async () => {
    for (const dispatch of [
      (_options: unknown, handler: Dispatcher.DispatchHandler) => {
        handler.onResponseError?.(new Controller(), new Error("no"))
        return false
      },
      () => {
        throw new Error("no")
      }
    ]) {
      const got: Array<unknown> = []
      const listener = { head: () => {}, data: () => true, end: () => {}, broken: (cause: unknown) => got.push(cause) }
      Undici.make({ dispatch }).endpoint("http://127.0.0.1/", {})("{}", listener)
      expect(got).toEqual([])
      await Promise.resolve()
      expect(got).toEqual([new Error("no")])
    }
  })

  it("informational statuses are no response; statuses from 200 on are, and a repeated header is joined", () => {
    const { got, head } = call()
    head(199)
    expect(got).toEqual([])
    head(200, { "x-a": ["1", "2"], "X-B": "3" })
    expect(got).toEqual([{ status: 200, headers: { "x-a": "1, 2", "x-b": "3" } }])
  })

  it("its connection is not read while its listener takes nothing", () => {
    const { controller, data, head, resume, start } = call(false)
    start()
    head()
    data(1)
    expect(controller).toMatchObject({ paused: true, pauses: 1 })
    resume()
    expect(controller).toMatchObject({ paused: false, resumes: 1 })
  })

  it("rule C13: a coded body is given decoded, and one that breaks off with all that could be decoded", async () => {
    for (const how of ["end", "cut"] as const) {
      const { data, end, error, got, head, start } = call()
      start()
      head(200, { "content-encoding": "gzip" })
      data(Zlib.gzipSync("x".repeat(1_000)))
      if (how === "end") end()
      else error(new Error("cut"))
      await expect.poll(() => got.length).toBe(3)
      expect(got.slice(1)).toEqual([1_000, how === "end" ? "end" : new Error("cut")])
    }
  })

  it("RawCall.R2: of a coded body nothing is given any more once its call is closed", async () => {
    const [left, read] = [call(), call()]
    for (const { data, end, head, start } of [left, read]) {
      start()
      head(200, { "content-encoding": "gzip" })
      data(Zlib.gzipSync("x".repeat(1_000)))
      if (data === left.data) left.close()
      else end()
    }
    await expect.poll(() => read.got.length, { timeout: 60_000 }).toBe(3) // the decoder of the other was before it
    expect([left.got.length, left.controller.aborts]).toEqual([1, 1])
  })

  it("rule C11, C13: a coded body is not decoded on while its listener takes nothing", async () => {
    const [slow, fast] = [call(false), call()]
    for (const { data, end, head, start } of [slow, fast]) {
      start()
      head(200, { "content-encoding": "gzip" })
      data(Zlib.gzipSync("x".repeat(100_000)))
      end()
    }
    await expect.poll(() => fast.got.at(-1), { timeout: 60_000 }).toBe("end") // the decoder of the other was before it
    expect(slow.got.length).toBeLessThanOrEqual(2)
    await expect.poll(() => (slow.resume(), slow.got.at(-1)), { interval: 1, timeout: 60_000 }).toBe("end")
    expect(slow.got.slice(1, -1).reduce<number>((sum, length) => sum + Number(length), 0)).toBe(100_000)
  })

  it("rule C13: a coding that is not known fails the call, and its connection is closed", () => {
    const { controller, data, got, head, start } = call()
    start()
    head(200, { "content-encoding": "zip" })
    data(5)
    expect(got).toMatchObject([{ failure: { reason: "invalid-response" } }])
    expect(controller.aborts).toBe(1)
  })
})
