import { assert, it } from "@effect/vitest"
import { AHEAD_BYTES, Checkpoints, type Thread, WORTH_BYTES } from "../../../src/storage/sqlite/Checkpoints.ts"

/** A thread that does what the test says. */
const scripted = () => {
  const listeners = new Map<string, () => void>()
  const counts = { started: 0, asked: 0, ended: 0 }
  const thread: Thread = {
    postMessage: () => void counts.asked++,
    on: (event, listener) => listeners.set(event, listener),
    unref: () => {},
    terminate: async () => void counts.ended++
  }
  const checkpoints = new Checkpoints("file", () => {
    counts.started++
    return thread
  })
  return { checkpoints, counts, emit: (event: "message" | "exit") => listeners.get(event)?.() }
}

/** Whether a promise has resolved when all that was to happen has happened. */
const observed = (promise: Promise<unknown>) => {
  const state = { isResolved: false }
  void promise.then(() => (state.isResolved = true))
  return state
}

const settled = () => new Promise<void>((resolve) => setImmediate(resolve))

it("Checkpoints.C1: the thread starts when there is something for it to do, and once", () => {
  const { checkpoints, counts, emit } = scripted()
  checkpoints.wrote(WORTH_BYTES / 2)
  assert.deepStrictEqual(counts, { started: 0, asked: 0, ended: 0 })
  checkpoints.wrote(WORTH_BYTES / 2)
  assert.deepStrictEqual(counts, { started: 1, asked: 1, ended: 0 })
  emit("message")
  checkpoints.wrote(WORTH_BYTES)
  assert.deepStrictEqual(counts, { started: 1, asked: 2, ended: 0 })
})

it("Checkpoints.C1: many small statements are worth a checkpoint too", () => {
  const { checkpoints, counts } = scripted()
  // Each counts as a page besides what it writes.
  const enough = Math.ceil(WORTH_BYTES / (10 + 4_096))
  for (let n = 1; n < enough; n++) checkpoints.wrote(10)
  assert.strictEqual(counts.asked, 0)
  checkpoints.wrote(10)
  assert.strictEqual(counts.asked, 1)
})

it("SqliteClient.S5: the log is commonly half as long as SQLite's own limit of 64 MiB", () => {
  assert.deepStrictEqual([WORTH_BYTES, AHEAD_BYTES], [16 * 1_048_576, 16 * 1_048_576])
})

it("Checkpoints.C2: what is written during a checkpoint counts towards the next one", () => {
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

it("Checkpoints.C3: a writer that is far ahead waits for a checkpoint of all that it wrote", async () => {
  const { checkpoints, counts, emit } = scripted()
  assert.isFalse(checkpoints.isBehind)
  checkpoints.wrote(WORTH_BYTES)
  assert.isFalse(checkpoints.isBehind)
  checkpoints.wrote(AHEAD_BYTES)
  assert.isTrue(checkpoints.isBehind)
  const writer = observed(checkpoints.caughtUp())
  emit("message") // the one that began before
  await settled()
  assert.deepStrictEqual([writer.isResolved, counts.asked, checkpoints.isBehind], [false, 2, false])
  emit("message")
  await settled()
  assert.deepStrictEqual([writer.isResolved, counts.asked], [true, 2])
})

for (const end of ["exit", "close"] as const) {
  it(`Checkpoints.C4: without the thread nobody waits (${end})`, async () => {
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
