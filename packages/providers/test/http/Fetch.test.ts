import { expect, it } from "vitest"
import * as Fetch from "../../src/http/Fetch.ts"

it("Http.H3: the body of a function that does not know the signal is cancelled with its call, in a read and before it", async () => {
  for (const isRead of [true, false]) {
    let isCancelled = false
    const body = new ReadableStream<Uint8Array>({ cancel: () => void (isCancelled = true) })
    const got: Array<string> = []
    const call = Fetch.make(async () => new Response(body)).endpoint("https://a.test/", {})("{}", {
      head: () => got.push("head"),
      data: () => true,
      end: () => got.push("end"),
      broken: () => got.push("broken")
    })
    if (isRead) await expect.poll(() => got.length).toBe(1)
    call.close()
    await expect.poll(() => isCancelled).toBe(true)
    expect(got).toEqual(isRead ? ["head"] : [])
  }
})

it("Http.H3: a body that cannot be cancelled, of a call that was closed before it, fails nothing", async () => {
  const unhandled: Array<unknown> = []
  const note = (cause: unknown) => unhandled.push(cause)
  process.on("unhandledRejection", note)
  let isAsked = false
  const call = Fetch.make(async () => {
    isAsked = true
    return new Response(new ReadableStream({ start: (controller) => controller.error(new Error("aborted")) }))
  }).endpoint("https://a.test/", {})("{}", {
    head: () => {},
    data: () => true,
    end: () => {},
    broken: () => {}
  })
  call.close()
  await expect.poll(() => isAsked).toBe(true)
  await new Promise(setImmediate)
  process.off("unhandledRejection", note)
  expect(unhandled).toEqual([])
})
