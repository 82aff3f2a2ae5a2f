/**
 * Runs turns under a virtual clock, by the functions of the service (X10).
 *
 * It makes at most `mostCalls` attempts, whose answers have at most `MOST_CHARACTERS`, and ends at `until`; turns that have not ended by
 * then still wait. It is a value that is stepped: its host decides how long it keeps the thread.
 */
import { type Models, type RetryPolicy, Routers, type Routes } from "@holdfast/policy"
import { JsonShape } from "@holdfast/wire"
import { Context, Effect, Layer, Random, Scope } from "effect"
import type { SpendSettings } from "../../engine/conversation/Defaults.ts"
import * as Gates from "../../engine/gate/Gates.ts"
import * as Spending from "../../engine/spend/Spending.ts"
import * as ContextSize from "../../base/tokens/ContextSize.ts"
import { DryTurn, type Prompted, type Surroundings } from "./DryTurn.ts"
import type { DryTurnCourse } from "./DryTurnCourse.ts"
import { VirtualClock } from "./VirtualClock.ts"

/** The configuration of a dry run. */
export interface DryRunSetup {
  readonly policy: RetryPolicy.RetryPolicy
  readonly models: Models.Models
  /** The names of each provider's credentials. */
  readonly credentials: Routes.Known["credentials"]
  /** The endpoint of a provider, for its gate; `undefined`: it has none. */
  readonly endpointOf: Gates.EndpointOf
  readonly allowanceOf: Gates.AllowanceOf
  /** Limits of spending, and the prices that money is computed by. Absent: they are not applied. */
  readonly spend?: SpendSettings
}

/** One dry run. Times are in epoch milliseconds. */
interface Options {
  readonly setup: DryRunSetup
  readonly startAt: number
  readonly until: number
  readonly mostCalls: number
  readonly spread: () => number
  readonly reply: Surroundings["reply"]
  /** Makes the turns, one after the other; they begin at their own times. */
  readonly turns: (around: Surroundings) => Iterable<DryTurn>
}

/** The courses of all turns, and how the run ended. */
export interface DryRunResult {
  readonly startAt: number
  /** The end of the last turn, or of the run. */
  readonly endAt: number
  readonly turns: ReadonlyArray<DryTurnCourse>
  /** Why turns have not ended: the run reached its end, or its most calls. Absent: all turns have ended, or nothing more would happen. */
  readonly cut?: "time" | "calls"
}

/** A dry run in progress. */
export class DryRun {
  private readonly clock: VirtualClock
  private readonly turns: Array<DryTurn> = []
  private readonly courses: Array<DryTurnCourse> = []
  private readonly making: Iterator<DryTurn, unknown>
  private readonly options: Options
  private attempts = 0
  private characters = 0

  constructor(options: Options) {
    this.options = options
    const { setup, spread, startAt } = options
    const { allowanceOf, credentials, endpointOf, models, policy, spend } = setup
    const clock = new VirtualClock(startAt, spread)
    const runNow = Effect.runSyncWith(clock.services)
    const gates = Layer.buildWithScope(Gates.layer(endpointOf, allowanceOf), Scope.makeUnsafe())
    this.clock = clock
    const turns = options.turns({
      clock,
      policy,
      models,
      credentials,
      countTokens: (request) => ContextSize.of(request, ContextSize.estimate),
      gates: Context.get(runNow(gates), Gates.Gates),
      standings: Routers.inMemory(),
      spending: spend && runNow(Spending.make(spend, NOTHING_SPENT)),
      reply: (call) => {
        this.attempts++
        const reply = options.reply(call)
        if (reply !== undefined) this.characters += JsonShape.measure(reply.outcome.content).characters
        return reply
      },
      shared: () => void this.attempts++
    })
    this.making = turns[Symbol.iterator]()
  }

  /** Makes up to `most` turns, runs up to so many moments, or reads so many courses; `false`: the run is over. */
  step(most: number): boolean {
    for (let n = 0; n < most; n++)
      if (!this.make() && (this.isFull || !this.clock.step(this.options.until)) && !this.read()) return false
    return true
  }

  private read(): boolean {
    const turn = this.turns[this.courses.length]
    if (turn !== undefined) this.courses.push(turn.course)
    return turn !== undefined
  }

  private make(): boolean {
    const { done, value } = this.making.next()
    if (done === true) return false
    this.turns.push(value)
    value.begin()
    return true
  }

  /** Whether it has made its most attempts. */
  private get isFull(): boolean {
    return this.attempts >= this.options.mostCalls || this.characters >= MOST_CHARACTERS
  }

  /** The courses of a run that is over. */
  get result(): DryRunResult {
    const { courses, options } = this
    const result = resultOf(courses, options)
    return this.isFull && result.cut !== undefined ? { ...result, cut: "calls", endAt: this.clock.now() } : result
  }
}

/** The result of turns that had until a time to end. */
export const resultOf = (
  turns: DryRunResult["turns"],
  { startAt, until }: Pick<Options, "startAt" | "until">
): DryRunResult => {
  if (turns.some(({ end }) => end === undefined)) return { startAt, endAt: until, turns, cut: "time" }
  return { startAt, endAt: turns.reduce((last, { end }) => Math.max(last, end?.at ?? startAt), startAt), turns }
}

/** New turns of one target, prompted evenly over a time. */
export const crowd = (turns: number, startAt: number, withinMs: number, target: Prompted["target"]): Options["turns"] =>
  function* (around) {
    for (let n = 0; n < turns; n++) {
      const startedAt = startAt + Math.floor((n * withinMs) / turns)
      yield new DryTurn({ turnId: `turn-${n + 1}`, startedAt, target, isSubmitted: true }, around)
    }
  }

/** Numbers that look random and are the same in every run. */
export const draws = (): (() => number) => {
  const random = Effect.runSync(Random.withSeed(Effect.service(Random.Random), "dry run"))
  return () => random.nextDoubleUnsafe()
}

// --- internal

/** Its turns keep what was answered. */
const MOST_CHARACTERS = 32 * 1024 * 1024

/** There are no turns before the run. */
const NOTHING_SPENT: Spending.Sources = {
  lists: {
    turns: () => Effect.succeed({ rows: [], next: undefined }),
    labelsOf: () => Effect.succeed({})
  },
  log: { load: () => Effect.succeed([]) }
}
