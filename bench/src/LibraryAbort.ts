/**
 * How long an abort of the library `holdfast` takes while the turn waits: from `turn.abort()` to its sealed result.
 *
 * All turns of a store wait for hours; they are aborted one after the other, in one process. The bare limit is one write to the same store.
 */
import { holdfast, memoryStore, type Store, type Turn } from "holdfast"
import { sqliteStore } from "holdfast/sqlite"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as FigureTable from "./FigureTable.ts"

const TURNS = Number(process.env["HOLDFAST_BENCH_ABORTS"] ?? 500)

/** Of the 99th of 100 turns. */
const AIM_MS = 50

/** Runs the benchmark and prints it. */
export const run = async (): Promise<void> => {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-bench-"))
  const sqlite = sqliteStore(join(folder, "turns.db"))
  try {
    const stores: ReadonlyArray<readonly [string, Store]> = [
      ["memory", memoryStore()],
      ["SQLite, each write synced", sqlite]
    ]
    const rows: Array<FigureTable.Row> = []
    for (const [what, store] of stores) {
      const { bare, times } = await measure(store)
      for (const [name, q] of [
        ["p50", 0.5],
        ["p99", 0.99]
      ] as const)
        rows.push({
          what: `${what}: ${name}`,
          holdfast: FigureTable.quantile(times, q),
          bare: FigureTable.quantile(bare, q),
          unit: "ms",
          aim: name === "p99" ? { atMost: AIM_MS, of: "figure" } : undefined
        })
    }
    FigureTable.print(`Abort of the library in a wait: ${TURNS} turns, beside one write to the store`, rows)
  } finally {
    sqlite.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

// --- internal

const measure = async (store: Store) => {
  const hf = holdfast({
    model: () => {
      throw Object.assign(new Error("Overloaded"), { status: 529 })
    },
    retry: { schedule: { type: "steps", delays: ["3 hours"], tail: "3 hours" } },
    store
  })
  const turns = await Promise.all(Array.from({ length: TURNS }, () => waiting(hf.turn("Are you there?"))))
  const bare: Array<number> = []
  const times: Array<number> = []
  for (const [n, turn] of turns.entries()) {
    const before = performance.now()
    await store.put(`bare/${n}`, "{}")
    bare.push(performance.now() - before)
    const asked = performance.now()
    turn.abort()
    const { status } = await turn.result
    times.push(performance.now() - asked)
    if (status !== "aborted") throw new Error(`a turn is ${status}`)
  }
  return { bare, times }
}

const waiting = async (turn: Turn): Promise<Turn> => {
  for await (const { type } of turn) if (type === "provider-retry") break
  return turn
}
