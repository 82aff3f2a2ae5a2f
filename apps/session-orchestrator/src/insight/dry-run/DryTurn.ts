/**
 * Runs one turn of a dry run: the kernel's engine with the ports of the service, under a virtual clock.
 *
 * Routing, policy, gates, limits and limits of spending are the service's own. Simulated are calls, tools and time: a call has a scripted
 * reply, a tool call succeeds at once, a context that is too long cannot be compacted, no person sends a command, and no client watches. Each
 * turn is the only one of its conversation. The same surroundings give the same course.
 */
import { Observer, type Provider, Records, type Router, type Toolbox } from "@holdfast/kernel"
import { Engine, Performer, ProviderCall } from "@holdfast/kernel/host"
import { RetryPolicy, RetryStrategies, type Routes } from "@holdfast/policy"
import { defined, type Failure, Ids, type Message, type Target, type TurnEvent } from "@holdfast/wire"
import { Array as Arr, Cause, Duration, Effect, Exit } from "effect"
import * as Gates from "../../engine/gate/Gates.ts"
import { Parking, RESIDENT_MS } from "../../engine/parking/Parking.ts"
import * as TurnLife from "../../engine/session/TurnLife.ts"
import type * as Spending from "../../engine/spend/Spending.ts"
import type { Standings } from "../../storage/Standings.ts"
import * as Admission from "../../engine/turn/Admission.ts"
import * as TurnPlan from "../../engine/turn/TurnPlan.ts"
import * as TurnRouter from "../../engine/turn/TurnRouter.ts"
import * as TurnSetting from "../../engine/turn/TurnSetting.ts"
import * as DryTurnCourse from "./DryTurnCourse.ts"
import type { VirtualClock } from "./VirtualClock.ts"

type Outcome = Exclude<Records.AttemptOutcome, { readonly _tag: "Lost" }>
type Completed = Extract<Outcome, { readonly _tag: "Completed" }>
type Failed = Extract<Outcome, { readonly _tag: "Failed" }>

/** The command of a kind. */
export type CommandOf<Tag extends Engine.Command["_tag"]> = Extract<Engine.Command, { readonly _tag: Tag }>

/** How a call goes. Times are in milliseconds after it began. */
export interface Reply {
  /** When its first content comes; absent: never, or at its end. */
  readonly contentAt?: number
  readonly endAt: number
  readonly outcome: Omit<Completed, "endedAt"> | Omit<Failed, "endedAt" | "spread">
}

/** A call that is made at `now`, in epoch milliseconds. */
export interface DryCall {
  readonly prompted: Prompted
  readonly request: Provider.ProviderRequest
  readonly now: number
}

/** What all turns of a dry run share. */
export interface Surroundings extends Omit<Routes.Known, "standing"> {
  readonly policy: RetryPolicy.RetryPolicy
  readonly clock: VirtualClock
  readonly gates: Gates.Gates["Service"]
  readonly standings: Standings["Service"]
  /** Makes a call; `undefined`: it never ends. */
  readonly reply: (call: DryCall) => Reply | undefined
  /** Counts an attempt that made no call. */
  readonly shared: () => void
  /** The limits of spending; absent: there are none. */
  readonly spending: Spending.Spending | undefined
}

/** The input of one turn. */
export interface Prompted {
  readonly turnId: string
  /** Epoch milliseconds. */
  readonly startedAt: number
  readonly target: Target.Target
  /** No client stays for the answer (X15); that decides the default of `midStream`. Absent: one does. */
  readonly isSubmitted?: boolean
  /** The conversation before, for its router. Absent: there is none. */
  readonly history?: ReadonlyArray<Message.Message>
}

/** One turn of a dry run. */
export class DryTurn {
  readonly prompted: Prompted
  /** Its records so far, without marks. */
  readonly records: Array<Records.TurnRecord> = []
  protected readonly around: Surroundings
  protected readonly turn: Engine.Turn
  private readonly life: TurnLife.TurnLife
  private readonly policy: RetryPolicy.RetryPolicy
  private readonly strategy: ReturnType<typeof RetryStrategies.make>
  private readonly provider: Provider.Provider["Service"]
  private readonly parking: Parking
  private router: Router.Router["Service"] | undefined = undefined
  private isPerforming = false
  /** When the call under way began. */
  private calledAt: number | undefined = undefined
  /** Ends the call, or the wait, that the turn is in. */
  private stop: () => void = nothing
  private resume: (prepare: (turn: TurnLife.TurnLife) => void) => void = nothing
  /** When its calls began, by their positions. */
  private readonly began = new Map<string, number>()
  private readonly countsTokens: boolean
  private end: TurnEvent.TurnEnd | undefined = undefined
  private readonly onEnd: Array<(endedAt: number) => void> = []

  /** `countsTokens`: the tokens of answers are real ones. */
  constructor(prompted: Prompted, around: Surroundings, countsTokens = false) {
    const { clock, countTokens, credentials, gates, spending } = around
    const turnId = Ids.TurnId.make(prompted.turnId)
    const conversationId = Ids.ConversationId.make(prompted.turnId)
    const midStream = around.policy.midStream ?? TurnPlan.defaultMidStream(prompted.isSubmitted === true)
    const policy = { ...around.policy, midStream, enabled: true }
    const life = new TurnLife.TurnLife(turnId)
    life.begin()
    const isEnabled = () => this.isEnabled()
    const goesOn = (failure: Failure.Failure) => isEnabled() && RetryPolicy.delay(policy, 0, failure) !== undefined
    const gated = Admission.throughGates(ProviderCall.provider(this.scripted), gates, life, goesOn, false)
    const plan = { policy, strategy: RetryStrategies.deciding(policy) }
    this.prompted = prompted
    this.countsTokens = countsTokens
    this.around = around
    this.life = life
    this.policy = policy
    this.strategy = {
      ...TurnSetting.deciding({ countTokens, isEnabled, life, plan, spending }),
      sleep: this.asleep
    }
    this.provider = spending?.checked(gated, { conversationId, turnId, tags: [] }) ?? gated
    this.parking = new Parking(clock.timer, {
      takeUp: (_conversation, _turn, prepare) => clock.at(clock.now(), () => this.resume(prepare)), // the gate settles first
      near: nothing,
      held: nothing
    })
    const { maxFailedToolSteps, maxResponseCharacters, maxTurns } = policy
    const { startedAt, target } = prompted
    const limits = defined({ maxFailedToolSteps, maxResponseCharacters, maxTurns })
    const facts = { conversationId, turnId, target, history: [], prompt: "", startedAt, limits }
    this.turn = new Engine.Turn(
      Engine.make({
        facts,
        life: "",
        strategy: this.strategy,
        toolbox: { definitions: [] },
        hasRouter: TurnRouter.hasElsewhere(policy, credentials),
        hasCompactor: true,
        observer: spending?.listeners
      })
    )
    this.comesIntoMemory()
  }

  /** Lets the turn begin, at its time unless at another one. */
  begin(at = this.prompted.startedAt): void {
    this.around.clock.at(at, () => this.take({ _tag: "Begin", known: [], persisted: [] }))
  }

  /** Calls a function at the end of the turn, with its time. */
  whenEnded(listener: (endedAt: number) => void): void {
    if (this.end === undefined) this.onEnd.push(listener)
    else listener(this.end.endedAt)
  }

  /** The course until now. */
  get course(): DryTurnCourse.DryTurnCourse {
    const { end, prompted, records } = this
    const beganAt = (attempt: Records.RecordPosition) => this.began.get(placeOf(attempt))
    return DryTurnCourse.of({ ...prompted, records, end, beganAt }, this.countsTokens).course
  }

  /** The switch for retries. */
  protected isEnabled(): boolean {
    return this.around.policy.enabled
  }

  /** Takes an input, and performs what follows. */
  protected take(input: Engine.Input, now = this.around.clock.now()): void {
    const { effects } = this.turn
    this.turn.take(input, now)
    if (this.isPerforming) return
    this.isPerforming = true
    for (let effect = effects.shift(); effect !== undefined; effect = effects.shift()) this.perform(effect)
    this.isPerforming = false
  }

  private perform(effect: Engine.Effect): void {
    switch (effect._tag) {
      case "Append":
        for (const { record } of effect.records) this.recorded(record)
        return this.take({ _tag: "Appended" })
      case "Start":
        return this.start(effect.command)
      case "Sleep":
        return this.sleep(effect)
      case "Observe":
        return Observer.notify(this.around.spending?.listeners, effect.kind, effect.observation)
      case "Sealed":
        return this.sealed(effect.end)
      case "Stop":
        throw effect.error
      case "Live":
      case "Release":
      case "Repeat":
        return
      default:
        return effect satisfies never
    }
  }

  protected recorded(record: Records.TurnRecord): void {
    this.records.push(record)
    if (record.kind === "Attempt" && "failure" in record.value && record.value.failure.shared === true)
      this.around.shared()
    if (record.kind === "Attempt" && this.calledAt !== undefined) this.began.set(placeOf(record), this.calledAt)
  }

  /** Ends the turn by a cut, whatever it does. */
  protected cut(cut: Engine.Cut, now?: number): void {
    this.stop()
    this.take({ _tag: "Cut", ...cut }, now)
  }

  private sealed(end: TurnEvent.TurnEnd): void {
    this.stop()
    this.life.end(Exit.void)
    this.end = end
    for (const listener of this.onEnd.splice(0)) listener(end.endedAt)
  }

  // --- commands

  /** Performs a command, as a fiber of the service does. */
  protected start(command: Engine.Command): void {
    const { clock } = this.around
    const { provider, router, strategy } = this
    this.calledAt = undefined
    if (command._tag === "Call") this.life.begins(false)
    const ports = { provider, router, strategy, toolbox, sink, compactor: undefined, now: clock.now, draw: clock.draw }
    const performed = Performer.resultOf(ports, this.turn.state.ledger, command, { life: "" })
    this.run(performed, (value) => this.done(Records.recordOf(Engine.kindOf(command), command, value)))
  }

  /** A command has its record. */
  protected done(record: Records.TurnRecord, now?: number): void {
    this.take({ _tag: "Done", record }, now)
  }

  /** Plays a scripted reply. */
  private readonly scripted: ProviderCall.ProviderCall = (request, _world, { events }) => {
    const { clock, reply } = this.around
    const now = clock.now()
    this.calledAt = now
    const { contentAt = Infinity, endAt, outcome } = reply({ prompted: this.prompted, request, now }) ?? NEVER
    const content = contentOf(outcome)
    const stops: Array<() => void> = []
    const at = (ms: number, act: () => void) => void (ms === 0 ? act() : stops.push(clock.after(ms, act)))
    const isFirst = contentAt < endAt && Arr.isReadonlyArrayNonEmpty(content)
    if (isFirst) at(contentAt, () => void events(content))
    at(endAt, () => void events(lastOf(outcome, isFirst ? [] : content)))
    return { more: nothing, cancel: () => stops.forEach((stop) => stop()) }
  }

  /** Reports an answer to a call that began at `began` to the router. */
  protected answered(began: number): void {
    const answered = this.router?.answered?.(this.turn.state.ledger.routing.route, began, this.around.clock.now())
    if (answered !== undefined) this.run(answered, nothing)
  }

  /** Runs an effect, until the turn is cut off. */
  private run<A>(effect: Effect.Effect<A, unknown>, act: (value: A) => void): void {
    let isOver = false
    const stop = this.around.clock.run(effect, (exit) => {
      isOver = true
      if (Exit.isSuccess(exit)) act(exit.value)
      else if (!Cause.hasInterruptsOnly(exit.cause)) throw Cause.squash(exit.cause)
    })
    if (!isOver) this.stop = stop
  }

  // --- waits

  protected sleep({ awaited, calls, leftMs }: Extract<Engine.Effect, { readonly _tag: "Sleep" }>): void {
    const wait = this.strategy.sleep(Duration.millis(leftMs), awaited, calls)
    this.run(wait, (wake) => this.woken(wake ?? { type: "elapsed" }))
  }

  /** A wait ends; the engine asks a person by itself. */
  protected woken(wake: Records.Wake, now?: number): void {
    if (wake.type === "elapsed") this.take({ _tag: "Due", ...defined({ heldMs: wake.heldMs }) }, now)
    else this.take(wake.type === "asked" ? { _tag: "Due" } : { _tag: "Steered", wake }, now)
  }

  /** The service's sleep: the turn is parked. */
  private readonly asleep: RetryStrategies.Sleep = (delay, wanted) =>
    Effect.callback((resume) => {
      const { clock, gates } = this.around
      const { life, parking } = this
      const { turnId } = life
      const conversationId = Ids.ConversationId.make(turnId)
      const delayMs = Duration.toMillis(delay)
      if (delayMs > RESIDENT_MS) this.comesIntoMemory()
      const awaited = wanted && Gates.waitOf(gates, turnId, wanted)
      life.begins(true)
      this.resume = (prepare) => {
        prepare(life)
        resume(Effect.sync(() => Admission.atGate(life.wait.take(nothing), life, awaited)))
      }
      parking.park(conversationId, turnId, Math.min(wanted?.retryAt ?? Infinity, clock.now() + delayMs), awaited)
      return Effect.sync(() => void parking.drop(conversationId))
    })

  /** A life of the turn has a router of its own, and no ticket of the life before. */
  protected comesIntoMemory(): void {
    const { around, life, policy, strategy } = this
    const isEnabled = () => this.isEnabled()
    life.without("ticket")
    const history = this.prompted.history ?? []
    const routes = TurnRouter.make({ ...around, policy, history, isEnabled, patiently: Effect.orDie })
    this.router = routes && TurnSetting.routed(life, routes, strategy)
  }
}

// --- internal

const nothing = (): void => {}

const placeOf = ({ number, step }: Records.RecordPosition): string => `${step}/${number}`

/** Its tools succeed at once. */
const toolbox: Toolbox.Toolbox["Service"] = {
  definitions: [],
  run: () => Effect.succeed({ output: "", isError: false })
}

/** No client receives anything, so all content can be withdrawn (X7). */
const sink = { live: nothing, withdraw: () => true }

const NEVER: Reply = { endAt: Infinity, outcome: { _tag: "Completed", content: [], finishReason: "stop" } }

/** The events that make a content. */
const contentOf = (outcome: Reply["outcome"]): ReadonlyArray<Provider.ProviderEvent> => {
  const events = outcome.content.map((part): Provider.ProviderEvent => {
    if (part.type === "text") return { type: "text-delta", delta: part.text }
    return part.type === "reasoning" ? { type: "reasoning-delta", delta: part.text } : part
  })
  const isUnknown = events.length === 0 && outcome._tag === "Failed" && outcome.contentSeen
  return isUnknown ? [{ type: "text-delta", delta: "…" }] : events
}

/** The last events of a response. */
const lastOf = (outcome: Reply["outcome"], content: ReadonlyArray<Provider.ProviderEvent>): ProviderCall.Events => {
  if (outcome._tag === "Failed") return Arr.append(content, { type: "error", failure: outcome.failure })
  const { finishReason, usage } = outcome
  const reported = usage === undefined ? [] : [{ type: "usage" as const, usage }]
  return Arr.append([...content, ...reported], { type: "finish", finishReason })
}
