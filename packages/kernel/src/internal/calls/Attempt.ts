/**
 * Makes one attempt: calls the provider, and reads its response to its end.
 *
 * Attempt.A1. It always has an outcome, and does not fail: a failure, a defect and a stream without `finish` are outcomes.
 * Attempt.A2. Text, reasoning and files go to the sink as they come; tool calls stay here until the attempt has completed, so half a call, or a
 *     call of a lost attempt, never runs (C7).
 * Attempt.A3. The neighbouring deltas of one kind in a read are one append and one call of the sink. Nothing waits for the next read.
 *
 * A response that exceeds its limit ends there, as a failure (C11); its content until then is kept. So does one with a file that
 * is none: its record could not be read again.
 */
import { defined, type Failure, FilePart, type Message } from "@holdfast/wire"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { Content } from "./Content.ts"
import type * as CallFailure from "../../calls/CallFailure.ts"
import * as ProviderCall from "../../calls/ProviderCall.ts"
import type { EventSink } from "../../ports/EventSink.ts"
import { isContent, type Provider, type ProviderEvent, type ProviderRequest } from "../../ports/Provider.ts"
import type { AttemptOutcome } from "../../records/Records.ts"
import * as ResponseLimit from "../../calls/ResponseLimit.ts"
import type { TurnStopped } from "../../ports/TurnStopped.ts"

/** The outcome of an attempt that was made in this life. */
export type Made = Exclude<AttemptOutcome, { readonly _tag: "Lost" }>

/**
 * Makes one attempt in a fiber, and returns its call, which has ended.
 *
 * **Details**
 *
 * `content` is filled while the call goes on, so that its parts are there after an interruption. `mark` runs once, before the first content
 * leaves (X2).
 */
export const run = (
  provider: Provider["Service"],
  sink: Pick<EventSink["Service"], "live">,
  request: ProviderRequest,
  content: Content,
  mark: Effect.Effect<void, TurnStopped>
): Effect.Effect<Listening, TurnStopped> =>
  Effect.scopedWith((scope) =>
    Effect.flatMap(ProviderCall.worldOf(scope), (world) => {
      const isHeld = Deferred.makeUnsafe<boolean>()
      const over = Deferred.makeUnsafe<void>()
      const call = new Listening(sink, request, content, {
        content: () => Deferred.doneUnsafe(isHeld, Exit.succeed(true)),
        end: () => {
          Deferred.doneUnsafe(isHeld, Exit.succeed(false))
          Deferred.doneUnsafe(over, Exit.void)
        }
      })
      call.begin((listener) => ProviderCall.of(provider)(request, world, listener))
      return Deferred.await(isHeld).pipe(
        Effect.flatMap((isHeld) => (isHeld ? Effect.map(mark, () => call.release()) : Effect.void)),
        Effect.andThen(Deferred.await(over)),
        Effect.as(call),
        Effect.ensuring(Effect.sync(() => call.cancel()))
      )
    })
  )

/** How a call goes on in its host. */
interface Heard {
  /** Its first content is there, and waits for `release` (X2). */
  readonly content: () => void
  /** It has ended. */
  readonly end: () => void
}

/** A call that is read by a listener. `heard` is called at most once each, and not after `cancel`. */
export class Listening implements ProviderCall.Listener {
  readonly content: Content
  private readonly sink: Pick<EventSink["Service"], "live">
  private readonly request: Pick<ProviderRequest, "conversationId" | "turnId" | "maxResponseCharacters">
  private readonly heard: Heard
  private running: ProviderCall.Running | undefined = undefined
  /** The first events with content. */
  private held: ProviderCall.Events | undefined = undefined
  private isReleased = false
  private isOver = false
  private how: End | undefined = undefined

  constructor(sink: Pick<EventSink["Service"], "live">, request: ProviderRequest, content: Content, heard: Heard) {
    const { conversationId, maxResponseCharacters, turnId } = request
    this.sink = sink
    this.request = { conversationId, turnId, ...defined({ maxResponseCharacters }) }
    this.content = content
    this.heard = heard
  }

  /** Makes the call. */
  begin(call: (listener: ProviderCall.Listener) => ProviderCall.Running): void {
    const running = call(this)
    if (this.isOver) running.cancel()
    else this.running = running
  }

  readonly events = (events: ProviderCall.Events): boolean => {
    if (this.isReleased || !events.some(isContent)) return this.take(events)
    this.held = events
    this.heard.content()
    return false
  }

  readonly end = (end: ProviderCall.End): void => {
    this.running = undefined
    this.how ??= unfinished(end)
    this.ended()
  }

  readonly progress = (): void => {}

  /** Lets the content leave. What throws there is the end of the call, as in `events` (ProviderCall.L3). */
  release(): void {
    const { held } = this
    this.isReleased = true
    this.held = undefined
    if (held === undefined || this.isOver) return
    try {
      if (this.take(held)) this.running?.more()
    } catch (defect) {
      this.running?.cancel()
      this.end(Exit.die(defect))
    }
  }

  /** Ends the call. */
  cancel(): void {
    this.isOver = true
    this.running?.cancel()
    this.running = undefined
  }

  /** The outcome of the call, which has ended, with its content. `draw` is called for a failure alone. */
  outcome(endedAt: number, draw: () => number): Made {
    const { content, how = unfinished(Exit.void) } = this
    const said = { content: content.parts(), endedAt, ...defined({ usage: content.usage }) }
    if (how._tag === "Finished") return { _tag: "Completed", ...said, finishReason: how.finishReason }
    const { _tag: _, ...failed } = how
    return { _tag: "Failed", ...said, ...failed, contentSeen: content.seen, spread: draw() }
  }

  private take(events: ProviderCall.Events): boolean {
    if (this.read(events)) return true
    this.ended()
    return false
  }

  private ended(): void {
    if (this.isOver) return
    this.cancel()
    this.heard.end()
  }

  /** Reads events; returns whether the attempt goes on. The event that ends it sets `how`. */
  private read(events: ReadonlyArray<ProviderEvent>): boolean {
    const { conversationId, turnId } = this.request
    for (let i = 0; i < events.length; i++) {
      const event = events[i] as ProviderEvent // in bounds; on the path of a token an index beats an iterator
      switch (event.type) {
        case "text-delta":
        case "reasoning-delta": {
          const { type } = event
          const kind = type === "text-delta" ? "text" : "reasoning"
          let { delta } = event
          for (let next = events[i + 1]; next?.type === type; next = events[i + 1]) {
            if (!this.content.fits(kind, delta.length + next.delta.length)) break // C11: the part that fits is kept
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
          this.how = { _tag: "Finished", finishReason: event.finishReason }
          return false
        case "error":
          this.how = { _tag: "Broken", ...ProviderCall.failureOf(event) }
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
    this.how = { _tag: "Broken", failure }
    return false
  }
}

// --- internal

/** How an attempt ended. */
type End =
  | { readonly _tag: "Finished"; readonly finishReason: Message.FinishReason }
  | ({ readonly _tag: "Broken" } & CallFailure.Broken)

/** How a call ended that sent neither `finish` nor `error`. */
const unfinished = (end: ProviderCall.End): End => ({ _tag: "Broken", ...ProviderCall.brokenOf(end) })

const fileOf = Schema.decodeUnknownOption(FilePart.ModelFile)

/** A retry would return the file again. */
const notValid = ({ mediaType }: Message.ModelFile): Failure.Failure => ({
  reason: "invalid-response",
  message: `The response has a file of type "${mediaType}" that is not valid: expected a media type such as "image/png", with base64 or an https address.`,
  retryable: false
})
