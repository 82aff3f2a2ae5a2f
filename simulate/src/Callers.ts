/**
 * Programs that call a model through the gateway: they wait, read slowly, leave, ask again, and renew their login.
 *
 * Each call's body and User-Agent name its program: by them a law finds the program's calls at the providers, and its turns on disk.
 */
import { Heartbeats } from "@holdfast/providers/dialects"
import { Effect, Exit, type Fiber } from "effect"
import * as Exchange from "./Exchange.ts"
import type { Laws } from "./Laws.ts"
import { type Call, callsIn, type Network } from "./Network.ts"
import type { Surroundings } from "./People.ts"
import type { Called } from "./Plan.ts"

/** What programs share. */
export interface Options {
  readonly around: Surroundings
  readonly network: Network
  /** People command its turns. */
  readonly isCommanded: boolean
}

/** Between the end of a connection and the next one. */
const PAUSE_MS = 1_500

/** A program gives up after so many connections that broke off. */
const MOST_CONNECTIONS = 12

/** A client is held by a head after 20 s, and a heartbeat each 10 s; a slow disk stops the thread for 3 s. */
const FIRST_MS = 20_000 + 3_001
const BEAT_MS = 10_000 + 3_001

/** A wait is kept for its client for less than `HeldWaits.KEPT_MS`. */
const KEPT_MS = 800_000

/** What is freed when a client leaves is free by then. */
const FREED_MS = 50

/** A provider call of a program, by its body; `undefined`: it is of a turn. */
export const callerOf = ({ body }: Call): string | undefined => /call:(g\d+);/.exec(body)?.[1]

/** The credential of a program, by how often it was renewed. */
export const keyOf = (id: string, renewals: number): string => `sk-client-${id}-5d1f07c3a9${renewals}`

/** One connection, as the program sees it. */
interface Connection {
  readonly openedAt: number
  status: number | undefined
  text: string
  lastAt: number
}

export class Caller {
  readonly plan: Called
  /** It has its answer, or has given up. */
  isDone = false
  /** How often it has renewed its login. */
  renewals = 0
  private readonly around: Surroundings
  private readonly network: Network
  /** A command of a person may end its wait. */
  isCommanded: boolean
  private readonly agent: string
  private readonly leaves: Array<number>
  private connection: Connection | undefined
  private connections = 0
  private hasContent = false
  /** The wait that it has left, and when. */
  private left: { readonly turn: string; readonly at: number } | undefined

  constructor({ around, isCommanded, network }: Options, plan: Called) {
    this.around = around
    this.network = network
    this.isCommanded = isCommanded
    this.plan = plan
    this.leaves = plan.leaves.slice()
    this.agent = `${plan.agent}-${plan.id}/2.1`
    around.world.after(plan.at, () => around.whenReady(() => this.connect()))
  }

  /** The credential that its calls have at the provider; `undefined`: the provider's own. */
  get key(): string | undefined {
    return this.plan.hasOwnKey ? keyOf(this.plan.id, this.renewals) : undefined
  }

  /** Whether it has a connection. */
  get isWaiting(): boolean {
    return this.connection !== undefined
  }

  /** When its newest connection began. */
  get connectedAt(): number {
    return this.connection?.openedAt ?? 0
  }

  private connect(): void {
    const { life, timeline, whenGone, world } = this.around
    const { hasSession, id, readMs } = this.plan
    const process = life()
    const service = process?.service
    if (process === undefined || service === undefined) return this.again()
    if (++this.connections > MOST_CONNECTIONS) return this.givesUp()
    const connection: Connection = { openedAt: world.now, status: undefined, text: "", lastAt: world.now }
    this.connection = connection
    timeline.add(id, `asks, connection ${this.connections}`)
    this.returns()
    const isOpen = (): boolean => this.connection === connection
    let reading = false
    const { request, response } = Exchange.open(
      "/to/one/chat/completions",
      {
        "content-type": "application/json",
        "user-agent": this.agent,
        authorization: `Bearer ${this.key ?? "holdfast"}`,
        ...(hasSession ? { "x-session-id": `session-${id}` } : {})
      },
      JSON.stringify({ model: "m", stream: true, messages: [{ role: "user", content: `call:${id};` }] }),
      {
        head: (status) => {
          connection.status = status
          connection.lastAt = world.now
        },
        bytes: (text) => {
          connection.text += text
          this.hasContent ||= callsIn(text).size > 0 || text.includes('"tool_calls"') // half a call of a tool
          connection.lastAt = world.now
          this.laws.check(
            "X13 a slow client slows its endpoint down",
            response.excess <= MOST_EXCESS,
            () => `${id} has ${response.excess} characters beyond a full buffer`
          )
          if (readMs === 0) return response.read()
          if (reading) return
          reading = true
          world.after(readMs, () => {
            reading = false
            world.within(process, () => response.read())
          })
        },
        ended: (isWhole) => {
          // As the transport of the service does when a connection closes before its answer is whole.
          if (!isWhole) world.after(0, () => world.within(process, () => fiber?.interruptUnsafe()))
          world.after(1, () => isOpen() && this.ended(connection, isWhole))
        }
      }
    )
    let fiber: Fiber.Fiber<unknown> | undefined
    world.within(process, () => {
      const answering = Effect.runFork(service.gateway.answer(request))
      fiber = answering
      answering.addObserver((exit) => {
        if (!process.isAlive || connection.status !== undefined) return
        // A refusal by the service, which its transport writes.
        const status = Exit.isSuccess(exit) ? exit.value.status : 500
        this.laws.check(
          "X13 a call ends with an answer",
          Exit.isSuccess(exit) || !isOpen(),
          () => `${id}: ${String(exit)}`
        )
        world.after(1, () => {
          if (!isOpen() || connection.status !== undefined) return
          connection.status = status
          this.ended(connection, true)
        })
      })
    })
    const left = this.leaves.shift()
    if (left !== undefined) {
      world.after(left, () => {
        if (!isOpen()) return
        timeline.add(id, "leaves")
        this.connection = undefined
        response.destroyed = true
        if (this.plan.isRenewing === true) this.renewals++
        world.within(process, () => fiber?.interruptUnsafe())
        world.after(FREED_MS, () => this.freed())
        this.again()
      })
    }
    whenGone(process, () => {
      if (!isOpen()) return
      timeline.add(id, "lost its service")
      this.connection = undefined
      this.again()
    })
    world.after(FIRST_MS, () => this.held(connection))
  }

  private get laws(): Laws {
    return this.around.laws
  }

  private again(): void {
    const { laws, whenReady, world } = this.around
    const wait = laws.heldTurns(this.plan.id).findLast(({ end }) => end === null)
    if (wait !== undefined) this.left = { turn: wait.turn, at: world.now }
    world.after(PAUSE_MS, () => whenReady(() => this.connect()))
  }

  /** The wait that it has left is there. After content its turn has ended, or ends. */
  private returns(): void {
    const { left } = this
    const { laws, world } = this.around
    this.left = undefined
    if (left === undefined || this.isCommanded || this.hasContent || world.now - left.at > KEPT_MS) return
    const state = laws.stateOf(left.turn)
    laws.check("X13 a wait is there for its client", state === "unsealed", () => `${left.turn} is ${state}`)
  }

  /** It has met nothing but failures. */
  private givesUp(): void {
    const last = this.network.calls.findLast((call) => callerOf(call) === this.plan.id)
    const isAnswer = last?.reply.type === "answer" || last?.reply.type === "tool"
    this.laws.check(
      "X13 an answer reaches its client",
      !isAnswer,
      () => `${this.plan.id} gives up after call ${last?.number}`
    )
    this.over("gives up")
  }

  private over(how: string): void {
    this.around.timeline.add(this.plan.id, how)
    this.connection = undefined
    this.isDone = true
  }

  /** A client that left has no call at a provider. */
  private freed(): void {
    const open = this.network.open().filter((call) => callerOf(call) === this.plan.id)
    this.laws.check(
      "X13 a client that leaves frees its call",
      open.length === 0,
      () => `call ${open[0]?.number} of ${this.plan.id} is open`
    )
  }

  /** A client that waits is held. */
  private held(connection: Connection): void {
    if (this.connection !== connection || connection.text.includes("data:")) return // the answer has begun
    const { world } = this.around
    const silentMs = world.now - connection.lastAt
    this.laws.check(
      "X13 a client that waits is held",
      connection.status !== undefined && silentMs <= BEAT_MS,
      () => `${this.plan.id} has had nothing for ${silentMs} ms, ${world.now - connection.openedAt} ms after it asked`
    )
    world.after(BEAT_MS, () => this.held(connection))
  }

  private ended(connection: Connection, isWhole: boolean): void {
    const { hasOwnKey, hasSession, id } = this.plan
    const { status = 0, text } = connection
    this.connection = undefined
    this.around.timeline.add(id, `${isWhole ? "has its answer" : "is cut"}: ${status}`, text)
    this.content(text, isWhole)
    if (isWhole && status === 401 && hasOwnKey && hasSession) {
      this.renewals++
      return this.again()
    }
    if (!isWhole || status === 503) return this.again()
    this.over("is done")
  }

  /** The bytes of an answer are those of one call, from its beginning; all of them, unless it is cut. */
  private content(text: string, isWhole: boolean): void {
    const { id } = this.plan
    const said = Array.from(callsIn(text))
    const call = this.network.calls[said[0] ?? -1]
    this.laws.check("X13 a held call gets the bytes of one call", said.length <= 1, () => `${id} has ${text}`)
    if (call === undefined) return
    const beat = Buffer.from(Heartbeats.of("chat", "events", this.agent)).toString()
    let rest = text
    while (rest.startsWith(beat)) rest = rest.slice(beat.length)
    const isRight = isWhole
      ? rest === call.sent && (call.reply.type === "answer" || call.reply.type === "tool")
      : call.sent.startsWith(rest)
    this.laws.check(
      "X13 bytes pass unchanged",
      isRight && callerOf(call) === id,
      () =>
        `${id} has, ${isWhole ? "whole" : "cut"}:\n${rest}\ncall ${call.number} (${call.reply.type}) sent:\n${call.sent}`
    )
  }
}

// --- internal

/** Two frames of the provider's answer. */
const MOST_EXCESS = 250
