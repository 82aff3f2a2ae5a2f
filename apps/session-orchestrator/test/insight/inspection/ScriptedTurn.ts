/**
 * Runs a real turn for tests, with a scripted provider and a test clock.
 *
 * Kernel, policy, journal and store are those of the service.
 */
import { JournalCheckpoint } from "@holdfast/journal"
import {
  Checkpoint,
  EventSink,
  Provider,
  Records,
  RetryStrategy,
  Toolbox,
  Turn,
  type TurnLimits,
  TurnStopped
} from "@holdfast/kernel"
import type { ScriptedProvider } from "@holdfast/kernel/testing"
import { Profile, RetryStrategies } from "@holdfast/policy"
import { defined, Ids, type TurnExplanation } from "@holdfast/wire"
import { Clock, Deferred, Duration, Effect, Exit, Latch, Layer, Semaphore, Stream } from "effect"
import { TestClock } from "effect/testing"
import { Config, type Values } from "../../../src/config/Config.ts"
import * as Secrets from "../../../src/config/redaction/Secrets.ts"
import * as StoredTurns from "../../../src/insight/inspection/StoredTurns.ts"
import * as TurnLog from "../../../src/storage/TurnLog.ts"
import * as MemoryStore from "../../storage/MemoryStore.ts"
import { Store } from "../../../src/storage/Store.ts"
import * as Logged from "../../storage/Logged.ts"
import * as It from "../../It.ts"

export const conversationId = Ids.ConversationId.make("nightly")
export const turnId = Ids.TurnId.make("t1")

/** A turn to run. */
export interface Plan {
  readonly scripts: ReadonlyArray<ScriptedProvider.Script>
  readonly retry?: Profile.RetrySettings
  readonly toolbox?: Toolbox.Toolbox["Service"]
  readonly limits?: TurnLimits.TurnLimits
  /** Further services of the turn. */
  readonly services?: Layer.Layer<never, never, Provider.Provider>
  /** Its process dies, once, after the work that is recorded under this name and before the record. */
  readonly diesBefore?: string
  /** The time of its acceptance. */
  readonly startedAt?: string
  /** No client receives its content (rule X7). */
  readonly isUnseen?: boolean
  /** Whether it has a strategy (rule D9). */
  readonly isPatient?: boolean
  /** The service's wrapper of a strategy. */
  readonly strategy?: (strategy: RetryStrategy.RetryStrategy["Service"]) => RetryStrategy.RetryStrategy["Service"]
}

/** The actions on a running turn. */
export interface Hand {
  /** Lets time pass. */
  readonly pass: (duration: Duration.Duration) => Effect.Effect<void>
  /** Steers the wait in progress. */
  readonly wake: (wake: RetryStrategy.Wake) => Effect.Effect<void>
  readonly abort: Effect.Effect<void>
  /** The explanation of the turn as it is now. */
  readonly explain: Effect.Effect<TurnExplanation.TurnExplanation>
}

/** Keeps all records for one test. */
const layer = Layer.provideMerge(
  StoredTurns.layer,
  Layer.mergeAll(
    MemoryStore.layer,
    Layer.succeed(Secrets.Secrets, Secrets.shapes),
    Layer.succeed(Config, { prices: {} } as unknown as Values)
  )
)

/** Declares a test of such a turn. */
export const test = It.within(layer)

/** The origin of a test's commands. */
export const by = { commandId: "k1", origin: "HTTP from 127.0.0.1" }

/** Accepts a turn, runs it while `live` acts on it, and returns its explanation afterwards. */
export const happened = Effect.fnUntraced(function* (
  plan: Plan,
  live: (hand: Hand) => Effect.Effect<unknown> = ({ pass }) => pass(Duration.days(1))
) {
  const startedAt = Date.parse(plan.startedAt ?? "2031-04-01T22:58:00Z")
  yield* TestClock.setTime(startedAt)
  const store = yield* Store
  const { explain: explainTurn } = yield* StoredTurns.StoredTurns
  const explain = Effect.orDie(explainTurn(conversationId, turnId))
  yield* store.createConversation({
    conversationId,
    model: "anthropic/claude-sonnet-4-5",
    system: undefined,
    retry: undefined,
    autoRetryEnabled: true,
    createdAt: startedAt
  })
  yield* Logged.accept({ turnId, conversationId, prompt: "Hello", acceptedAt: startedAt })

  const night = new SleepClock()
  const abort = Deferred.makeUnsafe<void>()
  const turn = Effect.ensuring(turnOf(plan, startedAt, Deferred.await(abort), night), Effect.sync(night.quieten))
  const fiber = yield* Effect.forkChild(turn, { startImmediately: true })
  const act = (action: Effect.Effect<unknown>) =>
    Effect.andThen(Effect.andThen(night.quiet, Effect.sync(night.disturb)), Effect.andThen(action, night.quiet))
  yield* night.quiet
  yield* live({
    pass: (duration) => night.pass(Duration.toMillis(duration)),
    wake: (wake) => act(Effect.suspend(() => Deferred.succeed(night.command, wake))),
    abort: act(Deferred.succeed(abort, undefined)),
    explain
  })
  const exit = fiber.pollUnsafe()
  if (exit !== undefined && Exit.isFailure(exit)) yield* exit
  return yield* explain
})

/** Yields some events, then never ends. */
export const hangs = (...before: ReadonlyArray<Provider.ProviderEvent>): ScriptedProvider.Script => ({
  reads: [before],
  end: Effect.never
})

// --- internal

/** The clock of a turn: it advances only while the turn sleeps, to the end of each sleep in turn. */
class SleepClock {
  command = Deferred.makeUnsafe<RetryStrategy.Wake>()
  private endsAt: number | undefined
  private isHanging = false
  private readonly latch = Latch.makeUnsafe(false)

  /** Waits until the turn cannot continue by itself: it sleeps, it hangs, or it has ended. */
  get quiet(): Effect.Effect<void> {
    return this.latch.await
  }

  readonly quieten = (): void => void this.latch.openUnsafe()

  readonly hang = Effect.suspend(() => {
    this.isHanging = true
    this.quieten()
    return Effect.never
  })

  readonly disturb = (): void => {
    if (this.endsAt !== undefined || this.isHanging) this.latch.closeUnsafe()
    this.endsAt = undefined
  }

  readonly sleep: RetryStrategies.Sleep = (delay) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      this.command = Deferred.makeUnsafe()
      this.endsAt = now + Duration.toMillis(delay)
      this.quieten()
      return Deferred.await(this.command)
    })

  pass(ms: number): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      const until = (yield* Clock.currentTimeMillis) + ms
      for (;;) {
        yield* this.quiet
        const { endsAt } = this
        if (endsAt === undefined || endsAt > until) return yield* TestClock.setTime(until)
        this.disturb()
        yield* TestClock.setTime(endsAt)
        yield* Deferred.succeed(this.command, { type: "elapsed" })
      }
    })
  }
}

/** The turn, run again after its process has died. */
const turnOf = Effect.fnUntraced(function* (
  plan: Plan,
  startedAt: number,
  abort: Effect.Effect<void>,
  night: SleepClock
) {
  const log = yield* TurnLog.TurnLog
  const policy = Profile.resolve(plan.retry)
  const made = RetryStrategies.make(policy, night.sleep)
  const strategy = plan.strategy?.(made) ?? made
  let requests = 0
  let isDead = false
  const provider = {
    stream: () => {
      const script = plan.scripts[requests++]
      if (script === undefined) return Stream.die(new Error(`attempt ${requests} was not scripted`))
      const reads = script.reads.map((events) => Stream.fromIterable(events))
      const end = script.end === Effect.never ? night.hang : script.end
      return Stream.concat(Stream.flatten(Stream.fromIterable(reads)), Stream.drain(Stream.fromEffect(end)))
    }
  }
  const life = Effect.gen(function* () {
    const known = yield* Effect.orDie(log.load(turnId))
    const checkpoint = JournalCheckpoint.over(
      {
        append: (turnId, seq, record) =>
          inOrder(
            TurnLog.one(log, { conversationId, turnId, seq, records: [Logged.named(record)], events: [], position: 0 })
          )
      },
      turnId,
      known
    )
    const mortal: Checkpoint.Checkpoint["Service"] = {
      ...checkpoint,
      run: (name, schema, effect) => {
        if (name === SEAL) return effect // the turn's last event has it
        return checkpoint.run(
          name,
          schema,
          Effect.tap(effect, () => {
            if (name !== plan.diesBefore || isDead) return Effect.void
            isDead = true
            return Effect.fail(new TurnStopped.TurnStopped({ message: "killed" }))
          })
        )
      }
    }
    return yield* Turn.runTurn({
      conversationId,
      turnId,
      target: { provider: "anthropic", model: "claude-sonnet-4-5" },
      history: [],
      prompt: "Hello",
      startedAt,
      abort,
      ...defined({ limits: plan.limits })
    }).pipe(
      Effect.provide(
        Layer.mergeAll(
          Layer.succeed(Provider.Provider, provider),
          Layer.provide(plan.services ?? Layer.empty, Layer.succeed(Provider.Provider, provider)),
          Layer.succeed(EventSink.EventSink, sinkOf(log, plan)),
          Layer.succeed(Checkpoint.Checkpoint, mortal),
          plan.toolbox === undefined ? Toolbox.layerNoop : Layer.succeed(Toolbox.Toolbox, plan.toolbox),
          plan.isPatient === false ? Layer.empty : Layer.succeed(RetryStrategy.RetryStrategy, strategy)
        )
      )
    )
  })
  // A process is started again a minute later.
  return yield* Effect.catch(life, () => Effect.andThen(night.sleep(Duration.minutes(1)), life))
})

const SEAL = Records.nameOf("Seal", 0)

/** Tool calls that run at once write one after the other, each behind all records. */
const inOrder = Semaphore.makeUnsafe(1).withPermits(1)

const sinkOf = (log: TurnLog.TurnLog["Service"], { isUnseen = false }: Plan): EventSink.EventSink["Service"] => ({
  live: () => {},
  withdraw: () => isUnseen,
  persist: (events, position) =>
    inOrder(Effect.orDie(Effect.provideService(Logged.events(turnId, events, position), TurnLog.TurnLog, log)))
})
