/**
 * The thread of the database: it opens one, does with it what it is asked, and closes it.
 *
 * U1. Calls are begun in the order in which they were made, so a turn's writes are queued in that order.
 * U2. What has been done in one turn of the event loop is answered in one message.
 * U3. Closing finishes the writes that were queued (`GroupCommit`), then the thread ends. A bug outside of any call ends it at once.
 */
import { Cause, Context, Effect, Exit, Fiber, Layer, Result, Scope } from "effect"
import { parentPort } from "node:worker_threads"
import { Journal } from "../Journal.ts"
import * as SqlStore from "../SqlStore.ts"
import { Standings } from "../Standings.ts"
import { Store } from "../Store.ts"
import * as Calls from "./Calls.ts"
import { type Items, Reader } from "./Items.ts"
import { type Command, DIED, DONE, FAILED, type Report } from "./Messages.ts"

const port = parentPort
if (port === null) throw new Error("This is no program of its own: DatabaseThread.ts starts it")

const scope = Scope.makeUnsafe()
let opening: Fiber.Fiber<void> | undefined
let ports: Calls.Ports | undefined
let answers: Items = []

const report = (what: Report): void => port.postMessage(what)

const answer = (id: number, outcome: number, put: (items: Items) => void): void => {
  if (answers.length === 0) {
    setImmediate(() => {
      const items = answers
      answers = []
      report({ _tag: "Answers", items })
    })
  }
  answers.push(id, outcome)
  put(answers)
}

const end = Effect.andThen(
  Scope.close(scope, Exit.void),
  Effect.sync(() => port.close())
)

const open = (path: string): Effect.Effect<void> =>
  Layer.buildWithScope(SqlStore.layer({ path }), scope).pipe(
    Effect.matchEffect({
      onSuccess: (context) =>
        Effect.sync(() => {
          ports = {
            store: Context.get(context, Store),
            journal: Context.get(context, Journal),
            standings: Context.get(context, Standings)
          }
          report({ _tag: "Opened" })
        }),
      onFailure: ({ message }) =>
        Effect.andThen(
          Effect.sync(() => report({ _tag: "Refused", message })),
          end
        )
    })
  )

const serve = (ports: Calls.Ports, items: Items): void => {
  const reader = new Reader(items)
  while (!reader.isAtEnd) {
    const id = reader.next<number>()
    const call = Calls.all[reader.next<number>()]
    if (call === undefined) throw new Error("Something was asked that is no call")
    Effect.runFork(
      Effect.matchCause(call(ports, reader), {
        onSuccess: (put) => answer(id, DONE, put),
        onFailure: (cause) =>
          Result.match(Cause.findError(cause), {
            onSuccess: ({ message }) => answer(id, FAILED, (items) => items.push(message)),
            onFailure: (bug) => answer(id, DIED, (items) => items.push(Cause.pretty(bug)))
          })
      })
    ) // U1
  }
}

port.on("message", (command: Command) => {
  switch (command._tag) {
    case "Open":
      opening = Effect.runFork(open(command.path))
      return
    case "Calls":
      if (ports === undefined) throw new Error("Something was asked before the database was open")
      return serve(ports, command.items)
    case "Close":
      Effect.runFork(Effect.andThen(opening === undefined ? Effect.void : Fiber.interrupt(opening), end))
      return
    default:
      return command satisfies never
  }
})
