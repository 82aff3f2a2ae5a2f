/**
 * Lets a timer answer a pull that waits, without a race for each message: a race costs more than the message.
 *
 * AnswerablePull.A1. No value is lost: when a timer answers first, the next pull returns what this pull waited for.
 * AnswerablePull.A2. A push of the source (`Push`) is used while it has one: then a message takes no fiber.
 */
import { Push } from "@holdfast/kernel/host"
import { type Cause, Effect, type Fiber, type Pull, type Scope } from "effect"

/** A pull that a timer can answer. */
export class AnswerablePull<A, E, Done> {
  private readonly source: Pull.Pull<A, E, Done>
  private readonly scope: Scope.Scope
  /** The pull of the source that no message has ended yet. */
  private running: Fiber.Fiber<A, E | Cause.Done<Done>> | undefined = undefined
  private settle: ((result: Pull.Pull<A, E, Done>) => void) | undefined = undefined

  /** @param scope ends the pull of the source */
  constructor(source: Pull.Pull<A, E, Done>, scope: Scope.Scope) {
    this.source = source
    this.scope = scope
  }

  /** Whether a consumer waits for a message. */
  get isWaiting(): boolean {
    return this.settle !== undefined
  }

  /** Answers the consumer that waits, if one does. */
  answer(result: Pull.Pull<A, E, Done>): void {
    this.settle?.(result)
  }

  /** The next message of the source, or the answer of a timer that comes first. */
  readonly next: Pull.Pull<A, E, Done> = Effect.suspend((): Pull.Pull<A, E, Done> => {
    if (this.running !== undefined) return this.joined(this.running)
    const push = Push.of(this.source)
    if (push !== undefined) return this.pushed(push)
    return Effect.andThen(this.begin, this.next)
  })

  /** Starts the pull of the source ahead of the consumer. */
  readonly begin: Effect.Effect<void> = Effect.suspend(() =>
    Effect.map(Effect.forkIn(this.source, this.scope, { startImmediately: true }), (fiber) => {
      this.running = fiber
    })
  )

  private joined(fiber: Fiber.Fiber<A, E | Cause.Done<Done>>): Pull.Pull<A, E, Done> {
    return this.settled((settle) =>
      fiber.addObserver((exit) => {
        this.running = undefined
        settle(exit)
      })
    )
  }

  private pushed(push: Push.Push<A>): Pull.Pull<A, E, Done> {
    return this.settled((settle) =>
      push(
        (value) => {
          settle(Effect.succeed(value))
          return false
        },
        () => settle(this.next)
      )
    )
  }

  /** @param wait registers for the result, which may come at once, and returns what unregisters */
  private settled(wait: (settle: (result: Pull.Pull<A, E, Done>) => void) => () => void): Pull.Pull<A, E, Done> {
    return Effect.callback<A, E | Cause.Done<Done>>((resume) => {
      let leave: (() => void) | undefined = undefined
      const settle = (result: Pull.Pull<A, E, Done>): void => {
        if (this.settle !== settle) return
        this.settle = undefined
        leave?.()
        resume(result)
      }
      this.settle = settle
      leave = wait(settle)
      return Effect.sync(() => {
        this.settle = undefined
        leave?.()
      })
    })
  }
}
