/**
 * People and their clients: they prompt and command, and repeat themselves.
 *
 * A client calls `Conversations` as a transport does. When the process dies, what it had not answered is lost.
 */
import { Ids, Labels } from "@holdfast/wire"
import { Cause, Effect, Exit } from "effect"
import { type Laws, textOf } from "./Laws.ts"
import type { Call } from "./Network.ts"
import type { Commanded, Prompted } from "./Plan.ts"
import type { Life, Service } from "./Service.ts"
import type { Timeline } from "./Timeline.ts"
import type { World } from "./World.ts"

/** What people share. */
export interface Surroundings {
  readonly world: World
  readonly laws: Laws
  readonly timeline: Timeline
  readonly calls: ReadonlyArray<Call>
  /** Several runners: what one sends is sent again by the next. */
  readonly isShared: boolean
  /** An answer that breaks off is void although clients have some of it. */
  readonly isDiscarding: boolean
  /** The process that takes calls now. */
  readonly life: () => Life | undefined
  /** Calls `act` once a process takes calls: now, if one does. */
  readonly whenReady: (act: () => void) => void
  /** Calls `act` when a process is gone. */
  readonly whenGone: (life: Life, act: () => void) => void
}

/** How a call of a client ended. */
type Outcome<A> =
  | { readonly type: "answered"; readonly value: A }
  | { readonly type: "refused"; readonly error: { readonly _tag: string; readonly message: string } }
  /** The process is not there, or died before it answered. */
  | { readonly type: "lost" }

/** Between two tries of a client. */
const PAUSE_MS = 1_500

/** Calls the service; `then` gets the outcome once. `atOnce` sees an answer before anything else happens. */
export const ask = <A, E extends { readonly _tag: string; readonly message: string }>(
  { laws, life, whenGone, world }: Surroundings,
  call: (service: Service) => Effect.Effect<A, E>,
  then: (outcome: Outcome<A>) => void,
  atOnce: (value: A, by: Life) => void = () => {}
): void => {
  const asked = life()
  const service = asked?.service
  if (asked === undefined || service === undefined) return then({ type: "lost" })
  let isOver = false
  const over = (outcome: Outcome<A>): void => {
    if (isOver) return
    isOver = true
    world.after(0, () => then(outcome))
  }
  world.within(asked, () => {
    Effect.runFork(call(service)).addObserver((exit) => {
      if (!asked.isAlive) return
      if (Exit.isSuccess(exit)) {
        atOnce(exit.value, asked)
        return over({ type: "answered", value: exit.value })
      }
      const failure = exit.cause.reasons.find(Cause.isFailReason)
      laws.check("C10 no call dies of a defect", failure !== undefined || isStopped(exit.cause), () =>
        Cause.pretty(exit.cause)
      )
      over(failure === undefined ? { type: "lost" } : { type: "refused", error: failure.error })
    })
  })
  whenGone(asked, () => over({ type: "lost" }))
}

/** A prompt that is sent until it is acknowledged. Without an id of its turn, each time is another prompt. */
export class Prompter {
  readonly plan: Prompted
  isAcknowledged = false
  /** The names of what was sent. */
  private readonly sent = new Set<string>()
  private readonly waiting: Array<() => void> = []
  private readonly around: Surroundings
  private readonly answered: (by: Life) => void

  /** `answered` is called with the process that acknowledges it. */
  constructor(around: Surroundings, plan: Prompted, answered: (by: Life) => void = () => {}) {
    this.around = around
    this.plan = plan
    this.answered = answered
  }

  begin(): void {
    const { againAfter, at } = this.plan
    const { world } = this.around
    world.after(at, () => this.send())
    if (againAfter !== undefined) world.after(at + againAfter, () => this.send())
  }

  /** Its turns: one if the client names it, and otherwise those on disk. */
  get turns(): ReadonlyArray<string> {
    const { id, isNamed } = this.plan
    if (isNamed) return [id]
    return Array.from(this.sent).flatMap((name) => this.around.laws.turnOf(name) ?? [])
  }

  /** It is acknowledged, and its turns have ended. */
  get isOver(): boolean {
    return this.isAcknowledged && this.turns.every((turn) => this.around.laws.stateOf(turn) === "sealed")
  }

  /** Calls `act` once the turn is acknowledged. */
  whenAcknowledged(act: () => void): void {
    if (this.isAcknowledged) act()
    else this.waiting.push(act)
  }

  private send(): void {
    const { laws, timeline, whenReady, world } = this.around
    const { conversation, id: planned, isNamed, isSubmitted } = this.plan
    const id = isNamed ? planned : `${planned}x${this.sent.size}`
    this.sent.add(id)
    timeline.add("person", `prompts ${id} in ${conversation}`)
    ask(
      this.around,
      ({ conversations }) =>
        conversations.prompt(Ids.ConversationId.make(conversation), {
          prompt: textOf(id),
          ...(isNamed ? { turnId: Ids.TurnId.make(id) } : {}),
          isSubmitted
        }),
      (outcome) => {
        timeline.add("person", `prompt ${id}: ${wordsOf(outcome)}`)
        if (outcome.type === "answered") {
          this.isAcknowledged = true
          for (const act of this.waiting.splice(0)) act()
          return
        }
        if (outcome.type === "refused")
          laws.check(
            "X4 a prompt is repeatable",
            PASSING.has(outcome.error._tag),
            () => `${id}: ${outcome.error.message}`
          )
        world.after(PAUSE_MS, () => whenReady(() => this.send()))
      },
      (turn, by) => {
        laws.acknowledged.add(turn)
        laws.check("C2 nothing acknowledged is lost", laws.turnOf(id) === turn, () => `${id}, ${turn}, is not on disk`)
        this.answered(by)
      }
    )
  }
}

/** A command that is sent now, and perhaps again, and its answers. */
export class Commander {
  readonly plan: Commanded
  readonly answers: Array<boolean | "unknown"> = []
  /** How often it was sent. */
  sent = 0
  private readonly until: number
  private readonly around: Surroundings
  private readonly answered: () => void

  /** `answered` is called when the person has an answer, or none comes. */
  constructor(around: Surroundings, plan: Commanded, answered: () => void = () => {}) {
    this.around = around
    this.plan = plan
    this.answered = answered
    const { againAfter, copies = 1, what } = plan
    this.until = around.world.now + (what.type === "wait-until" ? what.inMs : 0)
    for (let n = 0; n < copies; n++) this.send("terminal")
    if (againAfter !== undefined) around.world.after(againAfter, () => this.send("page"))
  }

  /** At the end: a command has its effect once, if it was answered with true, and none if it was answered with false alone. */
  checked(): void {
    const { laws } = this.around
    const { id, turn, what } = this.plan
    if (what.type === "abort" || what.type === "by-session" || this.answers.length === 0) return
    const others = laws.turnsOf(id).filter((reached) => turn !== undefined && reached !== turn)
    laws.check(
      "X4 a command reaches its turn alone",
      others.length === 0,
      () => `${id} of ${turn} reached ${others.join(", ")}`
    )
    const effects = laws.effectsOf(id)
    const isDone = this.answers.includes(true)
    const isNot = this.answers.every((answer) => answer === false)
    laws.check(
      "X4 a command has its effect once",
      effects <= 1 && !(isDone && effects === 0) && !(isNot && effects > 0),
      () => `${what.type} ${id} was answered ${this.answers.join(", ")}, and is in ${effects} records`
    )
  }

  private send(origin: string): void {
    const { isShared, laws, timeline } = this.around
    const { conversation, id, turn, what } = this.plan
    this.sent++
    // A turn that is on disk alone has no owner yet.
    const isKnown = turn !== undefined && (!isShared || laws.acknowledged.has(turn))
    const isOpen = isKnown && laws.stateOf(turn) === "unsealed"
    timeline.add("person", `${what.type} ${id} of ${turn ?? conversation}, from the ${origin}`)
    ask(
      this.around,
      (service) => this.effect(service, origin),
      (outcome) => {
        timeline.add("person", `${what.type} ${id}: ${wordsOf(outcome)}`)
        this.answers.push(outcome.type === "answered" ? outcome.value : "unknown")
        if (this.answers.length === 1) this.answered()
      },
      (isDone) => {
        // A turn that was there is aborted, or had ended before.
        if (what.type === "abort" && turn !== undefined && (isDone || isOpen))
          laws.check("X4 an answered abort is on disk", laws.stateOf(turn) === "sealed", () => `${turn} is not sealed`)
        if (!isDone) return
        if (what.type !== "abort" && what.type !== "by-session")
          laws.check("X4 an answered command is on disk", laws.effectsOf(id) > 0, () => `${id} is in no record`)
      }
    )
  }

  private effect(
    { bulk, conversations }: Service,
    origin: string
  ): Effect.Effect<boolean, { readonly _tag: string; readonly message: string }> {
    const { conversation, id, turn, what } = this.plan
    const conversationId = Ids.ConversationId.make(conversation)
    const meant = turn === undefined ? undefined : Ids.TurnId.make(turn)
    const by = { conversationId, commandId: Ids.CommandId.make(id) }
    const steer = (command: Parameters<typeof conversations.steer>[0]) => conversations.steer(command, origin, meant)
    switch (what.type) {
      case "abort":
        return conversations.abort(conversationId, meant)
      case "by-session":
        return Effect.map(
          bulk.run(
            { command: { type: what.command }, filter: { tag: Labels.Tag.make(`session-${what.caller}`) } },
            origin
          ),
          ({ turns }) => this.ofSession(what.caller, turns)
        )
      case "wait-until":
        return steer({ type: what.type, ...by, until: this.until })
      case "answer-tool":
        return steer({ ...what, ...by })
      case "extend-budget":
        return steer({ type: what.type, ...by, byMs: what.byMs })
      case "switch-target":
        return steer({ type: what.type, ...by, model: what.model })
      default:
        return steer({ type: what.type, ...by })
    }
  }

  /** A command for a session reaches the turns of its program alone; returns whether it did something. */
  private ofSession(
    caller: string,
    turns: ReadonlyArray<{ readonly turnId: string; readonly outcome: string }>
  ): boolean {
    const { laws } = this.around
    const own = new Set(laws.heldTurns(caller).map(({ turn }) => turn))
    laws.check(
      "X15 a command for a session reaches its turns",
      turns.every(({ turnId }) => own.has(turnId)),
      () => `${JSON.stringify(turns)}, and ${caller} has ${Array.from(own).join(", ")}`
    )
    return turns.some(({ outcome }) => outcome === "done")
  }
}

// --- internal

/** Errors that pass: the client sends the same again. */
const PASSING: ReadonlySet<string> = new Set(["StorageError", "ShuttingDown", "TurnStopped"])

const isStopped = (cause: Cause.Cause<unknown>): boolean => cause.reasons.every(Cause.isInterruptReason)

const wordsOf = (outcome: Outcome<unknown>): string =>
  outcome.type === "answered"
    ? `answered ${String(outcome.value)}`
    : outcome.type === "refused"
      ? `refused: ${outcome.error.message}`
      : "no answer"
