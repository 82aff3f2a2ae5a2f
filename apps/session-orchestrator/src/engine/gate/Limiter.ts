/**
 * Enforces the limits of one provider: a call begins when it gets a permit.
 *
 * Limiter.L1. Calls begin in the order in which they asked, first attempts and retries alike.
 * Limiter.L2. A permit is held from the beginning of a call to the end of its connection, and given back once.
 * Limiter.L4. The last known use of other processes counts too.
 *
 * An attempt that waits for a permit has not begun: no time limit counts, and an abort ends the wait.
 */
import { Allowance } from "@holdfast/policy"
import { Clock, Effect } from "effect"
import { Alarm } from "../../base/system/Alarm.ts"
import type { GateClock } from "./Gatekeeper.ts"
import type { StorageError } from "@holdfast/journal"
import type { GateTable, Used } from "../../storage/tables/GateTable.ts"

/** Interval of the next look when calls of other processes hold every permit. */
const LOOK_AGAIN_MS = 1_000

/** A call's permit. */
export interface Permit {
  /** Reports the usage of the call until now. */
  readonly counted: (usage: Partial<Allowance.CallTokens>) => void
  readonly release: () => void
}

/** The limits of one provider and the calls that wait for a permit. */
export class Limiter {
  private own = Allowance.unused
  private others: ReadonlyArray<Allowance.Use> = []
  private readonly allowance: Allowance.Allowance
  private readonly clock: GateClock
  private readonly queue = new Set<Waiting>()
  private readonly alarm: Alarm
  private isSettling = false

  constructor(allowance: Allowance.Allowance, clock: GateClock) {
    this.allowance = allowance
    this.clock = clock
    this.alarm = new Alarm(clock.at, () => this.settle())
  }

  /** Whether tokens are limited, so that a request has to be measured. */
  get countsTokens(): boolean {
    return this.allowance.tokensPerMinute !== undefined
  }

  /** The use of this process. */
  get use(): Allowance.Use {
    return { ...this.own, seconds: Allowance.recent(this.own, this.clock.now()) }
  }

  /** The number of calls that wait for a permit. */
  get waiting(): number {
    return this.queue.size
  }

  /** The calls of this process that wait, and what all processes use of each limit now; absent: it is not configured. */
  get view() {
    const { calls, requestsPerMinute, tokensPerMinute } = this.allowance
    const uses = [this.use, ...this.others]
    const seconds = uses.flatMap((use) => Allowance.recent(use, this.clock.now()))
    const used = (limit: number | undefined, used: number) => (limit === undefined ? undefined : { used, limit })
    const sum = (values: ReadonlyArray<number>) => values.reduce((a, b) => a + b, 0)
    return {
      waiting: this.waiting,
      calls: used(calls, sum(uses.map(({ underway }) => underway))),
      requestsPerMinute: used(requestsPerMinute, sum(seconds.map(({ requests }) => requests))),
      tokensPerMinute: used(tokensPerMinute, sum(seconds.map(({ tokens }) => tokens)))
    }
  }

  /** Sets the use of other processes, as far as it is known (Limiter.L4). */
  setOthers(others: ReadonlyArray<Allowance.Use>): void {
    this.others = others
    this.settle()
  }

  /** Calls `admit` when there is a permit for a call of so many tokens, at once if there is one now; returns a function that ends the wait. */
  request(tokens: number, admit: (permit: Permit) => void): () => void {
    const waiting: Waiting = { tokens, admit }
    this.queue.add(waiting)
    this.settle()
    return () => {
      this.queue.delete(waiting)
      this.settle()
    }
  }

  private settle(): void {
    if (this.isSettling) return
    this.isSettling = true
    while (this.admitFirst()) {}
    this.isSettling = false
  }

  /** Limiter.L1 */
  private admitFirst(): boolean {
    const [first] = this.queue
    const now = this.clock.now()
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
    let known: Allowance.CallTokens | undefined
    let isHeld = true
    this.own = Allowance.begun(this.own, call)
    return {
      counted: ({ inputTokens = estimate, outputTokens = 0 }) => {
        const usage = { inputTokens, outputTokens }
        this.own = Allowance.counted(this.own, this.clock.now(), call, usage, known)
        known = usage
        this.settle()
      },
      release: () => {
        if (!isHeld) return
        isHeld = false // Limiter.L2
        this.own = Allowance.ended(this.own)
        this.settle()
      }
    }
  }
}

/**
 * Makes one exchange of the use of limits with the other runners on the database. `keyOf` gives the key of a provider in the table.
 *
 * A runner counts the last report of each other runner, which is a second old: in that second they may together begin more calls than are allowed.
 * It reports changes of its use, and reports each second while it has calls in progress; without use it costs no query. With the database away
 * each runner keeps the limits by itself.
 */
export const sharing = (
  limiters: ReadonlyMap<string, Limiter>,
  share: GateTable["Service"]["share"],
  keyOf: (provider: string) => string
): Effect.Effect<void, StorageError> => {
  const runner = globalThis.crypto.randomUUID()
  const reported = new Map<string, string>()
  const keys = new Map<string, string>()
  const known = (provider: string): string => {
    const key = keys.get(provider) ?? keyOf(provider)
    keys.set(provider, key)
    return key
  }
  const apply = (rows: ReadonlyArray<Used>): void => {
    for (const [name, limiter] of limiters) {
      const provider = known(name)
      limiter.setOthers(rows.filter((row) => row.provider === provider && row.runner !== runner))
    }
  }
  return Effect.flatMap(Clock.currentTimeMillis, (now) => {
    const own: Array<Used> = []
    const asked: Array<string> = []
    for (const [name, { use, waiting }] of limiters) {
      const provider = known(name)
      const text = JSON.stringify(use)
      const isNews = use.underway > 0 || text !== (reported.get(provider) ?? NO_USE)
      if (isNews) own.push({ provider, runner, ...use })
      if (isNews || waiting > 0) asked.push(provider)
      reported.set(provider, text)
    }
    if (asked.length === 0) return Effect.void
    return share(own, asked, now).pipe(
      Effect.tapError(() => Effect.sync(() => apply([]))),
      Effect.map(apply)
    )
  })
}

// --- internal

interface Waiting {
  readonly tokens: number
  readonly admit: (permit: Permit) => void
}

const NO_USE = JSON.stringify({ underway: 0, seconds: [] })
