/**
 * Compares routing with a simple model, over generated histories of a conversation.
 *
 * A history has steps, findings of other turns and the passing of time, in any order. The models implement the rules in the simplest way:
 * which pause blocks which target until when, and which target is next.
 */
import { describe, expect, it } from "@effect/vitest"
import type { Failure } from "@holdfast/wire"
import * as fc from "fast-check"
import { Backoff, Standing } from "../../src/index.ts"
import { asking, failure, HOUR, MINUTE, RoutedStep, SECOND, START, target } from "./RoutedStep.ts"

interface Obstacle {
  readonly until: number
  readonly mends: boolean
  readonly asked: number
  /** It is a rate limit. */
  readonly isRate?: boolean
}

/** Obstacles have names: `a/one` a target, `#K1` a quota, `!K1` an account, `#K1/one` a model of a credential. */
const thingOf = (name: string): Standing.Thing => {
  if (name.startsWith("!")) return Standing.account("a", name.slice(1))
  const [key = "", model] = name.slice(1).split("/")
  if (!name.startsWith("#")) return Standing.target(target(name))
  return model === undefined ? Standing.credential("a", key) : Standing.model({ provider: "a", model }, key)
}

/** The expected behaviour of a conversation on a fallback chain. */
class ChainModel {
  now = START
  isOver = false
  here = ""
  retries = 0
  left = new Set<string>()
  readonly obstacles = new Map<string, Obstacle>()
  readonly order = ["a/one", "b/one", "a/two"]
  readonly keys = ["K1", "K2"]
  readonly revert: string

  constructor(revert: string) {
    this.revert = revert
  }

  private obstacle(name: string): Obstacle | undefined {
    const known = this.obstacles.get(name)
    return known !== undefined && known.until > this.now ? known : undefined
  }

  learn(name: string, obstacle: Obstacle): void {
    const known = this.obstacles.get(name)
    const asked = Math.max(known?.asked ?? 0, obstacle.asked)
    const later = known === undefined || obstacle.until > known.until ? obstacle : known
    this.obstacles.set(name, { ...later, asked })
  }

  private targetOf(place: string): string {
    return place.split("#")[0] ?? ""
  }

  private keyOf(place: string): string {
    return place.split("#")[1] ?? "K1"
  }

  /** The pauses of a target with a key. */
  private ofKey(name: string, key: string): ReadonlyArray<Obstacle> {
    const names = [`#${key}/${name.slice("a/".length)}`, `!${key}`]
    return names.map((name) => this.obstacle(name)).filter((obstacle) => obstacle !== undefined)
  }

  /** The key of a call to a target: the one in use, a free one, or the first to be free. */
  private placeOf(name: string): string {
    if (!name.startsWith("a/")) return name
    const used = this.here.startsWith("a/") ? this.keyOf(this.here) : undefined
    const keys = used === undefined ? this.keys : [used, ...this.keys.filter((key) => key !== used)]
    const untilOf = (key: string) => Math.max(...this.ofKey(name, key).map(({ until }) => until))
    const soonest = (keys: ReadonlyArray<string>) => keys.toSorted((a, b) => untilOf(a) - untilOf(b))[0]
    const isKept = (key: string) => {
      const own = this.ofKey(name, key)
      return own.length > 0 && own.every(({ isRate }) => isRate === true) && this.obstacle(`#${key}`) === undefined
    }
    const free = keys.filter((key) => this.ofKey(name, key).length === 0)
    const key =
      keys.find((key) => key === used && this.targetOf(this.here) === name && isKept(key)) ??
      free.find((key) => this.obstacle(`#${key}`) === undefined) ??
      free[0] ??
      soonest(keys.filter((key) => this.ofKey(name, key).every(({ mends }) => mends))) ??
      soonest(keys)
    return key === "K1" ? name : `${name}#${key}`
  }

  private inTheWayOf(place: string): ReadonlyArray<Obstacle> {
    const name = this.targetOf(place)
    const own = this.obstacle(name)
    return [...(own === undefined ? [] : [own]), ...(place.startsWith("a/") ? this.ofKey(name, this.keyOf(place)) : [])]
  }

  /** The next key after a used-up quota: at best one without pauses. */
  private spareOf(name: string, used: string): string | undefined {
    const free = this.keys.filter(
      (key) => key !== used && !this.left.has(`${name}#${key}`) && this.ofKey(name, key).length === 0
    )
    return free.find((key) => this.obstacle(`#${key}`) === undefined) ?? free[0]
  }

  /** A call that begins now succeeds. */
  answers(): void {
    const name = this.targetOf(this.here)
    const key = this.keyOf(this.here)
    this.obstacles.delete(name)
    if (!name.startsWith("a/")) return
    for (const used of [`#${key}`, `!${key}`, `#${key}/${name.slice("a/".length)}`]) this.obstacles.delete(used)
  }

  private freeAt(place: string): number {
    return Math.max(this.now, ...this.inTheWayOf(place).map(({ until }) => until))
  }

  private preferred(): ReadonlyArray<string> {
    const at = this.revert === "never" ? Math.max(0, this.order.indexOf(this.targetOf(this.here))) : 0
    return [...this.order.slice(at), ...this.order.slice(0, at)].map((name) => this.placeOf(name))
  }

  private firstOf(places: ReadonlyArray<string>, at: number): string | undefined {
    return (
      places.find((place) => this.freeAt(place) <= at) ?? places.toSorted((a, b) => this.freeAt(a) - this.freeAt(b))[0]
    )
  }

  begin(): string {
    this.retries = 0
    this.left.clear()
    this.here = this.firstOf(this.preferred(), this.now) ?? ""
    return this.here
  }

  fails({ hint, reason, retryable, scope }: Failure.Failure): string {
    if (reason === "bad-request") return "gave up: not-retryable"
    const was = this.here
    const name = this.targetOf(was)
    const asked = hint === undefined ? 0 : this.now + hint.retryAfterMs
    const wasCooling = this.obstacle(name) !== undefined
    const key = this.keyOf(was)
    const isQuota = reason === "quota-exhausted" && was.startsWith("a/")
    const isRate = reason === "rate-limited" && was.startsWith("a/")
    const cooled = { until: Math.max(this.now + 5 * MINUTE, asked), mends: retryable, asked }
    if (isQuota || isRate) {
      const limit = isRate ? { ...cooled, isRate } : { until: asked || this.now + HOUR, mends: retryable, asked }
      this.learn(`#${key}/${name.slice("a/".length)}`, limit)
      if (scope === "account") this.learn(`!${key}`, limit)
      else if (isQuota && scope !== "model") this.learn(`#${key}`, limit)
    }
    const spare = isQuota ? this.spareOf(name, key) : undefined
    if (isQuota && spare === undefined) this.learn(name, { until: this.now + 5 * MINUTE, mends: true, asked: 0 })
    if (!isQuota && !isRate) this.learn(name, cooled)
    const other = this.preferred().find(
      (place) => this.targetOf(place) !== name && !this.left.has(this.targetOf(place)) && this.freeAt(place) <= this.now
    )
    if (spare !== undefined && !(wasCooling && other !== undefined)) {
      this.left.add(`${name}#${key}`)
      return this.go(spare === "K1" ? name : `${name}#${spare}`, 0)
    }
    if (other !== undefined) {
      this.left.add(name)
      return this.go(other, 0)
    }
    const scheduledMs = Math.min(2 * SECOND * 2 ** this.retries, Backoff.LONGEST_MS)
    const hopeful = this.preferred().filter((place) =>
      place === was
        ? retryable
        : this.inTheWayOf(place).every(({ mends }) => mends) || (retryable && this.targetOf(place) === name)
    )
    const to = this.firstOf(hopeful, this.now + scheduledMs)
    if (to === undefined) return "gave up: not-retryable"
    this.left.clear()
    const theirs = Math.max(0, ...this.inTheWayOf(to).map(({ asked }) => asked - this.now))
    const own = to === was ? (hint?.retryAfterMs ?? 0) : 0
    return this.go(to, Math.max(scheduledMs, theirs, own))
  }

  private go(place: string, delayMs: number): string {
    this.here = place
    this.retries++
    this.now += delayMs
    return `${delayMs === 0 ? "at once" : `${delayMs} ms`} on ${place}`
  }
}

/** The expected behaviour of a conversation with its targets in turn. */
class RobinModel {
  now = START
  isOver = false
  cursor = 0
  retries = 0
  limited = new Set<number>()
  longestMs = 0
  readonly names = ["a/one", "b/one", "c/one"]

  begin(): string {
    this.cursor = 0
    this.reset()
    this.retries = 0
    return "a/one"
  }

  private reset(): void {
    this.limited.clear()
    this.longestMs = 0
  }

  fails({ hint, reason }: Failure.Failure): string {
    if (this.retries === 11) return "gave up: exhausted"
    const seconds = (this.retries + 1) * SECOND
    this.retries++
    if (reason === "network") return this.on(Math.min(seconds, 30 * SECOND))
    if (reason === "rate-limited") {
      const asked = hint === undefined ? seconds : hint.retryAfterMs
      this.longestMs = Math.max(this.longestMs, Math.min(Math.max(asked, SECOND), MINUTE))
      this.limited.add(this.cursor % 3)
    }
    this.cursor++
    if (this.limited.size < 3 || reason !== "rate-limited") return this.on(0)
    const delayMs = this.longestMs
    this.reset()
    return this.on(delayMs)
  }

  private on(delayMs: number): string {
    return `${delayMs === 0 ? "at once" : `${delayMs} ms`} on ${this.names[this.cursor % 3]}`
  }
}

/** The events of a conversation: each is applied to the model and to the real routing. */
type Command<Model extends object> = fc.Command<Model, RoutedStep>

const begins = <Model extends { isOver: boolean; readonly begin: () => string }>(): Command<Model> => ({
  check: () => true,
  run: (model, rig) => {
    model.isOver = false
    expect(rig.begin()).toBe(model.begin())
  },
  toString: () => "begins"
})

/** A failure of a step that has not given up. Every call takes some time, so that no two pauses end together. */
const fails = <Model extends { isOver: boolean; now: number; readonly fails: (failure: Failure.Failure) => string }>(
  failed: Failure.Failure
): Command<Model> => ({
  check: ({ isOver }) => !isOver,
  run: (model, rig) => {
    model.now += 1
    rig.now += 1
    const expected = model.fails(failed)
    model.isOver = expected.startsWith("gave up")
    expect(rig.fails(failed)).toBe(expected)
  },
  toString: () => `fails(${failed.reason}${failed.hint === undefined ? "" : `, ${failed.hint.retryAfterMs}`})`
})

/** A call succeeds; the conversation continues. */
const answers: Command<ChainModel> = {
  check: () => true,
  run: (model, rig) => {
    model.now += 1
    rig.now += 1
    model.answers()
    rig.answers()
  },
  toString: () => "answers"
}

const passes = (ms: number): Command<ChainModel> => ({
  check: () => true,
  run: (model, rig) => {
    model.now += ms
    rig.now += ms
  },
  toString: () => `passes(${ms})`
})

/** A finding of another turn or another runner. */
const hears = (name: string, ms: number, mends: boolean): Command<ChainModel> => ({
  check: () => true,
  run: (model, rig) => {
    model.now += 1
    rig.now += 1
    const until = model.now + ms
    model.learn(name, { until, mends, asked: 0 })
    const pause = { until, reason: "unknown", retryable: mends } as const
    rig.standing = Standing.merge(rig.standing, Standing.paused(thingOf(name), { ...pause, since: model.now }))
  },
  toString: () => `hears(${name}, ${ms})`
})

const time = fc.constantFrom(SECOND, MINUTE, 6 * MINUTE, 2 * HOUR)

describe("a conversation behaves like the model", () => {
  it("rule P7, P8, P9: on a fallback chain, for any failures, successes and findings of other turns", () => {
    const commands = fc.commands(
      [
        fc.constant(begins<ChainModel>()),
        fc
          .constantFrom(
            failure("overloaded"),
            failure("rate-limited"),
            asking("overloaded", MINUTE),
            asking("rate-limited", HOUR),
            failure("quota-exhausted"),
            failure("quota-exhausted", { scope: "account" }),
            asking("quota-exhausted", 3 * HOUR),
            { ...asking("quota-exhausted", 2 * HOUR), scope: "model" as const },
            { ...asking("rate-limited", 2 * MINUTE), scope: "account" as const },
            failure("auth"),
            failure("bad-request")
          )
          .map((failed) => fails<ChainModel>(failed)),
        fc.constant(answers),
        time.map(passes),
        // Odd lengths, so that no two pauses end together.
        fc
          .tuple(
            fc.constantFrom("a/one", "a/two", "b/one", "#K1", "#K2", "!K1", "#K1/one", "#K2/two"),
            fc.integer({ min: 1, max: 9 * HOUR }),
            fc.boolean()
          )
          .map(([name, ms, mends]) => hears(name, ms, mends))
      ],
      { maxCommands: 40 }
    )
    fc.assert(
      fc.property(fc.constantFrom("cooldown-expiry", "never"), commands, (revert, commands) => {
        fc.modelRun(() => {
          const chains = { default: ["b/one", "a/two"] }
          const settings = {
            profile: "interactive",
            budget: "Infinity",
            maxDelay: "0 seconds",
            maxRetries: 1_000,
            routing: { type: "fallback-chain", chains, revert }
          }
          const model = new ChainModel(revert)
          const rig = new RoutedStep({ settings, primary: "a/one", credentials: { a: ["K1", "K2"] } })
          expect(rig.begin()).toBe(model.begin())
          return { model, real: rig }
        }, commands)
      }),
      { numRuns: 1_000 }
    )
  })

  it("rule A2, A4, A5, A6, A7: with its targets in turn", () => {
    const commands = fc.commands(
      [
        fc.constant(begins<RobinModel>()),
        fc
          .constantFrom(
            failure("rate-limited", { status: 429 }),
            asking("rate-limited", 7 * SECOND),
            asking("rate-limited", HOUR),
            failure("network"),
            failure("auth", { status: 401 }),
            failure("overloaded", { status: 529 })
          )
          .map((failed) => fails<RobinModel>(failed))
      ],
      { maxCommands: 40 }
    )
    const routing = { type: "round-robin", targets: ["a/one", "b/one", "c/one"] }
    fc.assert(
      fc.property(commands, (commands) => {
        fc.modelRun(() => {
          const model = new RobinModel()
          const rig = new RoutedStep({ settings: { profile: "cycling", maxRetries: 12, routing }, primary: "a/one" })
          expect(rig.begin()).toBe(model.begin())
          return { model, real: rig }
        }, commands)
      }),
      { numRuns: 1_000 }
    )
  })
})
