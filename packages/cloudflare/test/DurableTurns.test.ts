/** Turns of a Durable Object whose storage and alarm are in memory, over its evictions. */
import { afterEach, assert, describe, it, vi } from "vitest"
import { durableObjectStore, type Model } from "holdfast"
import { type DurableObjectState, durableTurns } from "../src/index.ts"

const HOUR = 3_600_000
const HOURS = { schedule: { type: "steps", delays: ["3 hours"], tail: "3 hours" }, jitter: "none" } as const

afterEach(() => vi.useRealTimers())

/** The storage of one object, which outlives its instances. An instance that is evicted writes nothing any more. */
const object = () => {
  vi.useFakeTimers({ toFake: ["Date"], now: 0 })
  const values = new Map<string, unknown>()
  let alarm: number | null = null
  let instances = 0
  return {
    alarm: () => alarm,
    /** A new instance, as after an eviction of the one before. */
    wake: (): DurableObjectState => {
      const instance = ++instances
      const alive = async <A>(effect: () => A): Promise<A> =>
        instance === instances ? effect() : new Promise(() => {})
      return {
        storage: {
          get: (key) => alive(() => values.get(key)),
          put: async (key, value) => {
            if (typeof value === "string" && 2 * value.length > 128 * 1_024) throw new Error("The value is too long")
            return alive(() => void values.set(key, value))
          },
          list: ({ prefix }) => alive(() => new Map(Array.from(values).filter(([key]) => key.startsWith(prefix)))),
          getAlarm: () => alive(() => alarm),
          setAlarm: (time) => alive(() => void (alarm = time)),
          deleteAlarm: () => alive(() => void (alarm = null))
        }
      }
    },
    /** Time passes until the alarm, which is due once, and may be late. */
    toAlarm: (now = 0) => {
      assert.isNotNull(alarm)
      vi.setSystemTime(Math.max(now, alarm ?? 0))
      alarm = null
    }
  }
}

/** Fails `failures` times, then answers. */
const failing = (failures: number) => {
  let calls = 0
  const model: Model = async function* () {
    if (calls++ < failures) throw Object.assign(new Error("Overloaded"), { status: 529 })
    yield "Still here."
  }
  return { model, calls: () => calls }
}

describe("durableTurns", () => {
  it("rule X1: a wait leaves memory, and the alarm of another instance ends it", async () => {
    const { alarm, toAlarm, wake } = object()
    const { calls, model } = failing(2)
    const first = durableTurns(wake(), { model, retry: HOURS })
    assert.deepInclude(await first.turn("Hello", { id: "t1" }).result, { status: "parked" })
    for (const ends of [3 * HOUR, 6 * HOUR]) {
      const turns = durableTurns(wake(), { model, retry: HOURS })
      // The guard against an eviction comes first, and finds the turn waiting.
      while ((alarm() ?? Infinity) < ends) {
        toAlarm()
        await turns.alarm()
      }
      assert.strictEqual(alarm(), ends)
      toAlarm()
      await turns.alarm()
    }
    assert.isNull(alarm())
    assert.strictEqual(calls(), 3)
    const again = durableTurns(wake(), { model, retry: HOURS }).turn("Hello", { id: "t1" })
    assert.deepInclude(await again.result, { status: "completed", text: "Still here.", attempts: 3 })
    assert.strictEqual(calls(), 3)
  })

  it("rule X1: a turn whose object is evicted in the middle of a call is continued by the next alarm", async () => {
    const { alarm, toAlarm, wake } = object()
    const called = Promise.withResolvers<void>()
    const hanging: Model = async function* () {
      called.resolve()
      await new Promise(() => {})
      yield ""
    }
    durableTurns(wake(), { model: hanging, retry: HOURS }).turn("Hello", { id: "t1" })
    await called.promise
    const { model } = failing(0)
    const turns = durableTurns(wake(), { model, retry: HOURS })
    assert.isBelow(alarm() ?? Infinity, 60_000)
    toAlarm()
    await turns.alarm()
    assert.isNull(alarm())
    assert.deepInclude(await turns.turn("Hello", { id: "t1" }).result, { status: "completed", text: "Still here." })
  })

  it("sets the alarm to the first of several waits, and has none when all turns are sealed", async () => {
    const { alarm, toAlarm, wake } = object()
    const { model } = failing(2)
    const turns = durableTurns(wake(), { model, retry: HOURS })
    await turns.turn("One", { id: "t1" }).result
    vi.setSystemTime(HOUR)
    await turns.turn("Two", { id: "t2" }).result
    const ends: Array<number | null> = []
    while (alarm() !== null) {
      toAlarm()
      await turns.alarm()
      ends.push(alarm())
    }
    assert.deepStrictEqual(ends.slice(-3), [3 * HOUR, 4 * HOUR, null])
  })

  it("keeps responses that are longer than a value of the storage may be", async () => {
    const { wake } = object()
    const text = "Still here. ".repeat(20_000)
    const model: Model = async function* () {
      yield text
    }
    const first = await durableTurns(wake(), { model }).turn("Hello", { id: "t1" }).result
    const again = await durableTurns(wake(), { model }).turn("Hello", { id: "t1" }).result
    for (const result of [first, again]) assert.deepInclude(result, { status: "completed", text })
    const store = durableObjectStore(wake().storage)
    await store.put("long", text)
    assert.strictEqual(await store.get("long"), text)
    assert.deepStrictEqual(Array.from(await store.list("lon")), [["long", text]])
  })

  it("keeps the alarm while the storage fails, at longer and longer times", async () => {
    const { alarm, toAlarm, wake } = object()
    const { model } = failing(1)
    await durableTurns(wake(), { model, retry: HOURS }).turn("Hello", { id: "t1" }).result
    const { storage } = wake()
    let isBroken = true
    const put = (key: string, value: unknown) =>
      isBroken && key.includes("record")
        ? Promise.reject(new Error("storage is over its limit"))
        : storage.put(key, value)
    const turns = durableTurns({ storage: { ...storage, put } }, { model, retry: HOURS })
    toAlarm(4 * HOUR)
    const delays: Array<number> = []
    for (let n = 0; n < 10; n++) {
      await turns.alarm()
      delays.push((alarm() ?? 0) - Date.now())
      toAlarm()
    }
    assert.deepStrictEqual([...delays.slice(0, 3), delays.at(-1)], [40_000, 80_000, 160_000, HOUR])
    isBroken = false
    await turns.alarm()
    assert.isNull(alarm())
  })
})
