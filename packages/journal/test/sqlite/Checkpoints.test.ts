import { assert, it } from "@effect/vitest"
import {
  AHEAD_BYTES,
  Checkpoints,
  IDLE_MS,
  KEPT_BYTES,
  type Task,
  type Thread,
  WORTH_BYTES
} from "../../src/sqlite/Checkpoints.ts"

/** A thread under the control of the test. */
const scripted = (bytes = 0) => {
  const listeners = new Map<string, () => void>()
  const counts = { started: 0, asked: 0, ended: 0 }
  const log = { bytes }
  const asked: Array<Task> = []
  const looks: Array<() => void> = []
  const thread: Thread = {
    postMessage: (task) => {
      counts.asked++
      asked.push(task)
    },
    on: (event, listener) => listeners.set(event, listener),
    unref: () => {},
    terminate: async () => void counts.ended++
  }
  const checkpoints = new Checkpoints("file", {
    start: () => {
      counts.started++
      return thread
    },
    size: () => log.bytes,
    later: (ms, run) => {
      assert.strictEqual(ms, IDLE_MS)
      looks.push(run)
      return () => void looks.splice(looks.indexOf(run), 1)
    }
  })
  /** The time of a look has come. */
  const look = () => looks.shift()?.()
  return { asked, checkpoints, counts, log, look, looks, emit: (event: "message" | "exit") => listeners.get(event)?.() }
}

/** Whether a promise has resolved after all pending callbacks have run. */
const observed = (promise: Promise<unknown>) => {
  const state = { isResolved: false }
  void promise.then(() => (state.isResolved = true))
  return state
}

const settled = () => new Promise<void>((resolve) => setImmediate(resolve))

it("the thread starts with the first checkpoint, and once", () => {
  const { checkpoints, counts, emit } = scripted()
  checkpoints.wrote(WORTH_BYTES / 2)
  assert.deepStrictEqual(counts, { started: 0, asked: 0, ended: 0 })
  checkpoints.wrote(WORTH_BYTES / 2)
  assert.deepStrictEqual(counts, { started: 1, asked: 1, ended: 0 })
  emit("message")
  checkpoints.wrote(WORTH_BYTES)
  assert.deepStrictEqual(counts, { started: 1, asked: 2, ended: 0 })
})

it("many small statements are worth a checkpoint too", () => {
  const { checkpoints, counts } = scripted()
  // Each counts as a page in addition to its bytes.
  const enough = Math.ceil(WORTH_BYTES / (10 + 4_096))
  for (let n = 1; n < enough; n++) checkpoints.wrote(10)
  assert.strictEqual(counts.asked, 0)
  checkpoints.wrote(10)
  assert.strictEqual(counts.asked, 1)
})

it("SqliteClient.S5: the log is commonly half as long as SQLite's own limit of 64 MiB", () => {
  assert.deepStrictEqual([WORTH_BYTES, AHEAD_BYTES], [16 * 1_048_576, 16 * 1_048_576])
})

it("Checkpoints.C2: writes during a checkpoint count towards the next", () => {
  const { checkpoints, counts, emit } = scripted()
  checkpoints.wrote(WORTH_BYTES)
  checkpoints.wrote(WORTH_BYTES / 2)
  checkpoints.wrote(WORTH_BYTES / 4)
  assert.strictEqual(counts.asked, 1)
  emit("message")
  assert.strictEqual(counts.asked, 1)
  checkpoints.wrote(WORTH_BYTES / 4)
  assert.strictEqual(counts.asked, 2)
})

it("Checkpoints.C3: a writer that is far ahead waits for a checkpoint of all its writes", async () => {
  const { checkpoints, counts, emit } = scripted()
  assert.isFalse(checkpoints.isBehind)
  checkpoints.wrote(WORTH_BYTES)
  assert.isFalse(checkpoints.isBehind)
  checkpoints.wrote(AHEAD_BYTES)
  assert.isTrue(checkpoints.isBehind)
  const writer = observed(checkpoints.caughtUp())
  emit("message") // the checkpoint that began before
  await settled()
  assert.deepStrictEqual([writer.isResolved, counts.asked, checkpoints.isBehind], [false, 2, false])
  emit("message")
  await settled()
  assert.deepStrictEqual([writer.isResolved, counts.asked], [true, 2])
})

for (const end of ["exit", "close"] as const) {
  it(`Checkpoints.C4: without the thread no writer waits (${end})`, async () => {
    const { checkpoints, counts, emit } = scripted()
    checkpoints.wrote(WORTH_BYTES)
    checkpoints.wrote(AHEAD_BYTES)
    const writer = observed(checkpoints.caughtUp())
    if (end === "exit") emit("exit")
    else await checkpoints.close()
    await settled()
    assert.isTrue(writer.isResolved)
    checkpoints.wrote(AHEAD_BYTES)
    assert.isFalse(checkpoints.isBehind)
    assert.deepStrictEqual(counts, { started: 1, asked: 1, ended: end === "close" ? 1 : 0 })
  })
}

it("the log that a process before has left is emptied at the start, unless it is short", () => {
  assert.deepStrictEqual(scripted(KEPT_BYTES).asked, [])
  assert.deepStrictEqual(scripted(KEPT_BYTES + 1).asked, ["empty"])
})

it("the log of a burst is emptied once no statement came between two looks, and again later if another process reads", () => {
  const { asked, checkpoints, emit, log, look, looks } = scripted()
  log.bytes = KEPT_BYTES + 1
  for (let n = 0; n < 1_000; n++) checkpoints.wrote(10)
  assert.lengthOf(looks, 1)
  checkpoints.wrote(10)
  look()
  assert.deepStrictEqual(asked, [])
  look()
  assert.deepStrictEqual(asked, ["empty"])
  emit("message")
  look()
  assert.deepStrictEqual(asked, ["empty", "empty"])
  log.bytes = 0
  emit("message")
  assert.lengthOf(looks, 0)
})

it("a short log is left alone, and nothing is looked at after the end", async () => {
  const { asked, checkpoints, counts, look, looks } = scripted()
  checkpoints.wrote(10)
  look()
  assert.deepStrictEqual([asked, counts.started, looks.length], [[], 0, 0])
  checkpoints.wrote(10)
  await checkpoints.close()
  checkpoints.wrote(10)
  assert.lengthOf(looks, 0)
})
