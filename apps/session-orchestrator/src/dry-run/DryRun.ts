/**
 * Runs turns under a virtual clock, by the functions of the service (X10).
 *
 * DryRun.R1. It makes at most `mostCalls` attempts, whose answers have at most `MOST_CHARACTERS`, and ends at `until`; turns that have not ended by then
 *     still wait.
 * DryRun.R2. It is a value that is stepped: its host decides how long it keeps the thread.
 */
import type { Allowance, Models, RetryPolicy, Routes } from "@holdfast/policy"
import { Standing } from "@holdfast/policy"
import type { Route } from "@holdfast/kernel"
import { JsonShape } from "@holdfast/wire"
import { Gatekeeper } from "../gate/Gatekeeper.ts"
import * as Gates from "../gate/Gates.ts"
import { Limiter } from "../gate/Limiter.ts"
import { type Limited, SpendAccount } from "../spend/SpendAccount.ts"
import * as ContextSize from "../tokens/ContextSize.ts"
import { DryTurn, type Prompted, type Surroundings } from "./DryTurn.ts"
import type { TurnCourse } from "./TurnCourse.ts"
import { VirtualClock } from "./VirtualClock.ts"

/** The configuration of a dry run. */
export interface Setup {
  readonly policy: RetryPolicy.RetryPolicy
  readonly models: Models.Models
  /** The names of each provider's credentials. */
  readonly credentials: Routes.Known["credentials"]
  /** The endpoint of a provider, for its gate; `undefined`: it has none. */
  readonly endpointOf: Gates.EndpointOf
  readonly allowanceOf: Gates.AllowanceOf
  /** Limits of spending, and the prices that money is computed by. Absent: they are not applied. */
  readonly spend?: Limited
}

/** One dry run. Times are in epoch milliseconds. */
export interface Options {
  readonly setup: Setup
  readonly startAt: number
  readonly until: number
  readonly mostCalls: number
  readonly spread: () => number
  readonly reply: Surroundings["reply"]
  /** Makes the turns; they begin at their own times. */
  readonly turns: (around: Surroundings) => ReadonlyArray<DryTurn>
}

/** The courses of all turns, and how the run ended. */
export interface Result {
  readonly startAt: number
  /** The end of the last turn, or of the run. */
  readonly endAt: number
  readonly turns: ReadonlyArray<TurnCourse>
  /** Why turns have not ended: the run reached its end, or its most calls. Absent: all turns have ended, or nothing more would happen. */
  readonly cut?: "time" | "calls"
}

/** A dry run in progress. */
export class DryRun {
  private readonly clock: VirtualClock
  private readonly turns: ReadonlyArray<DryTurn>
  private readonly options: Options
  private attempts = 0
  private characters = 0

  constructor(options: Options) {
    this.options = options
    const { setup, spread, startAt } = options
    const clock = new VirtualClock(startAt)
    this.clock = clock
    this.turns = options.turns({
      clock,
      policy: setup.policy,
      models: setup.models,
      credentials: setup.credentials,
      countTokens: (request) => ContextSize.of(request, ContextSize.estimate),
      gates: gatesOf(setup, clock),
      standing: { current: Standing.empty },
      spread,
      spend: setup.spend && new SpendAccount(setup.spend),
      reply: (call) => {
        this.attempts++
        const reply = options.reply(call)
        if (reply !== undefined) this.characters += JsonShape.measure(reply.outcome.content).characters
        return reply
      },
      shared: () => void this.attempts++
    })
    for (const turn of this.turns) turn.begin()
  }

  /** Runs up to `most` moments; `false`: the run is over. */
  step(most: number): boolean {
    for (let n = 0; n < most; n++) if (this.isFull || !this.clock.step(this.options.until)) return false
    return true
  }

  /** Whether it has made its most attempts. */
  private get isFull(): boolean {
    return this.attempts >= this.options.mostCalls || this.characters >= MOST_CHARACTERS
  }

  /** The courses until now. */
  get result(): Result {
    const { startAt, until } = this.options
    const turns = this.turns.map(({ course }) => course)
    const isOpen = turns.some(({ end }) => end === undefined)
    const lastEnd = turns.reduce((last, { end }) => Math.max(last, end?.at ?? startAt), startAt)
    const cut = !isOpen ? undefined : this.isFull ? "calls" : "time"
    return { startAt, endAt: cut === "time" ? until : isOpen ? this.clock.now() : lastEnd, turns, ...(cut && { cut }) }
  }
}

/** Runs to the end. */
export const run = (options: Options): Result => {
  const dryRun = new DryRun(options)
  while (dryRun.step(10_000)) {}
  return dryRun.result
}

/** New turns of one target, prompted evenly over a time. */
export const crowd =
  (turns: number, startAt: number, withinMs: number, target: Prompted["target"]): Options["turns"] =>
  (around) =>
    Array.from(
      { length: turns },
      (_, n) =>
        new DryTurn(
          {
            turnId: `turn-${n + 1}`,
            startedAt: startAt + Math.floor((n * withinMs) / turns),
            target,
            isSubmitted: true
          },
          around
        )
    )

/** Numbers that look random and are the same in every run (mulberry32). */
export const draws = (seed: number): (() => number) => {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
}

// --- internal

/** Its turns keep what was answered. */
const MOST_CHARACTERS = 32 * 1024 * 1024

/** The gates and limits of one process. */
const gatesOf = ({ allowanceOf, endpointOf }: Setup, clock: VirtualClock): Gates.Gates["Service"] => {
  const gatekeepers = new Map<string, Gatekeeper>()
  const limiters = new Map<string, Limiter | undefined>()
  return {
    of: (route: Route.Route) => {
      const endpoint = endpointOf(route.target.provider)
      if (endpoint === undefined) return undefined
      const key = Gates.keyOf(route, endpoint)
      const gatekeeper = gatekeepers.get(key) ?? new Gatekeeper(clock)
      gatekeepers.set(key, gatekeeper)
      return gatekeeper
    },
    limiterOf: (provider) => {
      if (!limiters.has(provider)) {
        const allowance: Allowance.Allowance | undefined = allowanceOf(provider)
        limiters.set(provider, allowance && new Limiter(allowance, clock))
      }
      return limiters.get(provider)
    }
  }
}
