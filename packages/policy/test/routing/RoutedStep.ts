/** Routes a step by hand: named failures, and the kernel's questions about them. */
import type { Directive, Route, Router } from "@holdfast/kernel"
import { type Failure, Ids, type Message, Target } from "@holdfast/wire"
import { Result, type Schema } from "effect"
import { Profile, type RetryPolicy, RetrySettings, Routes, Standing } from "../../src/index.ts"

export const target = (name: string): Target.Target => {
  const [provider = "", model = ""] = name.split("/")
  return { provider, model }
}

export const policyOf = (settings: unknown): RetryPolicy.RetryPolicy =>
  Profile.resolve(Result.getOrThrow(RetrySettings.decode(settings)))

export const failure = (reason: Failure.Reason, over: Partial<Failure.Failure> = {}): Failure.Failure => ({
  reason,
  message: reason,
  retryable: !FINAL.has(reason),
  ...over
})

const FINAL: ReadonlySet<Failure.Reason> = new Set<Failure.Reason>([
  "auth",
  "quota-exhausted",
  "model-unavailable",
  "bad-request",
  "refused",
  "context-overflow"
])

export const asking = (reason: Failure.Reason, retryAfterMs: number): Failure.Failure =>
  failure(reason, { retryable: true, hint: { retryAfterMs, source: "retry-after" } })

export const SECOND = 1_000
export const MINUTE = 60 * SECOND
export const HOUR = 60 * MINUTE

/** An arbitrary moment: results must not depend on it. */
export const START = 1_790_000_000_000

export interface Options {
  readonly settings: unknown
  readonly primary: string
  readonly credentials?: Routes.Known["credentials"]
  readonly models?: Routes.Known["models"]
  readonly tokens?: number
  readonly tools?: number
  /** The files of the prompt. */
  readonly files?: ReadonlyArray<Message.FilePart>
  readonly standing?: Standing.Standing
}

/** One conversation's steps, one after another, on a clock that the test moves. */
export class RoutedStep {
  now = START
  standing: Standing.Standing
  current: Route.Route | undefined = undefined
  state: Schema.Json | undefined = undefined
  retries = 0
  sleptMs = 0
  last: Directive.Directive | undefined = undefined
  readonly policy: RetryPolicy.RetryPolicy
  private readonly options: Options

  constructor(options: Options) {
    this.options = options
    this.policy = policyOf(options.settings)
    this.standing = options.standing ?? Standing.empty
  }

  /** Begins a step, and returns its first route. */
  begin(): string {
    this.retries = 0
    this.sleptMs = 0
    this.state = undefined
    const { route, state } = Routes.begin(this.policy, this.question(), this.known(), this.now)
    this.current = route
    this.state = state
    return this.where()
  }

  /** A call succeeds that began now. */
  answers(): void {
    const route = this.current ?? { target: target(this.options.primary) }
    const { credentials = {} } = this.options
    const name = route.credential ?? credentials[route.target.provider]?.[0]
    const used = Standing.usedBy(route.target, name)
    this.standing = Standing.merge(this.standing, Standing.cleared(this.standing, used, this.now))
  }

  /** Fails the attempt, and returns the decision: `at once on a/b`, `5000 ms on a/b` or `gave up: …`. The clock moves by the wait. */
  fails(failure: Failure.Failure, how: Pick<Directive.Situation, "whole"> = {}): string {
    const spent = { sleptMs: this.sleptMs, elapsedMs: this.sleptMs, spread: 0 }
    const situation = { failure, contentSeen: false, retries: this.retries, defects: 0, spent, now: this.now, ...how }
    const { changes, directive } = Routes.direct(this.policy, situation, this.question(), this.known())
    this.standing = Standing.merge(this.standing, changes)
    this.last = directive
    if (directive._tag === "GiveUp") return `gave up: ${directive.because}`
    this.retries++
    this.now += directive.delayMs
    this.sleptMs += directive.delayMs
    this.current = directive.route ?? this.current
    this.state = directive.state ?? this.state
    return `${directive.delayMs === 0 ? "at once" : `${directive.delayMs} ms`} on ${this.where()}`
  }

  /** `provider/model`, with the credential if the route names one. */
  where(): string {
    if (this.current === undefined) return "nowhere"
    const { credential, target } = this.current
    return `${Target.format(target)}${credential === undefined ? "" : `#${credential}`}`
  }

  private question(): Router.Question {
    const { files = [], primary, tools = 0 } = this.options
    return {
      primary: target(primary),
      current: this.current,
      state: this.state,
      request: {
        system: undefined,
        messages: files.length === 0 ? [] : [promptOf(files)],
        tools: Array.from({ length: tools }, (_, n) => ({ name: `t${n}`, description: "", inputSchema: {} }))
      }
    }
  }

  private known(): Routes.Known {
    const { credentials = {}, models = {}, tokens = 0 } = this.options
    return { standing: this.standing, credentials, models, countTokens: () => tokens }
  }
}

const promptOf = (content: Message.UserMessage["content"]): Message.UserMessage => {
  const turnId = Ids.TurnId.make("t")
  return { role: "user", id: Ids.messageIdOf(turnId, 0), turnId, createdAt: START, content }
}
