/**
 * Runs commands side by side, and those of one key one after the other.
 *
 * CommandOrder.O1. Commands of one key run in the order in which they came.
 * CommandOrder.O2. At most `most` commands are under way; a further one waits to be accepted, so that its socket is not read on.
 */
import { Effect, FiberSet, type Scope, Semaphore } from "effect"

interface Queue {
  readonly oneAtATime: Semaphore.Semaphore
  commands: number
}

/** The commands of one socket. */
export interface CommandOrder {
  /** Accepts a command; returns as soon as it is accepted, and its place in the order is fixed. */
  readonly accept: (key: string, command: Effect.Effect<void>) => Effect.Effect<void>
  /** Waits until no command is under way. */
  readonly idle: Effect.Effect<void>
}

/** Makes an order whose commands end with the scope. */
export const make = (most: number): Effect.Effect<CommandOrder, never, Scope.Scope> =>
  Effect.map(FiberSet.make<void>(), (fibers) => {
    const room = Semaphore.makeUnsafe(most)
    const queues = new Map<string, Queue>()
    const queued = (key: string, command: Effect.Effect<void>): Effect.Effect<void> => {
      const queue = queues.get(key) ?? { oneAtATime: Semaphore.makeUnsafe(1), commands: 0 }
      queues.set(key, queue)
      queue.commands++
      return Effect.ensuring(
        queue.oneAtATime.withPermits(1)(command), // CommandOrder.O1
        Effect.sync(() => {
          queue.commands--
          if (queue.commands === 0) queues.delete(key)
        })
      )
    }
    return {
      // CommandOrder.O2
      accept: (key, command) =>
        Effect.andThen(
          room.take(1),
          Effect.asVoid(
            Effect.suspend(() =>
              FiberSet.run(fibers, Effect.ensuring(queued(key, command), room.release(1)), { startImmediately: true })
            )
          )
        ),
      idle: FiberSet.awaitEmpty(fibers)
    }
  })
