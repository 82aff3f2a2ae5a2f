/** The end of a night: all turns end, their logs are read, nothing is left in memory, and the laws about the whole night hold. */
import { Ids, type TurnEvent } from "@holdfast/wire"
import { Effect, Stream } from "effect"
import { isDeepStrictEqual } from "node:util"
import type { Frame } from "../../apps/session-orchestrator/src/engine/conversation/Conversations.ts"
import { type Caller, callerOf, keyOf } from "./Callers.ts"
import type { Disk } from "./Disk.ts"
import type { Fleet } from "./Fleet.ts"
import type { Laws, Logged } from "./Laws.ts"
import { type Call, type Network, promptsIn } from "./Network.ts"
import { ask, type Commander, type Prompter, type Surroundings } from "./People.ts"
import type { Plan } from "./Plan.ts"
import * as Service from "./Service.ts"
import type { Timeline } from "./Timeline.ts"
import type { Watcher } from "./Watcher.ts"
import type { World } from "./World.ts"

/** When all turns are sealed: what they leave behind is gone by then, waits of held calls too (`HeldWaits.KEPT_MS`). */
const QUIET_MS = 1_200_000

/** A watcher that came at the last moment has everything then. */
const SETTLING_MS = 60_000

/** Runners look at each other each second: their nights end sooner. */
const SHARED_MS = 20_000

/** A watcher that came so late has not read yet. */
const JUST_COME_MS = 1_000

/** What has happened in the night. */
export interface Night {
  readonly world: World
  readonly disk: Disk
  readonly plan: Plan
  readonly network: Network
  readonly laws: Laws
  readonly timeline: Timeline
  readonly fleet: Fleet
  readonly around: Surroundings
  readonly prompters: ReadonlyArray<Prompter>
  readonly commanders: ReadonlyArray<Commander>
  readonly watchers: ReadonlyArray<Watcher>
  readonly callers: ReadonlyArray<Caller>
}

export class Ending {
  isOver = false
  private readonly night: Night
  private conversations: ReadonlyArray<string>
  private readonly logs = new Map<string, ReadonlyArray<Frame>>()
  /** The ends of turns, as their clients get them. */
  private readonly ends = new Map<string, TurnEvent.TurnEnd>()
  private timersAtRest = 0

  constructor(night: Night, conversations: ReadonlyArray<string>) {
    this.night = night
    this.conversations = conversations
  }

  private get timers(): number {
    const { fleet, world } = this.night
    return fleet.all.reduce((sum, life) => sum + world.timersOf(life), 0)
  }

  /** No turn is there yet. */
  begin(): void {
    this.timersAtRest = this.timers
  }

  /** Waits until every turn is sealed, and then for what is left of them. */
  look(until: number): void {
    const { fleet, laws, world } = this.night
    const { open } = this
    if (open.length === 0) {
      fleet.isHealed = true
      // A person who edits a queued prompt late sends the other one then.
      const read = () => (this.open.length > 0 ? this.look(until) : this.readAll())
      return fleet.whenReady(() => world.after(fleet.isShared ? SHARED_MS : QUIET_MS, read))
    }
    if (world.now < until) return void world.after(fleet.isShared ? 5_000 : 60_000, () => this.look(until))
    laws.check(
      "X1 every turn ends",
      false,
      () => `${open.map(({ plan }) => plan.id).join(", ")} of a night that was quiet for days`
    )
  }

  /** The people and programs that have no end yet. */
  private get open(): ReadonlyArray<Prompter | Caller> {
    const { callers, laws, prompters } = this.night
    return [
      ...prompters.filter(({ isOver }) => !isOver),
      ...callers.filter(({ isDone, plan: { id } }) => !isDone || laws.heldTurns(id).some(({ end }) => end === null))
    ]
  }

  private readAll(): void {
    this.conversations = [...this.conversations, ...this.night.laws.heldTurns().map(({ conversation }) => conversation)]
    this.read(0)
  }

  /** Reads logs, states and results as a client that comes in the morning. */
  private read(from: number): void {
    const conversation = this.conversations[from]
    const { around, fleet, laws, world } = this.night
    if (conversation === undefined)
      return void world.after(fleet.isShared ? SHARED_MS : SETTLING_MS, () => this.quiet())
    const frames: Array<Frame> = []
    const { count } = this.countOf(conversation)
    const id = Ids.ConversationId.make(conversation)
    const turns = this.turns.filter((one) => one.conversation === conversation)
    ask(
      around,
      ({ conversations }) =>
        Effect.gen({ self: this }, function* () {
          const persisted = conversations.watch(id, 0).pipe(
            Stream.filter(({ id }) => id !== undefined),
            Stream.take(count),
            Stream.orDie
          )
          yield* Stream.runForEach(persisted, (frame) => Effect.sync(() => frames.push(frame)))
          for (const { turn } of turns) {
            const { end } = yield* conversations.result(Ids.TurnId.make(turn), id)
            this.ends.set(turn, end)
          }
          const messages = JSON.stringify(yield* conversations.messages(id))
          return { ...(yield* conversations.state(id)), messages }
        }),
      (outcome) => {
        laws.check("X3 a log can be read", outcome.type === "answered", () => `${conversation}: ${outcome.type}`)
        if (outcome.type === "answered")
          laws.check(
            "D5 a conversation whose turns have ended is idle",
            outcome.value.status === "idle" && outcome.value.queued.length === 0,
            () => `${conversation} is ${JSON.stringify({ ...outcome.value, messages: undefined })}`
          )
        this.logs.set(conversation, frames)
        if (outcome.type === "answered") {
          const has = promptsIn({ body: outcome.value.messages }).map((prompt) => laws.turnOf(prompt))
          const begun = this.begun(conversation)
          laws.check(
            "a conversation's messages are the log",
            isDeepStrictEqual(has, begun),
            () => `${conversation} has ${has.join(", ")}; begun were ${begun.join(", ")}`
          )
        }
        this.read(from + 1)
      }
    )
  }

  private countOf(conversation: string): { readonly count: number } {
    const [row] = this.night.disk.rows<{ readonly count: number }>(
      "SELECT count(*) AS count FROM events e JOIN conversations c ON c.number = e.conversation WHERE c.conversation_id = ?",
      conversation
    )
    return row ?? { count: 0 }
  }

  private quiet(): void {
    const { around, fleet, laws, network } = this.night
    const { timers } = this
    laws.check(
      "memory: no timer is left of a turn",
      fleet.isShared || timers <= this.timersAtRest, // the cluster's own come and go
      () => `${timers} timers, ${this.timersAtRest} at the beginning`
    )
    laws.check(
      "memory: no call is left of a turn",
      network.open().length === 0,
      () => `${network.open().length} calls are open`
    )
    ask(
      around,
      ({ conversations }) => conversations.counts,
      (outcome) => {
        laws.check(
          "memory: no turn is left",
          outcome.type === "answered" && Object.values(outcome.value).every((count) => count === 0),
          () => JSON.stringify(outcome)
        )
        this.isOver = true
      }
    )
  }

  /** The laws about the whole night. */
  check(): void {
    const { callers, commanders, disk, fleet, laws, network, plan, timeline, watchers, world } = this.night
    for (const [conversation, frames] of this.logs) {
      const events = frames.map(({ event, id, json }): Logged => ({ id: id ?? 0, turn: event.turnId, json }))
      laws.log(conversation, events, network.calls)
    }
    const policies = plan.settings.map(Service.policyOf)
    for (const { conversation, turn } of this.turns) {
      const frames = this.logs.get(conversation) ?? []
      const ends = frames.flatMap(({ event }) => (event.type === "turn-end" && event.turnId === turn ? [event] : []))
      laws.check("a turn seals once", ends.length === 1, () => `${turn} has ${ends.length} ends`)
      const [end] = ends
      const result = this.ends.get(turn)
      laws.check(
        "X3 a result is the end in the log",
        isDeepStrictEqual(result, end),
        () => `${turn}: ${JSON.stringify(result)}, ${JSON.stringify(end)}`
      )
      const isEnded = commanders.some(
        ({ plan }) => plan.conversation === conversation && (plan.turn ?? turn) === turn && plan.what.type === "abort"
      )
      laws.check(
        "D8 only an aborted turn ends so",
        end?.status !== "aborted" || isEnded,
        () => `${turn} has had no abort`
      )
      if (end?.queued === true)
        laws.check(
          "X4 a cancelled turn never begins",
          laws.records(turn).every(({ name }) => name === "seal") &&
            frames.every(({ event }) => event.turnId !== turn || event === end),
          () => `${turn} has ${JSON.stringify(laws.records(turn))}`
        )
    }
    const known = new Set(this.turns.map(({ turn }) => turn))
    for (const [conversation, frames] of this.logs) {
      const aborts = commanders.filter(({ plan }) => plan.what.type === "abort" && plan.conversation === conversation)
      const named = new Set(aborts.map(({ plan: { turn } }) => turn))
      const others = frames.filter(
        ({ event }) =>
          event.type === "turn-end" && event.status === "aborted" && !named.has(event.turnId) && known.has(event.turnId)
      )
      const sent = aborts.reduce((sum, { plan: { turn }, sent }) => sum + (turn === undefined ? sent : 0), 0)
      laws.check(
        "X4 an abort ends one turn",
        others.length <= sent,
        () => `${conversation}: ${others.length} of ${sent}`
      )
    }
    for (const call of network.calls) if (callerOf(call) === undefined) this.history(call)
    for (const { turn } of [...this.turns, ...laws.heldTurns()]) {
      laws.limits(turn, policies)
      this.sealed(turn)
    }
    for (const { connectedAt, isBehind, name, passed, plan } of watchers) {
      if (world.now - connectedAt < JUST_COME_MS) continue
      const log = (this.logs.get(plan.conversation) ?? []).filter(
        ({ event }) => plan.turn === undefined || event.turnId === plan.turn
      )
      if (plan.turn !== undefined && passed.length === 0) continue // it asked for a turn before that was there
      const seen = passed.map(({ id, json }) => `${id} ${json}`).join("\n")
      const is = log.map(({ id, json }) => `${id} ${json}`).join("\n")
      const isRight = isBehind ? is.startsWith(seen) : seen === is
      laws.check("X3 a watcher's view is the log", isRight, () => `${name} has:\n${seen}\nthe log has:\n${is}`)
    }
    for (const commander of commanders) commander.checked()
    const own = callers.flatMap(({ plan: { id }, renewals }) =>
      Array.from({ length: renewals + 1 }, (_, n) => keyOf(id, n))
    )
    laws.secrets(
      [...Object.values(Service.KEYS), ...own],
      [...fleet.logLines, ...timeline.lines.filter((line) => line.includes("watcher"))]
    )
    laws.check(
      "the disk is whole",
      disk.rows<{ integrity_check: string }>("PRAGMA integrity_check")[0]?.integrity_check === "ok",
      () => "integrity_check"
    )
    const foreign = disk.rows("PRAGMA foreign_key_check")
    laws.check("the disk is whole", foreign.length === 0, () => JSON.stringify(foreign))
  }

  /** A call's history has the prompts of the turns that have begun before its own, in their order, and of no other. */
  private history(call: Call): void {
    const { laws } = this.night
    const turn = laws.turnOfCall(call)
    const conversation = this.turns.find((one) => one.turn === turn)?.conversation ?? ""
    const begun = this.begun(conversation)
    const before = begun.slice(0, begun.indexOf(turn) + 1)
    const has = promptsIn(call).map((prompt) => laws.turnOf(prompt))
    laws.check(
      "a call's history is the log",
      isDeepStrictEqual(has, before),
      () => `call ${call.number} of ${turn} has ${has.join(", ")}; begun were ${before.join(", ")}`
    )
  }

  /** The turns of people in a conversation that have begun, by the log. */
  private begun(conversation: string): ReadonlyArray<string> {
    const known = new Set(this.turns.map(({ turn }) => turn))
    const begun = (this.logs.get(conversation) ?? []).filter(({ event }) => event.type === "turn-start")
    return begun.flatMap(({ event: { turnId } }) => (known.has(turnId) ? [turnId] : []))
  }

  /** The turns of people's prompts that are on disk. */
  private get turns(): ReadonlyArray<{ readonly conversation: string; readonly turn: string }> {
    return this.night.prompters.flatMap(({ plan: { conversation }, turns }) =>
      turns.map((turn) => ({ conversation, turn }))
    )
  }

  private sealed(turn: string): void {
    const { laws } = this.night
    const seals = laws.records(turn).filter(({ name }) => name === "seal").length
    laws.check("a turn seals once", seals <= 1, () => `${turn} has ${seals} seals`)
  }
}
