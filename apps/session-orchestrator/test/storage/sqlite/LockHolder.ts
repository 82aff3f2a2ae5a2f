/**
 * A process that owns a database and prints that on stdout, until it is killed; if it is refused it prints the reason and exits with 1.
 * Its argument is the database.
 */
import { Effect, Layer } from "effect"
import process from "node:process"
import * as Tenancy from "../../../src/storage/sqlite/Tenancy.ts"

const [path = ""] = process.argv.slice(2)

const stay = Effect.gen(function* () {
  process.stdout.write("owns\n")
  return yield* Effect.never
})

const layer = Tenancy.layerOwner(path, "http://127.0.0.1:4747")

// A fiber that waits for nothing keeps no process alive.
setInterval(() => {}, 60_000)

void Effect.runPromise(
  Effect.scoped(Effect.flatMap(Layer.build(layer), (context) => Effect.provide(stay, context))).pipe(
    Effect.catch(({ message }) => Effect.sync(() => process.stderr.write(`${message}\n`, () => process.exit(1))))
  )
)
