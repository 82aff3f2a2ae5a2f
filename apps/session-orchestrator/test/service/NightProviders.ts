/**
 * The models of a night: they fail at the moments that its test chooses, and record every call.
 *
 * NightProviders.N1. A call is recorded when it arrives, and gets its status when it is answered. A call that was cut has none.
 * NightProviders.N2. Calls that will be refused in the evening are held until it is over, so that no answer of the evening ends after a failure.
 */
import * as ScriptedServer from "@holdfast/simulated/testing"
import { Effect } from "effect"

const { ErrorBody, answerFrames } = ScriptedServer

/** The models: `large` has an outage, `medium` a used-up quota, `review` a revoked key; `small` stands in for `large`. */
export type Model = "large" | "medium" | "small" | "review"

/** One call. Times are in epoch milliseconds. */
export interface Call {
  readonly model: Model
  /** The prompt, which is the id of its turn. */
  readonly prompt: string
  readonly at: number
  status?: number
  outputTokens?: number
  /** The wait that it was told to make, in milliseconds. */
  waitMs?: number
}

/** Turns of `large` and of `medium` that are answered in the evening: `large-0`, `large-1` and so on. */
export const ANSWERED = 10

/** The retry of `large` that is cut. Retries of all turns are counted together, from 0. */
const CUT = 1

/** The first retry of `large` that is answered. */
const BACK = 4

/** The quota of `medium` is refilled so long after it was used up: the process has been killed by then, on a busy machine too. */
const QUOTA_MS = 8_000

/** The answer to a prompt; those of a model differ in length. */
export const answerTo = (prompt: string): string =>
  `Here ${"it ".repeat(Number(prompt.split("-")[1]) % 4)}is: ${prompt}`

export class NightProviders {
  readonly calls: Array<Call> = []
  /** Opened by the test: the outage of `large` begins. */
  readonly dusk = ScriptedServer.gate()
  /** Reached by the call that is cut; never opened. */
  readonly midnight = ScriptedServer.gate()
  /** When the quota of `medium` is refilled, in epoch milliseconds. */
  resetAt = 0
  /** The only key that `review` accepts. */
  validKey = "none-yet"
  /** Opened by the first retry of `large`: the quota of `medium` is used up, and this outage begins after that one. */
  private readonly spent = ScriptedServer.gate()
  /** Calls of `large` after the first one of their turn. */
  private retries = 0

  /** The calls of a model: all, or those with a status. */
  of(model: Model, status?: number): ReadonlyArray<Call> {
    return this.calls.filter((call) => call.model === model && (status === undefined || call.status === status))
  }

  callsOf(prompt: string): ReadonlyArray<Call> {
    return this.calls.filter((call) => call.prompt === prompt)
  }

  /** The calls that were cut. */
  get cut(): ReadonlyArray<Call> {
    return this.calls.filter(({ status }) => status === undefined)
  }

  /** Answers a request. */
  readonly respond = ({ body, headers }: ScriptedServer.RecordedRequest): Effect.Effect<Response> => {
    const { messages, model }: Request = JSON.parse(body)
    const call: Call = { model, prompt: messages.at(-1)?.content ?? "", at: Date.now() }
    const isFirst = !this.of(model).some(({ prompt }) => prompt === call.prompt)
    this.calls.push(call) // NightProviders.N1
    const isEarly = EARLY.test(call.prompt)
    switch (model) {
      case "large":
        return isEarly ? this.answer(call) : this.outage(call, isFirst)
      case "medium":
        return isEarly ? this.answer(call) : Effect.andThen(this.spent.pass, this.quota(call, isFirst))
      case "small":
        return this.answer(call)
      case "review":
        return headers["authorization"] === `Bearer ${this.validKey}` ? this.answer(call) : this.refuse(call, "auth")
      default:
        return model satisfies never
    }
  }

  private outage(call: Call, isFirst: boolean): Effect.Effect<Response> {
    if (isFirst) return Effect.andThen(this.dusk.pass, this.refuse(call, "overloaded"))
    const nth = this.retries++
    if (nth === 0) this.resetAt = Date.now() + QUOTA_MS
    if (nth === CUT) return Effect.andThen(this.midnight.pass, Effect.never)
    return Effect.andThen(this.spent.open, nth < BACK ? this.refuse(call, "overloaded") : this.answer(call))
  }

  /** The first call of a turn is refused, however late it is. */
  private quota(call: Call, isFirst: boolean): Effect.Effect<Response> {
    return Effect.suspend(() => {
      const leftMs = Math.max(this.resetAt - Date.now(), isFirst ? 1 : 0)
      if (leftMs <= 0) return this.answer(call)
      call.waitMs = leftMs
      return this.refuse(call, "quota", { "retry-after": String(leftMs / 1_000) })
    })
  }

  private answer(call: Call): Effect.Effect<Response> {
    return Effect.sync(() => {
      const text = answerTo(call.prompt)
      call.status = 200
      call.outputTokens = text.split(" ").length // a frame each
      return { frames: answerFrames("openai", text) }
    })
  }

  private refuse(
    call: Call,
    error: "auth" | "overloaded" | "quota",
    headers: Readonly<Record<string, string>> = {}
  ): Effect.Effect<Response> {
    return Effect.sync(() => {
      call.status = ErrorBody.statusOf(error)
      return { status: call.status, headers, body: ErrorBody.envelope(error, "openai") }
    })
  }
}

// --- internal

const EARLY = /^(?:large|medium)-\d$/

type Response = ScriptedServer.ScriptedResponse

interface Request {
  readonly model: Model
  readonly messages: ReadonlyArray<{ readonly content: string }>
}
