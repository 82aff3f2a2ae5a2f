/** Fakes a connection that the test controls, on the test clock. */
import { Deferred, Effect, Queue, type Scope } from "effect"
import { CallError, type ServerConnection, StartError } from "../src/Connection.ts"
import type { Offer } from "../src/Offers.ts"

export const offer = (name: string): Offer => ({ name, description: undefined, inputSchema: { type: "object" } })

/** One run of a server: from a successful start to its end. */
export class Life {
  tools: ReadonlyArray<Offer>
  /** The outcomes of calls. */
  answers: Effect.Effect<string, CallError> = Effect.succeed("done")
  pong: Effect.Effect<void, CallError> = Effect.void
  pings = 0
  lists = 0
  isClosed = false
  private readonly lost = Deferred.makeUnsafe<string>()
  private changed: Queue.Queue<void> | undefined = undefined

  constructor(...tools: ReadonlyArray<string>) {
    this.tools = tools.map(offer)
  }

  dies(why: string): Effect.Effect<unknown> {
    return Deferred.succeed(this.lost, why)
  }

  /** Reports that its list of tools has changed. */
  get changes(): Effect.Effect<unknown> {
    return Effect.suspend(() => (this.changed === undefined ? Effect.void : Queue.offer(this.changed, undefined)))
  }

  get begin(): Effect.Effect<ServerConnection, never, Scope.Scope> {
    return Effect.gen({ self: this }, function* () {
      yield* Effect.addFinalizer(() => Effect.sync(() => void (this.isClosed = true)))
      const changed = yield* Queue.sliding<void>(1)
      this.changed = changed
      return {
        list: Effect.sync(() => {
          this.lists++
          return { tools: this.tools, isCut: false }
        }),
        call: () =>
          this.orLost(
            Effect.map(
              Effect.suspend(() => this.answers),
              (text) => ({ content: [{ type: "text" as const, text }] })
            )
          ),
        ping: Effect.suspend(() => {
          this.pings++
          return this.orLost(this.pong)
        }),
        changed,
        doubts: yield* Queue.sliding<void>(1),
        lost: Deferred.await(this.lost)
      }
    })
  }

  private orLost<A>(effect: Effect.Effect<A, CallError>): Effect.Effect<A, CallError> {
    const lost = Deferred.await(this.lost)
    return Effect.raceFirst(
      effect,
      Effect.flatMap(lost, (message) => new CallError({ message, isRefusal: false }))
    )
  }
}

/** Starts, one after another: each succeeds, fails with a message, or never ends. After the last one a start never ends. */
export const connect = (
  starts: ReadonlyArray<Life | string | "never">
): Effect.Effect<ServerConnection, StartError, Scope.Scope> => {
  let next = 0
  return Effect.suspend(() => {
    const start = starts[next++] ?? "never"
    if (start === "never") return Effect.never
    return typeof start === "string" ? new StartError({ message: start }) : start.begin
  })
}
