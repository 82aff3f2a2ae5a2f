/**
 * Turns that survive provider outages, in any program and without Effect.
 *
 * The turns of one conversation run one after the other, in the order of the calls. The error of a listener affects neither the turn nor
 * other listeners.
 */
import { Ids, Message as Messages, Prompt as WirePrompt } from "@holdfast/wire"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { Engine } from "./Engine.ts"
import type { Message, Prompt, TurnEvent } from "./Events.ts"
import { HoldfastError, invalid } from "./HoldfastError.ts"
import * as EngineJournal from "./internal/EngineJournal.ts"
import type { Facts, KeptBy, KeptTurn } from "./internal/KeptTurn.ts"
import * as TurnStorage from "./internal/TurnStorage.ts"
import * as NamedModels from "./internal/NamedModels.ts"
import { type TurnPlace, RunningTurn, type TurnHost } from "./internal/RunningTurn.ts"
import * as ProgramPorts from "./internal/ProgramPorts.ts"
import { type Model, providerOf } from "./Model.ts"
import type { RetryChoice } from "./RetryChoice.ts"
import { memoryStore, type Store } from "./KeyValueStore.ts"
import type { Tools } from "./ToolFunctions.ts"
import type { Turn } from "./TurnHandle.ts"

/** What `holdfast` is made from. */
export interface Options {
  /**
   * A function that calls your model once (switch the retries of an SDK underneath off), or the name of a known model, such as `openai/gpt-5`, whose key
   * is in the environment.
   */
  readonly model: Model | string
  /** `provider/model` that requests of a function name where a turn chooses none. Default: `default/model`. */
  readonly target?: string
  /** Where the keys of known models are. Default: the variables of the process. */
  readonly env?: { readonly [name: string]: string | undefined }
  readonly tools?: Tools
  /** A profile, or settings over one. Default: `overnight`. */
  readonly retry?: RetryChoice
  /** Where turns are kept. Default: in memory. */
  readonly store?: Store
  /**
   * For hosts where nothing may stay in memory: every wait ends the run of its turn, and this is called when the wait is in the store. Set an
   * alarm, and call `resume()` then.
   */
  readonly park?: (parked: { readonly id: string; readonly retryAt: Date }) => unknown
  /** Gets what a listener throws. Default: it is dropped. */
  readonly onListenerError?: (error: unknown) => void
}

/** What one turn may choose. */
export interface TurnOptions {
  /** 1 to 64 letters, digits, `_` and `-`; the same id again is the same turn. Default: a random id. */
  readonly id?: string
  /** Turns with one value share their history. Default: the turn is a conversation of its own. */
  readonly conversation?: string
  readonly system?: string
  /** `provider/model`. */
  readonly model?: string
  /** Aborts the turn. */
  readonly signal?: AbortSignal
  /**
   * Runs the turn in the journal of a durable engine in place of the store. Each run of the engine calls `turn` again; its events come again from the
   * first one, without the deltas. The engine alone ends the turn early: commands on its waits do nothing, and it takes no `signal`.
   */
  readonly engine?: Engine
  /** With an engine: the messages of the conversation before this turn. */
  readonly history?: ReadonlyArray<Message>
}

/** Removes a listener. */
export type Unsubscribe = () => void

/** Runs turns. */
export interface Holdfast {
  /** Begins a turn, or finds the turn of this id. Throws a `HoldfastError` where an option is wrong. */
  turn(prompt: Prompt, options?: TurnOptions): Turn
  /** Continues every turn that an earlier process left unsealed, or that was parked; turns that run here already are left out. */
  resume(): Promise<ReadonlyArray<Turn>>
  /** Whether failures are retried from now on. */
  autoRetry: boolean
  /** Whether any turn is in a chain of retries. */
  readonly isRetrying: boolean
  /** Gives up every wait in progress: those turns fail with their last error. */
  abortRetry(): void
  /** Calls a function with every event of every turn. */
  subscribe(listener: (event: TurnEvent) => void): Unsubscribe
  /** The same for the events of one type. */
  on<Type extends TurnEvent["type"]>(
    type: Type,
    listener: (event: Extract<TurnEvent, { readonly type: Type }>) => void
  ): Unsubscribe
  /** Stops all turns; they are unsealed, and continue with `resume()` of another process. */
  close(): Promise<void>
}

/**
 * Makes a `Holdfast`. Throws a `HoldfastError` that names what is wrong with the options.
 *
 * **Example** (A turn that waits for hours, and survives its process)
 *
 * ```ts
 * import { holdfast } from "holdfast"
 * import { sqliteStore } from "holdfast/sqlite"
 *
 * const hf = holdfast({ model, retry: "overnight", store: sqliteStore("turns.db") })
 * await hf.resume() // what an earlier process left
 * const turn = hf.turn("How is it?", { id: "t1" })
 * for await (const event of turn) if (event.type === "text-delta") process.stdout.write(event.delta)
 * ```
 */
export const holdfast = (options: Options): Holdfast => {
  checkRuntime(globalThis)
  return new Library(options)
}

// --- internal

class Library implements Holdfast {
  autoRetry: boolean
  /** Each with whether it gets the content of turns. */
  private readonly listeners = new Map<(event: TurnEvent) => void, boolean>()
  private readonly running = new Map<string, RunningTurn>()
  private readonly retrying = new Set<string>()
  /** The last turn of each conversation that runs, to be waited for. */
  private readonly last = new Map<string, Promise<unknown>>()
  private readonly services: TurnHost
  private readonly store: Store
  private readonly target: string
  private readonly onListenerError: Options["onListenerError"]
  private isClosed = false

  constructor(options: Options) {
    const {
      env,
      model,
      onListenerError,
      park,
      retry,
      store = memoryStore(),
      target: named,
      tools = {},
      ...others
    } = options
    // JavaScript compares no options with the types.
    const [other] = Object.keys(others)
    if (other !== undefined)
      throw invalid(
        `"${other}" is no known option. Known: model, target, env, tools, retry, store, park, onListenerError.`
      )
    const target = typeof model === "string" ? model : (named ?? "default/model")
    const provider = providerFor(model, target, env)
    this.autoRetry = typeof retry !== "object" || retry.enabled !== false
    const ports = ProgramPorts.of({ provider, tools, retry, isEnabled: () => this.autoRetry })
    this.target = target
    this.onListenerError = onListenerError
    this.store = store
    this.services = {
      ports,
      park,
      publish: (event) => this.publish(event),
      isHeard: () => Array.from(this.listeners.values()).includes(true)
    }
  }

  get isRetrying(): boolean {
    return this.retrying.size > 0
  }

  turn(prompt: Prompt, options: TurnOptions = {}): Turn {
    const given = promptOf(prompt)
    const { engine, history = [], model = this.target, signal, system } = options
    const id = idOf(options.id ?? engine?.id ?? crypto.randomUUID(), "id")
    const conversationId = idOf(options.conversation ?? id, "conversation")
    this.services.ports.targetOf(model, "model")
    const known = this.running.get(id)
    if (known !== undefined && engine === undefined) return known
    const facts: Facts = {
      conversationId,
      prompt: given,
      model,
      startedAt: Date.now(),
      ...(system === undefined ? undefined : { system })
    }
    if (engine !== undefined) {
      if (signal !== undefined) throw invalid("signal: a turn in an engine is cancelled by the engine.")
      return this.startIn(engine, id, facts, history)
    }
    if (options.history !== undefined)
      throw invalid("history: a turn has that of its conversation, unless an engine runs it.")
    const { store } = this
    return this.start(id, conversationId, { signal, isInEngine: false }, async (turn) => {
      const stored = await TurnStorage.load(store, id)
      if (stored.facts !== undefined && !TurnStorage.isSamePrompt(stored.facts.prompt, given))
        throw new HoldfastError("turn-conflict", `Turn ${id} is in the store with another prompt.`)
      return this.kept(id, await TurnStorage.accept(store, id, stored, facts), turn)
    })
  }

  async resume(): Promise<ReadonlyArray<Turn>> {
    const { store } = this
    const left = (await TurnStorage.openTurns(store)).filter((id) => !this.running.has(id))
    const stored = await Promise.all(left.map(async (id) => [id, await TurnStorage.load(store, id)] as const))
    const inOrder = stored.toSorted(([, a], [, b]) => (a.facts?.startedAt ?? 0) - (b.facts?.startedAt ?? 0))
    return inOrder.flatMap(([id, turn]) =>
      turn.facts === undefined || this.running.has(id)
        ? []
        : [this.start(id, turn.facts.conversationId, IN_STORE, (by) => this.kept(id, turn, by))]
    )
  }

  abortRetry(): void {
    for (const turn of this.running.values()) turn.giveUp()
  }

  subscribe(listener: (event: TurnEvent) => void): Unsubscribe {
    return this.listen(listener, true)
  }

  on<Type extends TurnEvent["type"]>(
    type: Type,
    listener: (event: Extract<TurnEvent, { readonly type: Type }>) => void
  ): Unsubscribe {
    const isOfType = (event: TurnEvent): event is Extract<TurnEvent, { readonly type: Type }> => event.type === type
    return this.listen((event) => void (isOfType(event) && listener(event)), type.endsWith("-delta"))
  }

  async close(): Promise<void> {
    this.isClosed = true
    await Promise.all(Array.from(this.running.values(), (turn) => turn.stop()))
  }

  private listen(listener: (event: TurnEvent) => void, getsContent: boolean): Unsubscribe {
    const own = (event: TurnEvent) => listener(event)
    this.listeners.set(own, getsContent)
    return () => void this.listeners.delete(own)
  }

  private start(
    id: string,
    conversationId: string,
    place: TurnPlace,
    keep: (turn: KeptBy) => Promise<KeptTurn>
  ): RunningTurn {
    if (this.isClosed) throw new HoldfastError("closed", "This Holdfast was closed.")
    const before = this.last.get(conversationId) ?? Promise.resolve()
    const begin = async (turn: KeptBy) => {
      await before
      return keep(turn)
    }
    const turn = new RunningTurn(this.services, id, conversationId, begin, place)
    this.running.set(id, turn)
    const over = turn.result
      .catch(() => {})
      .then(() => {
        if (this.running.get(id) === turn) this.running.delete(id)
        this.retrying.delete(id)
        if (this.last.get(conversationId) === over) this.last.delete(conversationId)
      })
    this.last.set(conversationId, over)
    return turn
  }

  /** Starts a turn in an engine. An earlier run of it in this process is over, whether or not the engine has ended it. */
  private startIn(engine: Engine, id: string, facts: Facts, messages: ReadonlyArray<Message>): RunningTurn {
    const history = Schema.decodeUnknownResult(Schema.Array(Messages.Message))(messages)
    if (Result.isFailure(history)) throw invalid(`history: ${history.failure.message}`)
    if (this.services.ports.policy.spendGuard !== undefined)
      throw invalid("retry.spendGuard: a turn in an engine takes no answers.")
    void this.running.get(id)?.stop()
    const turn = this.start(id, facts.conversationId, IN_ENGINE, (by) =>
      EngineJournal.keep(engine, facts, history.success, by)
    )
    const stop = () => void turn.stop()
    if (engine.over?.aborted === true) stop()
    engine.over?.addEventListener("abort", stop, { once: true })
    void turn.result.catch(() => {}).then(() => engine.over?.removeEventListener("abort", stop))
    return turn
  }

  private async kept(id: string, stored: TurnStorage.TurnInStore, turn: KeptBy): Promise<KeptTurn> {
    const conversationId = stored.facts?.conversationId
    const history = conversationId === undefined ? [] : await this.historyOf(conversationId, id)
    return TurnStorage.keep(this.store, id, stored, history, turn)
  }

  /** The messages of the turns before this one. */
  private async historyOf(conversationId: string, id: string): Promise<ReadonlyArray<Messages.Message>> {
    const { store } = this
    const ids = await TurnStorage.conversation(store, conversationId)
    const before = ids.slice(0, ids.indexOf(id))
    const turns = await Promise.all(before.map((turnId) => TurnStorage.load(store, turnId)))
    return turns.flatMap(({ events }) => events.flatMap((event) => (event.type === "message" ? [event.message] : [])))
  }

  private publish(event: TurnEvent): void {
    if (event.type === "provider-retry") this.retrying.add(event.turnId)
    if (event.type === "retry-end" || event.type === "turn-end") this.retrying.delete(event.turnId)
    for (const listener of Array.from(this.listeners.keys())) {
      try {
        listener(event)
      } catch (error) {
        this.onListenerError?.(error)
      }
    }
  }
}

const IN_STORE: TurnPlace = { signal: undefined, isInEngine: false }
const IN_ENGINE: TurnPlace = { signal: undefined, isInEngine: true }

/** Throws where the runtime has no `Iterator`, such as Node 20: tools and retries use its methods. */
export const checkRuntime = (world: { readonly Iterator?: unknown }): void => {
  if (world.Iterator === undefined)
    throw new HoldfastError("unsupported-runtime", "holdfast needs Node 22 or newer: this runtime has no `Iterator`.")
}

const providerFor = (model: unknown, target: string, env: Options["env"]) => {
  const parsed = ProgramPorts.targetOf(target, typeof model === "string" ? "model" : "target")
  if (typeof model === "string") return NamedModels.make(env ?? environment(), parsed)
  if (typeof model === "function") return providerOf(model as Model)
  throw invalid('model: expected a function that returns an async iterable, or a name such as "openai/gpt-5".')
}

/** The variables of the process, where the runtime has them. */
const environment = (): NamedModels.Variables =>
  (globalThis as { readonly process?: { readonly env?: NamedModels.Variables } }).process?.env ?? {}

const decodePrompt = Schema.decodeUnknownResult(WirePrompt.Prompt, { onExcessProperty: "error", errors: "all" })

const promptOf = (prompt: unknown): WirePrompt.Prompt => {
  if (typeof prompt === "string") return prompt
  const decoded = decodePrompt(prompt)
  if (Result.isSuccess(decoded)) return WirePrompt.plain(decoded.success)
  throw invalid(`prompt: ${decoded.failure.message}`)
}

const idOf = (text: string, option: string): string => {
  if (!Ids.ID_PATTERN.test(text))
    throw invalid(`${option}: "${text.slice(0, 80)}" is no id, expected 1 to 64 letters, digits, "_" or "-".`)
  return text
}
