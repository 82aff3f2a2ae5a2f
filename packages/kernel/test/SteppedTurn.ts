/**
 * Runs a turn by `Engine.step` over a log of records and events: a shell as small as it can be.
 *
 * One fiber takes the inputs; commands that take time run in fibers of their own.
 */
import type { TurnEvent } from "@holdfast/wire"
import { Context, Deferred, Duration, Effect, Fiber, Queue } from "effect"
import * as Clock from "effect/Clock"
import * as Random from "effect/Random"
import { kindOf } from "../src/engine/Commands.ts"
import * as Engine from "../src/engine/Engine.ts"
import * as Performer from "../src/engine/Performer.ts"
import { Compactor } from "../src/ports/Compactor.ts"
import { EventSink } from "../src/ports/EventSink.ts"
import { FinalReport } from "../src/ports/FinalReport.ts"
import { notify, Observer } from "../src/ports/Observer.ts"
import { Provider } from "../src/ports/Provider.ts"
import { RetryStrategy, SleepFailure, type Wake } from "../src/ports/RetryStrategy.ts"
import { Router } from "../src/ports/Router.ts"
import { Toolbox } from "../src/ports/Toolbox.ts"
import type { TurnStopped } from "../src/ports/TurnStopped.ts"
import * as Records from "../src/records/Records.ts"
import type { TurnInput } from "../src/turn/Turn.ts"

/** The log of a turn. */
export interface Log {
  readonly records: ReadonlyArray<Records.Stored>
  readonly persisted: ReadonlyArray<TurnEvent.PersistedEvent>
  /** Writes an append; the events of it are not published yet. */
  readonly append: (append: Engine.Append) => Effect.Effect<void, TurnStopped>
}

/** Runs a turn to its seal. */
export const run = (
  services: Context.Context<Provider | Toolbox | EventSink>,
  { abort = Effect.never, life = "l1", ...facts }: TurnInput,
  log: Log
): Effect.Effect<TurnEvent.TurnEnd, TurnStopped> =>
  Effect.gen(function* () {
    const clock = yield* Clock.Clock
    const random = yield* Random.Random
    const sink = Context.get(services, EventSink)
    const strategy = Context.getOrUndefined(services, RetryStrategy)
    const observer = Context.getOrUndefined(services, Observer)
    const ports: Performer.Ports = {
      provider: Context.get(services, Provider),
      toolbox: Context.get(services, Toolbox),
      sink,
      strategy,
      router: Context.getOrUndefined(services, Router),
      compactor: Context.getOrUndefined(services, Compactor),
      now: () => clock.currentTimeMillisUnsafe(),
      draw: () => random.nextDoubleUnsafe()
    }
    const report = Context.getOrUndefined(services, FinalReport)
    const inputs = yield* Queue.unbounded<Engine.Input>()
    const fibers = new Set<Fiber.Fiber<unknown, unknown>>()
    let state = Engine.make({
      facts: { ...facts, report, maxRetries: strategy?.budget.maxRetries },
      life,
      strategy,
      toolbox: ports.toolbox,
      hasRouter: ports.router !== undefined,
      hasCompactor: ports.compactor !== undefined,
      observer
    })
    let content: Performer.Content | undefined
    let release: Deferred.Deferred<void> | undefined
    const fork = (work: Effect.Effect<Engine.Input, TurnStopped>) =>
      Effect.map(
        Effect.forkScoped(
          Effect.flatMap(
            Effect.catch(work, (error) => Effect.succeed<Engine.Input>({ _tag: "Refused", error })),
            (input) => Queue.offer(inputs, input)
          ),
          { startImmediately: true }
        ),
        (fiber) => {
          fibers.add(fiber)
          fiber.addObserver(() => fibers.delete(fiber))
        }
      )
    /** No abort interrupts it. */
    const append = (append: Engine.Append) =>
      Effect.forkScoped(
        Effect.matchEffect(log.append(append), {
          onFailure: (error) => Queue.offer(inputs, { _tag: "Refused", error }),
          onSuccess: () => {
            publish(sink, append)
            return Queue.offer(inputs, { _tag: "Appended" })
          }
        }),
        { startImmediately: true }
      )
    const performed = (command: Engine.Command): Effect.Effect<Engine.Input, TurnStopped> => {
      const mark = Deferred.makeUnsafe<void>()
      release = mark
      const marked = Effect.andThen(Queue.offer(inputs, { _tag: "FirstContent" }), Deferred.await(mark))
      content = command._tag === "Call" ? Performer.contentOf(command.request) : undefined
      const call = { life, content: content ?? Performer.contentOf({}), mark: marked }
      return Effect.map(Performer.resultOf(ports, state.ledger, command, call), (value) => ({
        _tag: "Done",
        record: Records.recordOf(kindOf(command), command, value)
      }))
    }
    const slept = ({ awaited, calls, leftMs }: Engine.Sleep): Effect.Effect<Engine.Input, TurnStopped> =>
      (strategy?.sleep(Duration.millis(leftMs), awaited, calls) ?? Effect.never).pipe(
        Effect.map((wake: Wake | void): Engine.Input => {
          if (!wake || wake.type === "elapsed") return { _tag: "Due" }
          if (wake.type === "asked") throw new Error("only the kernel asks")
          return { _tag: "Steered", wake }
        }),
        Effect.catch((error) => {
          if (error._tag === "TurnStopped") return Effect.fail(error)
          if (error._tag === "TurnParked") return Effect.die(error)
          const { message } = error instanceof SleepFailure ? error : { message: "parked" }
          const failure = { reason: "unknown", message, retryable: false } as const
          return Effect.succeed<Engine.Input>({ _tag: "Cut", status: "failed", failure })
        })
      )
    yield* fork(
      Effect.as(abort, {
        _tag: "Cut",
        status: "aborted",
        failure: { reason: "aborted", message: "Aborted by the user.", retryable: false }
      } as const)
    )
    const [aborting] = fibers
    if (aborting !== undefined) fibers.delete(aborting)
    const persisted = log.persisted.map(({ type }) => type)
    yield* Queue.offer(inputs, { _tag: "Begin", known: log.records.slice(), persisted })
    for (;;) {
      let input = yield* Queue.take(inputs)
      if (input._tag === "Cut" && input.status === "aborted") {
        yield* Fiber.interruptAll(fibers)
        if (content !== undefined) input = { ...input, said: Performer.underWayOf(content) }
      }
      const isOpen = state.pending !== undefined && input._tag !== "Appended"
      const [next, effects] = Engine.step(state, input, ports.now())
      state = next
      const leaving = effects.slice(isOpen ? 0 : effects.findIndex(({ _tag }) => _tag === "Append") + 1)
      // Engine.E1: an observation is no part of the turn.
      if ((isOpen || next.pending !== undefined) && leaving.some(({ _tag }) => _tag !== "Observe" && _tag !== "Stop"))
        throw new Error(`${leaving.map(({ _tag }) => _tag).join()} left before an append was on disk`)
      if (input._tag === "Done") content = undefined
      for (const effect of effects) {
        switch (effect._tag) {
          case "Append":
            yield* append(effect)
            break
          case "Live":
            sink.live(effect.event)
            break
          case "Observe":
            notify(observer, effect.kind, effect.observation)
            break
          case "Start":
            yield* fork(performed(effect.command))
            break
          case "Sleep":
            yield* fork(slept(effect))
            break
          case "Release":
            if (release !== undefined) Deferred.doneUnsafe(release, Effect.void)
            break
          case "Repeat":
            break
          case "Stop":
            return yield* Effect.fail(effect.error)
          case "Sealed":
            return effect.end
          default:
            return effect satisfies never
        }
      }
    }
  }).pipe(Effect.scoped)

// --- internal

const publish = (sink: EventSink["Service"], { events, position }: Engine.Append): void => {
  const [first, ...rest] = events
  if (first !== undefined) Effect.runSync(sink.persist([first, ...rest], position))
}
