/**
 * The thread of a database, over a `node:sqlite` that halts or lies when it is told to. `Unruly.ts` tells it.
 *
 * Its one word of shared memory says what is to happen at the next commit or read, and then that it happens.
 */
import { createRequire } from "node:module"
import { workerData } from "node:worker_threads"
import * as Trouble from "./Trouble.ts"

const word = new Int32Array(workerData)
const { StatementSync } = createRequire(import.meta.url)("node:sqlite")
const { all, run } = StatementSync.prototype

/** Stands still, if that is what is wanted, until somebody lets it go on. */
const halt = (trouble: number) => {
  if (Atomics.compareExchange(word, 0, trouble, Trouble.HALTED) !== trouble) return
  Atomics.notify(word, 0)
  Atomics.wait(word, 0, Trouble.HALTED)
}

StatementSync.prototype.run = function (...values: ReadonlyArray<unknown>) {
  if (this.sourceSQL !== "COMMIT") return run.apply(this, values)
  halt(Trouble.BEFORE_COMMIT)
  const result = run.apply(this, values)
  halt(Trouble.AFTER_COMMIT)
  return result
}

StatementSync.prototype.all = function (...values: ReadonlyArray<unknown>) {
  if (Atomics.compareExchange(word, 0, Trouble.NO_ROWS, Trouble.NONE) === Trouble.NO_ROWS) return undefined
  return all.apply(this, values)
}

await import("../../../src/storage/thread/main.ts")
