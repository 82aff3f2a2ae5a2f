/**
 * The life of a process that runs a turn, entry by entry, so that a test can have it die between any two of them.
 *
 * L1. A death leaves the records and the persisted events that were written before it, and nothing else (`diskOf`).
 * L2. A life is lived to the turn's seal. Dying is done on paper: cut its diary, and begin the next life on what is left.
 * L3. A diary tells all lives until then, so what a client saw and what a tool did is in it over every death.
 */
import { Ids, type Message, type TurnEvent } from "@holdfast/wire"
import { Clock, Duration, Effect, Fiber, Layer, Schema } from "effect"
import { TestClock } from "effect/testing"
import { Checkpoint } from "../src/Checkpoint.ts"
import { EventSink } from "../src/EventSink.ts"
import { Provider, type ProviderRequest } from "../src/Provider.ts"
import { RetryStrategy, type Spent, type Wake } from "../src/RetryStrategy.ts"
import { Toolbox, type ToolDefinition } from "../src/Toolbox.ts"
import * as Turn from "../src/Turn.ts"
import { RecordingSink } from "./RecordingSink.ts"
import * as ScriptedProvider from "./ScriptedProvider.ts"

type What =
  | { readonly _tag: "Record"; readonly name: string; readonly value: unknown }
  /** One write: all of its events are there, or none. */
  | { readonly _tag: "Persist"; readonly events: ReadonlyArray<TurnEvent.PersistedEvent> }
  | { readonly _tag: "Live"; readonly event: TurnEvent.TransientEvent }
  | { readonly _tag: "Tool"; readonly toolCallId: string }
  /** The strategy was asked for the next delay. */
  | { readonly _tag: "Asked"; readonly attempt: number; readonly spent: Spent | undefined }
  | { readonly _tag: "Sleep"; readonly delayMs: number }

/** What happened, and when: epoch milliseconds. */
export type Entry = What & { readonly at: number }

export type Diary = ReadonlyArray<Entry>

/** The surroundings of a turn; the same in every life. */
export interface World {
  /** What the provider does, an attempt each, in order. An attempt that left no outcome finds its own script again. */
  readonly scripts: ReadonlyArray<ScriptedProvider.Script>
  /** Milliseconds before each retry. */
  readonly delays: ReadonlyArray<number>
  /** What somebody wants of the sleep that is recorded under a name; otherwise it elapses. */
  readonly wakeOf: (name: string) => Wake | undefined
  /** What has to be asked after a wait (X11). */
  readonly ask?: RetryStrategy["Service"]["ask"]
  readonly tools: ReadonlyArray<ToolDefinition>
  /** How long a tool takes after it has done what it does, in milliseconds. */
  readonly tookMs: (toolName: string) => number
  /** The conversation before the turn. */
  readonly history?: ReadonlyArray<Message.Message>
  /** What else the turn runs on. */
  readonly services?: Layer.Layer<never, never, Provider>
}

/** What a life begins on. */
export interface Disk {
  readonly records: ReadonlyMap<string, unknown>
  readonly persisted: ReadonlyArray<TurnEvent.PersistedEvent>
}

export interface Life {
  /** This life's entries behind those of the lives before. */
  readonly diary: Diary
  readonly end: TurnEvent.TurnEnd
  readonly requests: ReadonlyArray<ProviderRequest>
  readonly disk: Disk
}

/** L1 */
export const diskOf = (diary: Diary): Disk => ({
  records: new Map(diary.flatMap((entry) => (entry._tag === "Record" ? [[entry.name, entry.value]] : []))),
  persisted: diary.flatMap((entry) => (entry._tag === "Persist" ? entry.events : []))
})

/** Calls of the provider that have an outcome of their own: attempts, and summaries. */
export const answered = ({ records }: Disk): number =>
  Array.from(records).filter(([name, value]) => /\/(?:attempt|compaction)\/\d+$/.test(name) && !isLost(value)).length

/** Whether an attempt's outcome is that nobody knows it. */
export const isLost = Schema.is(Schema.Struct({ _tag: Schema.tag("Lost"), endedAt: Schema.Number }))

/** Begins a life on what a diary has left on disk, some time after its last entry, and lives it to the turn's seal. */
export const live = (
  before: Diary,
  world: World,
  { abort = Effect.never, awayMs = 0 }: { readonly abort?: Effect.Effect<void>; readonly awayMs?: number } = {}
): Effect.Effect<Life, unknown> =>
  Effect.gen(function* () {
    yield* TestClock.setTime((before.at(-1)?.at ?? 0) + awayMs)
    const clock = yield* Clock.Clock
    const diary = before.slice()
    const note = (what: What): void => void diary.push({ ...what, at: clock.currentTimeMillisUnsafe() })
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
    return { diary, end: yield* Fiber.join(fiber), requests: provider.requests, disk: diskOf(diary) }
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
  ...(ask === undefined ? undefined : { ask }),
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
