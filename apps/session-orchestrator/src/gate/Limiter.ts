/**
 * Keeps the limits of one provider: a call begins when it gets a permit.
 *
 * Limiter.L1. Calls begin in the order in which they asked, first attempts and retries alike.
 * Limiter.L2. A permit is held from the beginning of a call to the end of its connection, and given back once.
 * Limiter.L3. What waits for a permit is an attempt that has not begun: no limit in time counts, and an abort ends it.
 * Limiter.L4. A call counts what other processes were last known to use.
 */
import { Allowance } from "@holdfast/policy"
import { Effect, type Scope } from "effect"
import { Alarm } from "../system/Alarm.ts"
import type { World } from "./Gatekeeper.ts"

/** How often to look again where calls of other processes hold every permit. */
const LOOK_AGAIN_MS = 1_000

/** A call's permit. */
export interface Permit {
  /** Usage was reported; all of the call until now. */
  readonly counted: (usage: Partial<Allowance.Usage>) => void
  readonly release: () => void
}

export class Limiter {
  private own = Allowance.unused
  private others: ReadonlyArray<Allowance.Use> = []
  private readonly allowance: Allowance.Allowance
  private readonly world: World
  private readonly queue = new Set<Waiting>()
  private readonly alarm: Alarm
  private isSettling = false

  constructor(allowance: Allowance.Allowance, world: World) {
    this.allowance = allowance
    this.world = world
    this.alarm = new Alarm(world.at, () => this.settle())
  }

  /** Whether tokens are limited, so that a request has to be measured. */
  get countsTokens(): boolean {
    return this.allowance.tokensPerMinute !== undefined
  }

  /** What this process uses. */
  get use(): Allowance.Use {
    return { ...this.own, seconds: Allowance.recent(this.own, this.world.now()) }
  }

  /** Calls that wait for a permit. */
  get waiting(): number {
    return this.queue.size
  }

  /** What other processes use, as far as is known (L4). */
  hear(others: ReadonlyArray<Allowance.Use>): void {
    this.others = others
    this.settle()
  }

  /** A permit for a call, until the scope closes. */
  permit(tokens: number): Effect.Effect<Permit, never, Scope.Scope> {
    return Effect.acquireRelease(
      Effect.callback<Permit>((resume) => {
        const waiting: Waiting = { tokens, admit: (permit) => resume(Effect.succeed(permit)) }
        this.queue.add(waiting)
        this.settle()
        return Effect.sync(() => {
          this.queue.delete(waiting)
          this.settle()
        })
      }),
      ({ release }) => Effect.sync(release),
      { interruptible: true }
    )
  }

  private settle(): void {
    if (this.isSettling) return
    this.isSettling = true
    while (this.admitFirst()) {}
    this.isSettling = false
  }

  /** L1 */
  private admitFirst(): boolean {
    const [first] = this.queue
    const now = this.world.now()
    const at =
      first === undefined ? Infinity : Allowance.nextAt(this.allowance, [this.own, ...this.others], now, first.tokens)
    if (first === undefined || at > now) {
      const isOthers = first !== undefined && at === Infinity && this.others.some(({ underway }) => underway > 0)
      this.alarm.set(isOthers ? now + LOOK_AGAIN_MS : at)
      return false
    }
    this.queue.delete(first)
    first.admit(this.begin(now, first.tokens))
    return true
  }

  private begin(beganAt: number, estimate: number): Permit {
    const call = { beganAt, estimate }
    let known: Allowance.Usage | undefined
    let isHeld = true
    this.own = Allowance.begun(this.own, call)
    return {
      counted: ({ inputTokens = estimate, outputTokens = 0 }) => {
        const usage = { inputTokens, outputTokens }
        this.own = Allowance.counted(this.own, this.world.now(), call, usage, known)
        known = usage
        this.settle()
      },
      release: () => {
        if (!isHeld) return
        isHeld = false // L2
        this.own = Allowance.ended(this.own)
        this.settle()
      }
    }
  }
}

// --- internal

interface Waiting {
  readonly tokens: number
  readonly admit: (permit: Permit) => void
}
