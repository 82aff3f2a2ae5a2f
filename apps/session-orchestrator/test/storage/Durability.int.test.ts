/** Tests TurnLog.W1: kills a process that writes, and looks for its acknowledged writes. */
import { TemporaryFile } from "@holdfast/journal/testing"
import { expect } from "@effect/vitest"
import { Effect, Option, Stream } from "effect"
import { spawn } from "node:child_process"
import { once } from "node:events"
import process from "node:process"
import { fileURLToPath } from "node:url"
import * as SqlStore from "../../src/storage/sql/SqlStore.ts"
import { Store } from "../../src/storage/Store.ts"
import * as NumberedData from "./NumberedData.ts"
import * as Logged from "./Logged.ts"
import * as It from "../It.ts"

/** Set it to the seed that a failure prints, to kill at the same moment again. */
const SEED = Number(process.env.HOLDFAST_SEED ?? Math.floor(Math.random() * 1e9))

/** Enough for some commits, and sometimes for a checkpoint of the log. */
const MOST_WRITES = 6000
const KILLS = 2

/** Runs the writer until it has acknowledged some events; then kills it and returns its output. */
const killAfter = async (filename: string, events: number): Promise<ReadonlyArray<string>> => {
  const writer = spawn(process.execPath, [fileURLToPath(new URL("WriterProcess.ts", import.meta.url)), filename], {
    stdio: ["ignore", "pipe", "inherit"]
  })
  let said = ""
  let lines = 0
  writer.stdout.setEncoding("utf8").on("data", (text: string) => {
    said += text
    for (const letter of text) if (letter === "\n") lines++
    if (lines >= events) writer.kill("SIGKILL")
  })
  await once(writer, "close")
  // The text after the last newline is incomplete.
  return said.slice(0, said.lastIndexOf("\n")).split("\n")
}

for (let kill = 0; kill < KILLS; kill++) {
  const events = 1 + ((Math.imul(SEED + kill, 0x9e3779b1) >>> 0) % MOST_WRITES)
  It.live(`TurnLog.W1: after kill -9 each acknowledged write is there (seed ${SEED}, ${events} events)`, function* () {
    const filename = yield* TemporaryFile.temporaryFile
    const acknowledged = yield* Effect.promise(() => killAfter(filename, events))
    expect(acknowledged.length).toBeGreaterThanOrEqual(events)
    yield* Effect.gen(function* () {
      const store = yield* Store
      const found = new Set<string>()
      for (const of of [0, 1]) {
        const stored = yield* Stream.runCollect(Logged.after(NumberedData.conversationId(of), 0))
        expect(stored.map((event) => event.id)).toEqual(stored.map((_, index) => index + 1))
        const messages = yield* Logged.history(NumberedData.conversationId(of))
        expect(messages).toEqual(stored.flatMap(({ event }) => (event.type === "message" ? [event.message] : [])))
      }
      for (const { turnId } of yield* Logged.tail()) {
        const n = turnId.slice("turn-".length)
        const stored = yield* store.turnEvents(turnId)
        stored.forEach(({ id }, position) => found.add(`${n} ${position} ${id}`))
      }
      expect(acknowledged.filter((line) => !found.has(line))).toEqual([])
      expect(Option.isSome(yield* store.lastTurn(NumberedData.conversationId(0)))).toBe(true)
      yield* store.check
    }).pipe(Effect.provide(SqlStore.layer({ path: filename })))
  })
}
