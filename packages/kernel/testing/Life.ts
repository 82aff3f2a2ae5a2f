/**
 * Runs a turn and records a log, so that tests can restart it at any entry.
 *
 * Life.L1. After a death only the records and the persisted events that were written before it remain (`diskOf`).
 * Life.L2. A life runs to the turn's seal. A test simulates a death: it cuts the log, and begins the next life on the rest.
 * Life.L3. A log covers all lives until then, so it has what clients received and tools did across every death.
 */
import { defined, Ids, type Message, type TurnEvent } from "@holdfast/wire"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { TestClock } from "effect/testing"
import { Checkpoint } from "../src/ports/Checkpoint.ts"
import { EventSink } from "../src/ports/EventSink.ts"
import { Provider, type ProviderRequest } from "../src/ports/Provider.ts"
import { RetryStrategy, type Spent, type Wake } from "../src/ports/RetryStrategy.ts"
import { Toolbox, type ToolDefinition } from "../src/ports/Toolbox.ts"
import * as Turn from "../src/turn/Turn.ts"
import { RecordingSink } from "./RecordingSink.ts"
import * as ScriptedProvider from "./ScriptedProvider.ts"

type What =
  | { readonly _tag: "Record"; readonly name: string; readonly value: unknown }
  /** One write: all of its events are on disk, or none. */
  | { readonly _tag: "Persist"; readonly events: ReadonlyArray<TurnEvent.PersistedEvent> }
  | { readonly _tag: "Live"; readonly event: TurnEvent.TransientEvent }
  | { readonly _tag: "Tool"; readonly toolCallId: string }
  /** The strategy was asked for the next delay. */
  | { readonly _tag: "Asked"; readonly attempt: number; readonly spent: Spent | undefined }
  | { readonly _tag: "Sleep"; readonly delayMs: number }

/** An entry and its time, in epoch milliseconds. */
export type Entry = What & { readonly at: number }

/** The entries of all lives of a turn, in order. */
export type LifeLog = ReadonlyArray<Entry>

/** The surroundings of a turn; the same in every life. */
export interface World {
  /** The provider's behaviour, one script an attempt, in order. An attempt without a recorded outcome uses the same script again. */
  readonly scripts: ReadonlyArray<ScriptedProvider.Script>
  /** Milliseconds before each retry. */
  readonly delays: ReadonlyArray<number>
  /** The command for the sleep that is recorded under a name; `undefined`: it elapses. */
  readonly wakeOf: (name: string) => Wake | undefined
  /** The question after a wait (X11). */
  readonly ask?: RetryStrategy["Service"]["ask"]
  readonly tools: ReadonlyArray<ToolDefinition>
  /** How long a tool runs after its side effect, in milliseconds. */
  readonly tookMs: (toolName: string) => number
  /** The conversation before the turn. */
  readonly history?: ReadonlyArray<Message.Message>
  /** Further services of the turn. */
  readonly services?: Layer.Layer<never, never, Provider>
}

/** The disk at the beginning of a life. */
export interface Disk {
  readonly records: ReadonlyMap<string, unknown>
  readonly persisted: ReadonlyArray<TurnEvent.PersistedEvent>
}

/** A life of a turn that has reached the seal. */
export interface Life {
  /** This life's entries behind those of the lives before. */
  readonly log: LifeLog
  readonly end: TurnEvent.TurnEnd
  readonly requests: ReadonlyArray<ProviderRequest>
  readonly disk: Disk
}

/** The disk that a log leaves (Life.L1). */
export const diskOf = (log: LifeLog): Disk => ({
  records: new Map(log.flatMap((entry) => (entry._tag === "Record" ? [[entry.name, entry.value]] : []))),
  persisted: log.flatMap((entry) => (entry._tag === "Persist" ? entry.events : []))
})

/** Counts the provider calls with a recorded outcome: attempts and summaries. */
export const answered = ({ records }: Disk): number =>
  Array.from(records).filter(([name, value]) => /\/(?:attempt|compaction)\/\d+$/.test(name) && !isLost(value)).length

/** Whether an attempt's outcome is `Lost`. */
export const isLost = Schema.is(Schema.Struct({ _tag: Schema.tag("Lost"), endedAt: Schema.Number }))

/** Runs a life to the turn's seal, on the disk of a log, `awayMs` after its last entry. */
export const live = (
  before: LifeLog,
  world: World,
  { abort = Effect.never, awayMs = 0 }: { readonly abort?: Effect.Effect<void>; readonly awayMs?: number } = {}
): Effect.Effect<Life, unknown> =>
  Effect.gen(function* () {
    yield* TestClock.setTime((before.at(-1)?.at ?? 0) + awayMs)
    const clock = yield* Clock.Clock
    const log = before.slice()
    const note = (what: What): void => void log.push({ ...what, at: clock.currentTimeMillisUnsafe() })
    const disk = diskOf(before)
    const provider = ScriptedProvider.make(world.scripts.slice(answered(disk)))
    const sink = new RecordingSink()
    sink.persisted.push(...disk.persisted)
    let running = ""

    const fiber = yield* Turn.runTurn({
      conversationId: Ids.ConversationId.make("c1"),
      turnId: Ids.TurnId.make("t1"),
      target: { provider: "test", model: "model" },
      history: world.history ?? [],
      prompt: "Hello",
      startedAt: 0,
      abort
    }).pipe(
      Effect.provide(
        Layer.mergeAll(
          Layer.succeed(Provider, provider),
          Layer.succeed(EventSink, sinkOf(sink, note)),
          Layer.succeed(Toolbox, toolboxOf(world, note)),
          Layer.provide(world.services ?? Layer.empty, Layer.succeed(Provider, provider)),
          Layer.succeed(
            Checkpoint,
            checkpointOf(new Map(disk.records), note, (name) => (running = name))
          ),
          Layer.succeed(
            RetryStrategy,
            strategyOf(world, note, () => running)
          )
        )
      ),
      Effect.forkScoped({ startImmediately: true })
    )
    yield* TestClock.adjust("1 day")
    if (sink.contradictions.length > 0) {
      return yield* Effect.die(new Error(`it persisted something else at ${sink.contradictions.join(", ")}`))
    }
    if (fiber.pollUnsafe() === undefined) return yield* Effect.die(new Error("the turn is not sealed"))
    return { log, end: yield* Fiber.join(fiber), requests: provider.requests, disk: diskOf(log) }
  }).pipe(Effect.scoped, Effect.provide(TestClock.layer()))

// --- internal

type Note = (what: What) => void

const checkpointOf = (
  records: Map<string, unknown>,
  note: Note,
  runs: (name: string) => void
): Checkpoint["Service"] => {
  const record = (name: string, value: unknown): void => {
    records.set(name, value)
    note({ _tag: "Record", name, value })
  }
  return {
    known: Array.from(records, ([name, value]) => ({ name, value: JSON.stringify(value) })),
    mark: (name) => Effect.sync(() => record(name, true)),
    run: <A, I, E, R>(name: string, schema: Schema.Codec<A, I>, effect: Effect.Effect<A, E, R>) =>
      Effect.suspend((): Effect.Effect<A, E, R> => {
        const codec = Schema.toCodecJson(schema)
        if (records.has(name)) return Effect.orDie(Schema.decodeUnknownEffect(codec)(records.get(name)))
        runs(name)
        return Effect.tap(effect, (result) =>
          Effect.map(Effect.orDie(Schema.encodeEffect(codec)(result)), (json) =>
            record(name, JSON.parse(JSON.stringify(json)))
          )
        )
      })
  }
}

const sinkOf = (sink: RecordingSink, note: Note): EventSink["Service"] => ({
  live: (event) => note({ _tag: "Live", event }),
  persist: (events, position) =>
    Effect.suspend(() => {
      const fresh = events.slice(Math.max(0, sink.persisted.length - position))
      if (fresh.length > 0) note({ _tag: "Persist", events: fresh })
      return sink.service.persist(events, position)
    })
})

const toolboxOf = ({ tools, tookMs }: World, note: Note): Toolbox["Service"] => ({
  definitions: tools,
  run: ({ toolCallId, toolName }) =>
    Effect.suspend(() => {
      note({ _tag: "Tool", toolCallId })
      return Effect.as(Effect.sleep(tookMs(toolName)), { output: "done", isError: false })
    })
})

const strategyOf = ({ ask, delays, wakeOf }: World, note: Note, running: () => string): RetryStrategy["Service"] => ({
  budget: { measure: "scheduled" },
  ...defined({ ask }),
  delayFor: () => undefined,
  decide: (attempt, _failure, spent) => {
    note({ _tag: "Asked", attempt, spent })
    const delay = delays[attempt]
    return delay === undefined ? undefined : { delay: Duration.millis(delay) }
  },
  sleep: (delay) =>
    Effect.suspend((): Effect.Effect<Wake> => {
      note({ _tag: "Sleep", delayMs: Duration.toMillis(delay) })
      const wake = wakeOf(running())
      return wake === undefined ? Effect.as(Effect.sleep(delay), { type: "elapsed" } as const) : Effect.succeed(wake)
    })
})
