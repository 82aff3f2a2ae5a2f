/** Single calls of any element type, with the patience of a turn. */
import { AsyncLocalStorage } from "node:async_hooks"
import { afterEach, assert, describe, it, vi } from "vitest"
import { CallParked, cut, memoryStore, HoldfastError, patience, type Retry } from "../src/index.ts"

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

describe("a call that parks", () => {
  const HOURLY = { schedule: { type: "steps", delays: ["1 hour", "2 hours"], tail: "3 hours" }, maxRetries: 2 } as const
  let stop = new AbortController()
  afterEach(() => {
    vi.restoreAllMocks()
    vi.useRealTimers()
  })

  /** The time that the waits are counted by; nothing else is of the test. */
  const at = (hours: number) => vi.setSystemTime(hours * 3_600_000)
  const begin = (script: Script, after?: string) => {
    vi.useFakeTimers({ toFake: ["Date"] })
    at(0)
    const store = memoryStore()
    const retries: Array<Retry> = []
    const park = { store, ...(after === undefined ? undefined : { after }) }
    stop = new AbortController()
    const retried = Promise.withResolvers<void>()
    const onRetry = (retry: Retry) => {
      retries.push(retry)
      retried.resolve()
    }
    const patient = patience({ retry: HOURLY, park, signal: stop.signal, onRetry })
    const call = { ...scripted(script), id: "c1" }
    return { store, retries, retried: retried.promise, call, ask: () => collect(patient(call)) }
  }
  const isParkedUntil = (error: unknown, hours: number) => {
    assert.instanceOf(error, CallParked)
    assert.deepStrictEqual([error.name, error.id, error.retryAt.getTime()], ["CallParked", "c1", hours * 3_600_000])
  }

  it("rule X1: parks until the moment of its retry's event, however slow the machine", async () => {
    const { ask, retries } = begin([[overloaded()]])
    let now = Date.now()
    vi.spyOn(Date, "now").mockImplementation(() => now++)
    const first = (await ask()).error
    assert.instanceOf(first, CallParked)
    assert.deepStrictEqual(first.retryAt, retries[0]?.retryAt)
    assert.deepStrictEqual((await ask()).error, first, "its time has not come")
  })

  it("goes on where it parked: at its time, with the attempts that are left", async () => {
    const { ask, call, retries, store } = begin([[overloaded()], [overloaded()], ["Here."], ["Anew."]])
    isParkedUntil((await ask()).error, 1)
    isParkedUntil((await ask()).error, 1) // too early
    assert.strictEqual(call.signals.length, 1)
    at(1)
    isParkedUntil((await ask()).error, 3)
    at(3)
    assert.deepStrictEqual(await ask(), { seen: ["Here."], error: undefined })
    assert.strictEqual(call.signals.length, 3)
    assert.deepStrictEqual(Array.from(new Set(retries.map(({ attempt }) => attempt))), [0, 1])
    assert.strictEqual(await store.get("call/c1"), "")
    assert.deepStrictEqual(await ask(), { seen: ["Anew."], error: undefined })
  })

  it("fails when its attempts are used up, over all its parts, and begins anew then", async () => {
    const last = overloaded()
    const { ask, call, store } = begin([[overloaded()], [overloaded()], [last], ["Anew."]])
    for (const hours of [0, 1]) {
      at(hours)
      await ask()
    }
    at(3)
    assert.strictEqual((await ask()).error, last)
    assert.strictEqual(await store.get("call/c1"), "")
    assert.deepStrictEqual((await ask()).seen, ["Anew."])
    assert.strictEqual(call.signals.length, 4)
  })

  it("rule D4: makes no call again after content", async () => {
    const { ask, call } = begin([[overloaded()], ["Half ", overloaded()]])
    await ask()
    at(1)
    const { error, seen } = await ask()
    assert.deepStrictEqual(seen, ["Half "])
    assert.notInstanceOf(error, CallParked)
    assert.strictEqual(call.signals.length, 2)
  })

  it("stays in memory for a wait that is no longer than `after`", async () => {
    const { ask, call, retried, store } = begin([[overloaded()], ["Here."]], "1 hour")
    const answer = ask()
    await retried
    assert.strictEqual(await store.get("call/c1"), undefined)
    stop.abort()
    assert.strictEqual((await answer).error, stop.signal.reason)
    assert.strictEqual(call.signals.length, 1)
  })

  it("names what is wrong with its options", async () => {
    const store = memoryStore()
    assert.throws(() => patience({ park: { store, after: "soon" } }), /^park\.after: "soon" is no duration/)
    const { error } = await collect(patience({ park: { store } })(scripted([["Here."]])))
    assert.match(String(error), /id: with park a call needs an id/)
    const broken = { ...store, put: () => Promise.reject(new Error("disk full")) }
    const failed = await collect(patience({ park: { store: broken } })({ ...scripted([[overloaded()]]), id: "c1" }))
    assert.match(String(failed.error), /Call c1 could not be kept: disk full/)
  })
})

describe("a patient call", () => {
  it("rule D4: drops what failed attempts gave, and gives one answer", async () => {
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

  it("rule D4: calls nothing again after content, and gives the error behind it as it was thrown", async () => {
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

  it("rule C8: ends an attempt that is silent, and says for how long it was", async () => {
    const requestTimeout = { firstContent: "1 millis" }
    const silent: AsyncIterable<string> = { [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }) }
    const patient = patience({ retry: { maxRetries: 0, requestTimeout } })
    const { error } = await collect(patient({ call: () => silent, isContent: () => true }))
    assert.strictEqual(String(error), "TimeoutError: No content within 1 ms of the request")
  })

  it.each(["of the call", "of all calls"])(
    "rule D8: an abort %s ends its wait with the signal's reason",
    async (whose) => {
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
    }
  )

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
