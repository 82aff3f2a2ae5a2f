/**
 * An orchestrator on a database in memory and a test clock.
 *
 * It has a provider that follows a script, a watching client, and a process that can go down and come back.
 *
 * Rig.G1. After a crash nothing is written: work that the fibers of the process do while they end is lost.
 * Rig.G2. A call to a process that goes down meanwhile is given up, as its connection would be.
 * Rig.G3. A conversation that is answered twice at the same time is a fault, and so is a turn that is called out of its order.
 */
import { Interruptions, ProcessName, StorageError, Timer } from "@holdfast/journal"
import type { Provider } from "@holdfast/kernel"
import type { Profile } from "@holdfast/policy"
import { ProviderCall } from "@holdfast/kernel/host"
import { Ids } from "@holdfast/wire"
import { Cause, Clock, Context, Deferred, Duration, Effect, Exit, Fiber, Layer, Scope, Stream } from "effect"
import * as Condition from "../../../src/base/system/Condition.ts"
import { Conversations } from "../../../src/engine/conversation/Conversations.ts"
import { Defaults } from "../../../src/engine/conversation/Defaults.ts"
import * as Gates from "../../../src/engine/gate/Gates.ts"
import * as Orchestrator from "../../../src/engine/orchestrator/Orchestrator.ts"
import { Providers } from "../../../src/engine/conversation/Providers.ts"
import * as Quarantine from "../../../src/engine/pacing/Quarantine.ts"
import * as Tools from "../../../src/engine/conversation/Tools.ts"
import { TurnLog } from "../../../src/storage/TurnLog.ts"
import * as MemoryStore from "../../storage/MemoryStore.ts"
import { Lists } from "../../../src/storage/Lists.ts"
import { Standings } from "../../../src/storage/Standings.ts"
import { Store } from "../../../src/storage/Store.ts"
import { TurnIds } from "../../../src/storage/TurnIds.ts"
import { WatchingClient } from "../../service/WatchingClient.ts"

/**
 * The outcome of an attempt. `late` takes some time on the clock; `breaks` fails in the middle of its text; `calls` asks for a tool, and
 * `calls and breaks` fails after its call.
 */
export type Attempt =
  | "answers"
  | "answers late"
  | "fails"
  | "fails late"
  | "breaks"
  | "breaks late"
  | "calls"
  | "calls and breaks"

/** A request of the provider, and its time. */
export interface Asked {
  readonly conversationId: Ids.ConversationId
  readonly turnId: Ids.TurnId
  readonly attempt: number
  readonly at: number
}

/** The parts that a rig keeps over its lives. */
export type Ports = Pick<Rig, "store" | "log" | "standings" | "interruptions" | "lists">

/** A database in memory. */
export const memory: Effect.Effect<Ports, StorageError, Scope.Scope> = Effect.map(
  Layer.build(Layer.fresh(MemoryStore.layer)),
  (context) => ({
    store: Context.get(context, Store),
    log: Context.get(context, TurnLog),
    standings: Context.get(context, Standings),
    lists: Context.get(context, Lists),
    interruptions: Context.get(context, Interruptions.Interruptions)
  })
)

/** A wait that stays in memory, then a wait that does not, and so on. */
const RETRY: Profile.RetrySettings = {
  schedule: {
    type: "steps",
    delays: [Duration.seconds(1), Duration.seconds(10), Duration.seconds(2)],
    tail: Duration.seconds(30)
  },
  budget: Duration.infinity
}

/** Changes of a rig. */
export interface Options {
  /** Absent: waits of 1 s, 10 s, 2 s and 30 s, without end. */
  readonly retry?: Profile.RetrySettings
  /** Absent: none. */
  readonly tools?: Tools.Tools["Service"]
}

const DELTAS = ["One, ", "two, ", "three."]

/** A late attempt waits this long before its next event. */
const LATE = Duration.millis(400)

interface RigLife {
  readonly conversations: Conversations["Service"]
  readonly scope: Scope.Closeable
  readonly down: Deferred.Deferred<void>
  isDead: boolean
}

export class Rig {
  readonly asked: Array<Asked> = []
  readonly faults: Array<string> = []
  /** Resources that the turns of the process have taken and not given back: places of due turns, and stays in the quarantine. */
  readonly taken = new Set<symbol>()
  readonly watchers = new Map<Ids.ConversationId, WatchingClient>()
  readonly store: Store["Service"]
  readonly log: TurnLog["Service"]
  readonly standings: Standings["Service"]
  readonly lists: Lists["Service"]
  readonly interruptions: Interruptions.Interruptions["Service"]
  deaths = 0
  /** Writes of all processes, of turns and of their results. */
  writes = 0
  /** The process dies at this write: before it is made, or after it and before it is acknowledged. */
  diesAt: { readonly write: number; readonly isMade: boolean } | undefined = undefined
  private readonly script: ReadonlyArray<Attempt>
  private readonly isGated: boolean
  /** Calls begin without a fiber, as with the service's own providers; otherwise as with an embedder's. */
  private readonly isNative: boolean
  private isCalm = false
  /** Turns without an id of their client. */
  private own = 0
  private life: RigLife | undefined = undefined
  private readonly answering = new Map<Ids.ConversationId, Ids.TurnId>()
  private readonly watching = new Map<Ids.ConversationId, Fiber.Fiber<void>>()

  private readonly options: Options

  constructor(
    { interruptions, lists, log, standings, store }: Ports,
    script: ReadonlyArray<Attempt>,
    isGated: boolean,
    options: Options = {}
  ) {
    this.options = options
    this.store = store
    this.log = log
    this.standings = standings
    this.lists = lists
    this.interruptions = interruptions
    this.script = script
    this.isGated = isGated
    this.isNative = script.length % 2 === 1
  }

  /** From now on every attempt answers. */
  calm(): void {
    this.isCalm = true
  }

  /** Whether the process has died at its write, and is still to be taken down. */
  get isDying(): boolean {
    return this.life?.isDead === true
  }

  /** Calls the process; `undefined` if there is none, or it goes down meanwhile (Rig.G2). */
  ask<A, E>(call: (conversations: Conversations["Service"]) => Effect.Effect<A, E>): Effect.Effect<A | undefined> {
    return Effect.suspend(() => {
      const { life } = this
      if (life === undefined) return Effect.succeed(undefined)
      const answer = Effect.catchCause(call(life.conversations), (cause) =>
        Effect.sync(() => {
          if (this.life === life && !life.isDead)
            this.faults.push(`a process that was up refused: ${Cause.pretty(cause)}`)
          return undefined
        })
      )
      return Effect.raceFirst(answer, Effect.as(Deferred.await(life.down), undefined))
    })
  }

  /** Starts a process over the database. */
  get up(): Effect.Effect<void, StorageError> {
    return Effect.gen({ self: this }, function* () {
      // The last process's writes are on disk or lost by now; none is written after this one has started.
      yield* this.store.check
      const scope = yield* Scope.make()
      const life = { scope, isDead: false }
      const context = yield* Layer.buildWithScope(Layer.fresh(this.layerOf(life)), scope)
      this.life = Object.assign(life, {
        conversations: Context.get(context, Conversations),
        down: Deferred.makeUnsafe<void>()
      })
      for (const id of Array.from(this.watching.keys())) {
        this.watching.delete(id)
        yield* this.watch(id)
      }
    })
  }

  /** Ends the process: in good order, or by a crash (Rig.G1). */
  down(crashes: boolean): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      const life = this.life
      if (life === undefined) return
      this.life = undefined
      life.isDead = crashes
      this.deaths++
      for (const fiber of this.watching.values()) yield* Fiber.interrupt(fiber)
      yield* Deferred.succeed(life.down, undefined)
      yield* Scope.close(life.scope, Exit.void)
      if (this.taken.size > 0)
        this.faults.push(`turns that were let go of kept ${this.taken.size} of what they had taken`)
      this.taken.clear()
    })
  }

  /** Notes that a resource is taken; returns the function that gives it back. */
  private take(what: string): () => void {
    const one = Symbol(what)
    this.taken.add(one)
    return () => {
      if (!this.taken.delete(one)) this.faults.push(`a ${what} was given back twice`)
    }
  }

  /** The watcher of a conversation begins to watch, or comes back. */
  watch(id: Ids.ConversationId): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      if (this.life === undefined || this.watching.has(id)) return
      const watcher = this.watchers.get(id) ?? new WatchingClient()
      this.watchers.set(id, watcher)
      const frames = this.life.conversations.watch(id, watcher.lastId)
      const fiber = yield* Effect.forkDetach(
        Effect.ignore(Stream.runForEach(frames, ({ event, id }) => Effect.sync(() => watcher.see(event, id))))
      )
      this.watching.set(id, fiber)
    })
  }

  private layerOf(life: { isDead: boolean }): Layer.Layer<Conversations, StorageError> {
    const alive = <A, E>(write: Effect.Effect<A, E | StorageError>): Effect.Effect<A, E | StorageError> =>
      Effect.suspend((): Effect.Effect<A, E | StorageError> => {
        const isLast = this.writes++ === this.diesAt?.write
        if (isLast && this.diesAt?.isMade === false) life.isDead = true
        if (life.isDead) return DEATH
        return Effect.flatMap(write, (made): Effect.Effect<A, StorageError> => {
          if (isLast) life.isDead = true
          return life.isDead ? DEATH : Effect.succeed(made)
        })
      })
    const { store, log, standings, interruptions } = this
    return Orchestrator.layer.pipe(
      Layer.provide([
        Layer.succeed(Store, store),
        Layer.succeed(Standings, standings),
        Layer.succeed(Lists, this.lists),
        Layer.succeed(Interruptions.Interruptions, {
          ...interruptions,
          takeUp: (...note) => alive(interruptions.takeUp(...note)),
          note: (...note) => alive(interruptions.note(...note))
        }),
        Layer.succeed(ProcessName.ProcessName, `life ${this.deaths}`),
        Layer.succeed(TurnIds, () => Ids.TurnId.make(`own${this.own++}`)),
        Layer.succeed(TurnLog, {
          ...log,
          accept: (...accept) => alive(log.accept(...accept)),
          append: (appends) =>
            Effect.catch(alive(log.append(appends)), (error) => Effect.succeed(appends.map(() => Exit.fail(error))))
        }),
        Layer.succeed(Providers, {
          get: () => (this.isNative ? this.native : this.provider),
          names: ["scripted", "other"],
          unusable: () => undefined,
          credentials: {}
        }),
        Layer.succeed(Defaults, {
          model: { provider: "scripted", model: "m" },
          retry: this.options.retry ?? RETRY,
          models: {}
        }),
        this.isGated
          ? Gates.layer(() => ({ baseUrl: "", credential: undefined })).pipe(Layer.provide(Timer.layer))
          : Gates.layerNoop,
        this.options.tools === undefined ? Tools.layerNoop : Layer.succeed(Tools.Tools, this.options.tools),
        Timer.layer,
        Layer.effect(
          Quarantine.Quarantine,
          Effect.map(Quarantine.Quarantine, ({ request }) => ({
            request: (...guest) => {
              const returned = this.take("presence")
              const presence = request(...guest)
              return { ...presence, leave: () => (returned(), presence.leave()) }
            }
          }))
        ).pipe(Layer.provide(Quarantine.layer), Layer.provide(Timer.layer)),
        Condition.layer
      ])
    )
  }

  private next({ attempt, conversationId, turnId }: Provider.ProviderRequest, at: number): Attempt {
    const what = this.isCalm ? "answers" : (this.script[this.asked.length % this.script.length] ?? "answers")
    this.asked.push({ conversationId, turnId, attempt, at })
    const other = this.answering.get(conversationId)
    if (other !== undefined) this.faults.push(`${turnId} was asked for while ${other} was being answered`)
    this.answering.set(conversationId, turnId)
    return what
  }

  private readonly native: Provider.Provider["Service"] = ProviderCall.provider((request, world, listener) => {
    const { conversationId, turnId } = request
    const what = this.next(request, world.now())
    const end = () => void this.answering.delete(conversationId)
    const refuse = () => {
      end()
      return ProviderCall.refuse(listener, { type: "error", failure: OVERLOADED })
    }
    if (what === "fails") return refuse()
    if (what === "fails late") {
      const running = ProviderCall.later((go) => world.after(Duration.toMillis(LATE), () => go(refuse)))
      return {
        ...running,
        cancel: () => {
          running.cancel()
          end()
        }
      }
    }
    const said = Stream.ensuring(saying(what, `${turnId}.${this.asked.length}: `), Effect.sync(end))
    return ProviderCall.fromStream(() => said)(request, world, listener)
  })

  private readonly provider: Provider.Provider["Service"] = {
    stream: (request) =>
      Stream.unwrap(
        Effect.gen({ self: this }, function* () {
          const { conversationId, turnId } = request
          const at = yield* Clock.currentTimeMillis
          const what = yield* Effect.acquireRelease(
            Effect.sync(() => this.next(request, at)),
            () => Effect.sync(() => this.answering.delete(conversationId))
          )
          return saying(what, `${turnId}.${this.asked.length}: `)
        })
      )
  }
}

// --- internal

const OVERLOADED = { reason: "overloaded", message: "Overloaded", retryable: true, status: 529 } as const
const DEATH: Effect.Effect<never, StorageError> = Effect.fail(new StorageError({ message: "the process is dead" }))

const saying = (what: Attempt, name: string): ReturnType<Provider.Provider["Service"]["stream"]> => {
  const failure = Stream.succeed({ type: "error", failure: OVERLOADED } as const)
  const text = Stream.fromIterable([name, ...DELTAS].map((delta) => ({ type: "text-delta", delta }) as const))
  const finish = Stream.succeed({ type: "finish", finishReason: "stop" } as const)
  const late = Stream.drain(Stream.fromEffect(Effect.sleep(LATE)))
  switch (what) {
    case "answers":
      return Stream.concat(text, finish)
    case "answers late":
      return late.pipe(
        Stream.concat(Stream.mapEffect(text, (delta) => Effect.as(Effect.sleep(LATE), delta))),
        Stream.concat(finish)
      )
    case "fails":
      return failure
    case "fails late":
      return Stream.concat(late, failure)
    case "breaks":
      return Stream.concat(Stream.take(text, 2), failure)
    case "breaks late":
      return late.pipe(
        Stream.concat(Stream.mapEffect(Stream.take(text, 3), (delta) => Effect.as(Effect.sleep(LATE), delta))),
        Stream.concat(late),
        Stream.concat(failure)
      )
    case "calls":
      return Stream.make(
        { type: "text-delta", delta: name } as const,
        { type: "tool-call", toolCallId: name, toolName: "pay", input: {} } as const,
        { type: "finish", finishReason: "tool-calls" } as const
      )
    case "calls and breaks":
      return Stream.concat(
        Stream.make(
          { type: "text-delta", delta: name } as const,
          { type: "tool-call", toolCallId: name, toolName: "pay", input: {} } as const
        ),
        Stream.concat(late, failure)
      )
    default:
      return what satisfies never
  }
}
