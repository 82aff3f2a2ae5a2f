/**
 * A process that writes without a pause and prints each acknowledged write on stdout: one `turn position id` a line, after
 * the write has succeeded. Its argument is the database. It runs until it is killed.
 */
import type { TurnEvent } from "@holdfast/wire"
import { Effect } from "effect"
import process from "node:process"
import * as SqlStore from "../../src/storage/sql/SqlStore.ts"
import { Store } from "../../src/storage/Store.ts"
import * as NumberedData from "./NumberedData.ts"
import * as Logged from "./Logged.ts"

const CONVERSATIONS = 2
const TURNS = 16

/** Long, so that the file grows quickly. */
const TEXT = "A kilobyte of text. ".repeat(50)
const long = ({ message: { createdAt, id, turnId }, ...event }: TurnEvent.MessageEvent): TurnEvent.MessageEvent => ({
  ...event,
  message: { role: "user", id, turnId, createdAt, content: [{ type: "text", text: TEXT }] }
})

const write = Effect.gen(function* () {
  const store = yield* Store
  for (let of = 0; of < CONVERSATIONS; of++) yield* store.createConversation(NumberedData.conversation(of))
  yield* Effect.forEach(
    Array.from({ length: TURNS }, (_, n) => n),
    (n) =>
      Effect.gen(function* () {
        const of = n % CONVERSATIONS
        yield* Logged.accept(NumberedData.turn(n, of))
        for (let position = 0; ; position += 2) {
          const events = [NumberedData.usage(n, of, position), long(NumberedData.message(n, of, position + 1))]
          const stored = yield* Logged.append(NumberedData.turnId(n), 0, [], { events, position })
          for (const [i, { id }] of stored.entries()) process.stdout.write(`${n} ${position + i} ${id}\n`)
        }
      }),
    { concurrency: "unbounded", discard: true }
  )
})

void Effect.runPromise(Effect.provide(write, SqlStore.layer({ path: process.argv[2] ?? "" })))
