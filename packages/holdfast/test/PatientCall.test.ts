/** Single calls of any element type, with the patience of a turn. */
import { AsyncLocalStorage } from "node:async_hooks"
import { assert, describe, it } from "vitest"
import { cut, HoldfastError, patience, type Retry } from "../src/index.ts"

/** Waits of no length: no test takes time. */
const AT_ONCE = {
  schedule: { type: "steps", delays: Array.from({ length: 10 }, () => "0 millis"), tail: "1 millis" },
  maxRetries: 4
} as const

type Script = ReadonlyArray<ReadonlyArray<string | Error>>

/** A call that follows a script, one entry an attempt; "" is no content. */
const scripted = (script: Script) => {
  const signals: Array<AbortSignal> = []
  return {
    signals,
    isContent: (text: string) => text !== "",
    call: async function* (signal: AbortSignal) {
      signals.push(signal)
      for (const element of script[signals.length - 1] ?? []) {
        if (element instanceof Error) throw element
        yield element
      }
    }
  }
}

const collect = async (elements: AsyncIterable<string>) => {
  const seen: Array<string> = []
  try {
    for await (const element of elements) seen.push(element)
    return { seen, error: undefined }
  } catch (error) {
    return { seen, error }
  }
}

const overloaded = () => Object.assign(new Error("Overloaded"), { status: 529 })

describe("a patient call", () => {
  it("D4: drops what failed attempts gave, and gives one answer", async () => {
    const retries: Array<Retry> = []
    const call = scripted([[overloaded()], ["", overloaded()], ["", cut()], ["", "Still ", "here."]])
    const patient = patience({ retry: AT_ONCE, onRetry: (retry) => void retries.push(retry) })
    assert.deepStrictEqual(await collect(patient(call)), { seen: ["", "Still ", "here."], error: undefined })
    assert.deepStrictEqual(
      retries.map(({ attempt, code, reason }) => [attempt, reason, code]),
      [
        [0, "overloaded", "529"],
        [1, "overloaded", "529"],
        [2, "network", "ECONNRESET"]
      ]
    )
    assert.isTrue(call.signals.every(({ aborted }) => aborted))
  })

  it("D4: calls nothing again after content, and gives the error behind it as it was thrown", async () => {
    const error = overloaded()
    const call = scripted([["Half ", error], ["Never"]])
    assert.deepStrictEqual(await collect(patience({ retry: AT_ONCE })(call)), { seen: ["Half "], error })
    assert.strictEqual(call.signals.length, 1)
  })

  it("gives the error of the last attempt once the retries are used up", async () => {
    const last = overloaded()
    const call = scripted([[overloaded()], [last]])
    assert.strictEqual((await collect(patience({ retry: { ...AT_ONCE, maxRetries: 1 } })(call))).error, last)
  })

  it("C8: ends an attempt that is silent, and says for how long it was", async () => {
    const requestTimeout = { firstContent: "1 millis" }
    const silent: AsyncIterable<string> = { [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }) }
    const patient = patience({ retry: { maxRetries: 0, requestTimeout } })
    const { error } = await collect(patient({ call: () => silent, isContent: () => true }))
    assert.strictEqual(String(error), "TimeoutError: No content within 1ms of the request")
  })

  it.each(["of the call", "of all calls"])("D8: an abort %s ends its wait with the signal's reason", async (whose) => {
    const controller = new AbortController()
    const reason = new Error("Enough.")
    const { signal } = controller
    const call = scripted([[overloaded()]])
    const patient = patience({
      onRetry: () => controller.abort(reason),
      ...(whose === "of all calls" ? { signal } : undefined)
    })
    const elements = patient({ ...call, signal: whose === "of the call" ? signal : new AbortController().signal })
    assert.deepStrictEqual(await collect(elements), { seen: [], error: reason })
    assert.strictEqual(call.signals.length, 1)
  })

  it("a consumer that stops ends the attempt", async () => {
    const call = scripted([["a", "b", "c"]])
    for await (const element of patience()(call)) if (element === "a") break
    assert.isTrue(call.signals[0]?.aborted)
  })

  it("runs in the asynchronous context of its caller, which tracing is in", async () => {
    const storage = new AsyncLocalStorage<string>()
    const patient = patience({ retry: AT_ONCE })
    const run = (name: string) => {
      const seen: Array<string | undefined> = []
      let attempts = 0
      const call = async function* () {
        seen.push(storage.getStore())
        if (++attempts < 3) throw overloaded()
        for (const element of ["a", "b"]) {
          yield element
          seen.push(storage.getStore())
        }
      }
      return storage.run(name, () => collect(patient({ call, isContent: () => true }))).then(() => seen)
    }
    const names = ["first", "second", "third"]
    assert.deepStrictEqual(
      await Promise.all(names.map(run)),
      names.map((name) => Array.from({ length: 5 }, () => name))
    )
  })

  it("names what is wrong with its options", () => {
    assert.throws(() => patience({ retry: { maxRetries: -1 } }), HoldfastError, /^retry: [^]*maxRetries/)
  })
})
