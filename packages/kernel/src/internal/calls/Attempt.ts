/**
 * Makes one attempt: calls `Provider.stream` and reads it to its end.
 *
 * Attempt.A1. It always has an outcome, and does not fail: a failure, a defect and a stream without `finish` are outcomes.
 * Attempt.A2. Text, reasoning and files go to the sink as they come; tool calls stay here until the attempt has completed, so half a call, or a
 *     call of a lost attempt, never runs (C7).
 * Attempt.A3. The neighbouring deltas of one kind in a read are one append and one call of the sink. Nothing waits for the next read.
 * Attempt.A4. A response that exceeds its limit ends there, as a failure (C11); its content until then is kept. So does one with a file that
 *     is none: its record could not be read again.
 */
import { defined, type Failure, FilePart, type Message } from "@holdfast/wire"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Pull from "effect/Pull"
import * as Random from "effect/Random"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { Content } from "./Content.ts"
import * as CallFailure from "../../calls/CallFailure.ts"
import * as ProviderCall from "../../calls/ProviderCall.ts"
import type { EventSink } from "../../ports/EventSink.ts"
import { isContent, type Provider, type ProviderEvent, type ProviderRequest } from "../../ports/Provider.ts"
import type { AttemptOutcome } from "../../records/Records.ts"
import * as ResponseLimit from "../../calls/ResponseLimit.ts"
import type { TurnStopped } from "../../ports/TurnStopped.ts"

/** The outcome of an attempt that was made in this life. */
export type Made = Exclude<AttemptOutcome, { readonly _tag: "Lost" }>

/**
 * Makes one attempt.
 *
 * **Details**
 *
 * `content` is filled while the stream comes in, so that its parts are there after an interruption. `mark` runs once, before the first
 * content leaves (X2).
 */
export const run = (
  provider: Provider["Service"],
  sink: Pick<EventSink["Service"], "live">,
  request: ProviderRequest,
  content: Content,
  mark: Effect.Effect<void, TurnStopped>
): Effect.Effect<Made, TurnStopped> => {
  const reader = new Reader(sink, request, content)
  let first: typeof mark | undefined = mark
  // Nothing is allocated for a read except its own events.
  const take = (events: ReadonlyArray<ProviderEvent>): Effect.Effect<void, TurnStopped | Cause.Done> | undefined => {
    const due = first
    if (due === undefined || !events.some(isContent)) return reader.read(events) ? undefined : OVER
    first = undefined
    return Effect.andThen(
      due,
      Effect.suspend(() => (reader.read(events) ? Effect.void : OVER))
    )
  }
  return ProviderCall.forEach(provider, request, take).pipe(
    Effect.exit,
    Effect.flatMap((exit) => {
      const end = reader.end ?? endOf(exit)
      if (end._tag === "TurnStopped") return Effect.fail(end)
      return Effect.withFiber((fiber) => {
        const draw = () => fiber.getRef(Random.Random).nextDoubleUnsafe()
        return Effect.succeed(made(end, content, fiber.getRef(Clock.Clock).currentTimeMillisUnsafe(), draw))
      })
    })
  )
}

/** How an attempt ended. */
export type End =
  | { readonly _tag: "Finished"; readonly finishReason: Message.FinishReason }
  | ({ readonly _tag: "Broken" } & CallFailure.Broken)

/** The outcome of an attempt with its content. `draw` is called for a failure alone. */
export const made = (end: End, content: Content, endedAt: number, draw: () => number): Made => {
  const said = { content: content.parts(), endedAt, ...defined({ usage: content.usage }) }
  if (end._tag === "Finished") return { _tag: "Completed", ...said, finishReason: end.finishReason }
  const { _tag: _, ...failed } = end
  return { _tag: "Failed", ...said, ...failed, contentSeen: content.seen, spread: draw() }
}

/** Reads the events of one attempt; the event that ends it sets `end`. */
export class Reader {
  end: End | undefined = undefined
  private readonly sink: Pick<EventSink["Service"], "live">
  private readonly request: Pick<ProviderRequest, "conversationId" | "turnId" | "maxResponseCharacters">
  private readonly content: Content

  constructor(sink: Pick<EventSink["Service"], "live">, request: ProviderRequest, content: Content) {
    const { conversationId, maxResponseCharacters, turnId } = request
    this.sink = sink
    this.request = { conversationId, turnId, ...defined({ maxResponseCharacters }) }
    this.content = content
  }

  /** Reads events; returns whether the attempt goes on. */
  read(events: ReadonlyArray<ProviderEvent>): boolean {
    const { conversationId, turnId } = this.request
    for (let i = 0; i < events.length; i++) {
      const event = events[i] as ProviderEvent // in bounds; on the path of a token an index beats an iterator
      switch (event.type) {
        case "text-delta":
        case "reasoning-delta": {
          const { type } = event
          const kind = type === "text-delta" ? "text" : "reasoning"
          let { delta } = event
          while (i + 1 < events.length) {
            const next = events[i + 1]
            if (next?.type !== type) break
            if (!this.content.fits(kind, delta.length + next.delta.length)) break // Attempt.A4: the part that fits is kept
            delta += next.delta
            i++
          }
          if (delta === "") break
          if (!this.content.delta(kind, delta)) return this.exceeded()
          this.sink.live({ type, conversationId, turnId, delta })
          break
        }
        case "reasoning-end":
          if (!this.content.endReasoning(event)) return this.exceeded()
          break
        case "file":
          if (Option.isNone(fileOf(event))) return this.broken(notValid(event))
          if (!this.content.file(event)) return this.exceeded()
          this.sink.live({ type: "file", conversationId, turnId, file: event })
          break
        case "tool-call":
          if (!this.content.toolCall(event)) return this.exceeded()
          break
        case "tool-calls-cut":
          this.content.cut = event.toolNames
          break
        case "usage":
          this.content.setUsage(event.usage)
          break
        case "finish":
          this.end = { _tag: "Finished", finishReason: event.finishReason }
          return false
        case "error":
          this.end = broken(CallFailure.emitted(event.failure), event.body)
          return false
        default:
          return event satisfies never
      }
    }
    return true
  }

  /** C11 */
  private exceeded(): false {
    return this.broken(ResponseLimit.exceeded(ResponseLimit.of(this.request)))
  }

  private broken(failure: Failure.Failure): false {
    this.end = broken(failure)
    return false
  }
}

/** How a call ended that sent neither `finish` nor `error`. */
export const unfinished = (end: ProviderCall.End): End => {
  const { body, failure } = ProviderCall.brokenOf(end)
  return broken(failure, body)
}

// --- internal

const fileOf = Schema.decodeUnknownOption(FilePart.ModelFile)

/** A retry would return the file again. */
const notValid = ({ mediaType }: Message.ModelFile): Failure.Failure => ({
  reason: "invalid-response",
  message: `The response has a file of type "${mediaType}" that is not valid: expected a media type such as "image/png", with base64 or an https address.`,
  retryable: false
})

/** Ends the reading of a stream. */
const OVER: Pull.Pull<never> = Cause.done()

/** How a stream without `finish` and `error` ended. */
const endOf = (exit: Exit.Exit<void, Failure.ProviderFailure | TurnStopped | Cause.Done<void>>): End | TurnStopped => {
  const cause = Exit.isSuccess(exit) ? undefined : Pull.filterNoDone(exit.cause)
  if (cause === undefined || Result.isFailure(cause)) return broken(CallFailure.incomplete)
  const why = CallFailure.brokenOf(cause.success)
  return "_tag" in why ? why : broken(why.failure, why.body)
}

const broken = (failure: Failure.Failure, body?: string): End => ({
  _tag: "Broken",
  ...CallFailure.withBody(failure, body)
})
