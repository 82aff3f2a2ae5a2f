/** Clients that watch: they lose their connections and come again, with the `Cursor` of the package `client`. */
import { Cursor } from "@holdfast/client"
import { Ids } from "@holdfast/wire"
import { Effect, type Fiber, Stream } from "effect"
import type { Frame } from "../../apps/session-orchestrator/src/engine/conversation/Conversations.ts"
import { callsIn } from "./Network.ts"
import type { Prompter, Surroundings } from "./People.ts"
import type { Watched } from "./Plan.ts"

/** A client that watches from now on, and what it has seen. */
export class Watcher {
  readonly plan: Watched
  readonly name: string
  /** The persisted events that were passed on. */
  readonly passed: Array<Frame> = []
  private cursor: Cursor.Cursor
  private readonly around: Surroundings
  private readonly lasts: Array<number>
  /** The call whose words are shown, by turn and step. */
  private readonly shown = new Map<string, number>()
  /** The calls whose message has come. */
  private readonly kept = new Set<number>()
  private readonly steps = new Map<string, { readonly step: number; text: string }>()
  /** The last wait of each turn that this connection has announced. */
  private readonly waits = new Map<string, string>()
  private connection = 0
  /** When its newest connection began, and when it last took something. */
  connectedAt = 0
  private tookAt = 0

  constructor(around: Surroundings, name: string, plan: Watched, watched: Prompter | undefined) {
    this.around = around
    this.name = name
    this.plan = plan
    this.lasts = plan.lasts.slice()
    const { turn } = plan
    this.cursor = Cursor.start(turn === undefined ? {} : { turnId: turn })
    const connect = () => around.whenReady(() => this.connect())
    if (watched === undefined) connect()
    else watched.whenAcknowledged(connect)
  }

  /** It reads slowly, and has not taken all that is there. */
  get isBehind(): boolean {
    const { latencyMs, readMs } = this.plan
    return readMs > 0 && this.around.world.now - this.tookAt <= readMs + latencyMs
  }

  private connect(): void {
    const { life, timeline, whenGone, world } = this.around
    const { conversation, latencyMs, readMs, turn } = this.plan
    const process = life()
    const service = process?.service?.conversations
    const number = ++this.connection
    const openedAt = world.now
    this.connectedAt = openedAt
    this.waits.clear()
    if (process === undefined || service === undefined) return this.again(number, 0)
    timeline.add(this.name, `connects after event ${this.cursor.after}`)
    let fiber: Fiber.Fiber<void, unknown> | undefined
    const close = (why: string): void => {
      if (this.connection !== number) return
      timeline.add(this.name, why)
      world.within(process, () => fiber?.interruptUnsafe())
      this.again(number, world.now - openedAt)
    }
    let last = 0
    world.within(process, () => {
      const id = Ids.ConversationId.make(conversation)
      const frames: Stream.Stream<Frame, unknown> =
        turn === undefined ? service.watch(id, this.cursor.after) : service.watchTurn(Ids.TurnId.make(turn))
      fiber = Effect.runFork(
        Stream.runForEachArray(frames, (frames) =>
          Effect.suspend(() => {
            if (!process.isAlive) return Effect.never
            this.tookAt = world.now
            last = this.inOrder(frames, last)
            world.after(latencyMs, () => {
              if (this.connection !== number) return
              const then = this.read(frames)
              if (then === "over") this.connection++
              else if (then !== "read") close(`gives its connection up: ${then}`)
            })
            return readMs === 0 ? Effect.void : Effect.sleep(readMs)
          })
        )
      )
      fiber.addObserver(() => void (process.isAlive && world.after(latencyMs, () => close("was disconnected"))))
    })
    const lasts = this.lasts.shift()
    if (lasts !== undefined) world.after(lasts, () => close("loses its connection"))
    whenGone(process, () => close("lost its service"))
  }

  /** A connection brings each persisted event once, in order; returns the last. */
  private inOrder(frames: ReadonlyArray<Frame>, last: number): number {
    for (const { id } of frames) {
      if (id === undefined) continue
      this.around.laws.check(
        "X3 a connection has each event once",
        id > last,
        () => `${this.name}: ${id} after ${last}`
      )
      last = id
    }
    return last
  }

  private again(number: number, openMs: number): void {
    if (this.connection !== number) return
    this.connection++
    const { cursor, delayMs } = Cursor.ended(this.cursor, { openMs, spread: 0.5 })
    this.cursor = cursor
    const { whenReady, world } = this.around
    world.after(Math.max(delayMs, 1), () => whenReady(() => this.connect()))
  }

  private read(frames: ReadonlyArray<Frame>): Cursor.Passed["then"] {
    const { laws } = this.around
    const { cursor, passed, then } = Cursor.received(this.cursor, frames)
    this.cursor = cursor
    const isWhole = then !== "reconnect" && then !== "restored"
    laws.check("X3 no event is left out", isWhole, () => `${this.name}: ${then}`)
    for (const frame of passed) {
      if (frame.id !== undefined) this.passed.push(frame as Frame)
      this.show(frame as Frame)
    }
    return then
  }

  private show({ event, json }: Frame): void {
    const { calls, isDiscarding, isShared, laws, timeline } = this.around
    const { turnId } = event
    const step = this.steps.get(turnId)
    const place = `${turnId}/${step?.step}`
    timeline.add(this.name, wordsOf(event), json)
    switch (event.type) {
      case "step-start":
        this.steps.set(turnId, { step: event.step, text: "" })
        this.waits.delete(turnId) // an early attempt by the gate may be followed by the rest of the wait
        return
      case "provider-retry":
        laws.check(
          "D5 a wait is announced once",
          isShared || this.waits.get(turnId) !== json,
          () => `${this.name} gets ${json} again`
        )
        this.waits.set(turnId, json)
        return
      case "step-discarded":
        laws.check(
          "X7 content that a client has is not void",
          isDiscarding || step === undefined || step.text === "" || laws.hasLost(turnId, event.step),
          () => `${this.name} has "${step?.text}" of ${place}`
        )
        this.shown.delete(`${turnId}/${event.step}`)
        if (step !== undefined) step.text = ""
        return
      case "text-delta": {
        const said = Array.from(callsIn(event.delta))
        const known = this.shown.get(place)
        laws.check(
          "D4 a step shows one call",
          said.length === 1 && (known ?? said[0]) === said[0],
          () =>
            `${this.name} was shown ${known === undefined ? "nothing" : `call ${known}`} of ${place}, and gets ${event.delta}`
        )
        const call = said[0] ?? -1
        this.shown.set(place, call)
        laws.check(
          "X3 text precedes its message",
          !this.kept.has(call),
          () => `${this.name} has the message of call ${call}, and gets ${event.delta}`
        )
        laws.check("X3 a step's text has its beginning", step !== undefined, () => `${this.name}: ${event.delta}`)
        if (step === undefined) return
        step.text += event.delta
        laws.check(
          "X3 text comes once and whole",
          calls[call]?.said.join("").startsWith(step.text) === true,
          () => `${this.name} has "${step.text}" of ${place}`
        )
        return
      }
      case "message": {
        if (event.message.role !== "assistant") return
        const text = event.message.content.map((part) => (part.type === "text" ? part.text : "")).join("")
        const known = this.shown.get(place)
        const said = Array.from(callsIn(text))
        laws.check(
          "X2 what was shown is what is kept",
          known === undefined || said.length === 0 || said[0] === known,
          () => `${this.name} was shown call ${known} of ${place}, and the message is of call ${said.join(", ")}`
        )
        for (const call of said) this.kept.add(call)
        this.steps.delete(turnId)
        return
      }
    }
  }
}

// --- internal

/** An event in a few words. */
const wordsOf = (event: Frame["event"]): string => {
  const { turnId, type } = event
  switch (type) {
    case "step-start":
      return `${turnId}: step ${event.step} begins at ${event.target}`
    case "text-delta":
      return `${turnId}: "${event.delta}"`
    case "provider-retry":
      return `${turnId}: ${event.message} Retry ${event.attempt} in ${event.delayMs} ms`
    case "message":
      return `${turnId}: message of the ${event.message.role}: ${event.message.content.map((part) => (part.type === "text" ? part.text : part.type)).join("")}`
    case "turn-end":
      return `${turnId}: ends, ${event.status}`
    default:
      return `${turnId}: ${type}`
  }
}
