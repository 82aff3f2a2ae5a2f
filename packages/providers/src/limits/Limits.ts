/**
 * Limits an attempt's time to first content and between contents (C8).
 *
 * Content counts, and progress on it (`ResponseProgress`). Pings never get here, and empty deltas do not count. Connecting counts towards the first
 * content. A limit is the same for every attempt. A request that is too large to be sent fails without a call.
 *
 * Limits.L3. Only waiting for the provider counts, not the time in which a slow consumer pulls nothing.
 * Limits.L5. Each attempt that has to wait has one timer; a delta starts no timer and no fiber. When the timer fires, the watchdog reads
 *     the clock and sets the timer again for the remaining time.
 * Limits.L6. Content in the socket counts, even if this process was suspended and has not read it when a limit is over (`Deadline`).
 */
import { Provider } from "@holdfast/kernel"
import { ProviderCall } from "@holdfast/kernel/host"
import { Classification } from "@holdfast/policy"
import { Failure, JsonShape, type Message } from "@holdfast/wire"
import * as Exit from "effect/Exit"
import * as Deadline from "./Deadline.ts"
import type * as Schema from "effect/Schema"

/** The limits in milliseconds; an absent key means no limit. */
export interface Limits {
  readonly firstContentMs?: number | undefined
  readonly idleMs?: number | undefined
}

/** Wraps a provider: its attempts fail with a `timeout` when they are silent for too long, and without a call when their request is too large. */
export const withLimits = (provider: Provider.Provider["Service"], limits: Limits): Provider.Provider["Service"] => {
  const call = ProviderCall.of(provider)
  return ProviderCall.provider((request, world, listener) => {
    const refused = tooLarge(request)
    if (refused !== undefined) return ProviderCall.refuse(listener, refused)
    const watched = new Watched(limits, world, listener)
    watched.begin(call(request, world, watched))
    return watched
  })
}

// Refuses a request that is too large to be sent, before its call.
//
// A body is sent as one text, and V8 has a limit for texts. Files of a long conversation reach it: no message is that long alone.
//
// - The failure is never retried: the request would fail the same way.
// - Texts, files, arguments and results of tools are counted as JSON has them, with its escapes. What the format adds is not counted: the
//   body is a little larger.
// - Escapes are looked for only where the request could be too large with them: no request of 89 million characters is read for that.

/** The most characters of a request: those of V8's longest text. */
export const MOST_CHARACTERS = 2 ** 29 - 24

/** The failure of a request that is too large; `undefined`: it is not. */
export const tooLarge = ({
  messages,
  system
}: Pick<Provider.ProviderRequest, "messages" | "system">): Failure.ProviderFailure | undefined => {
  const size = sizeOf(messages, system, (value) => JsonShape.measure(value).characters)
  if (size * LONGEST_ESCAPE <= MOST_CHARACTERS) return undefined
  const written = sizeOf(messages, system, writtenLengthOf)
  if (written <= MOST_CHARACTERS) return undefined
  const message = `The request has ${written} characters of at most ${MOST_CHARACTERS}. Begin a new conversation.`
  return new Failure.ProviderFailure({
    failure: { reason: "bad-request", code: "request-too-large", message, retryable: false }
  })
}

// --- internal

/** A call whose silence is watched. */
class Watched implements ProviderCall.Listener, ProviderCall.Running {
  private readonly limits: Limits
  private readonly world: ProviderCall.World
  private readonly listener: ProviderCall.Listener
  private running: ProviderCall.Running | undefined = undefined
  /** When the consumer began to wait; absent: it does not. */
  private since: number | undefined
  /** What it has waited since the last content, before that. */
  private waitedMs = 0
  private isFirst = true
  private isOver = false
  private stop: (() => void) | undefined = undefined

  constructor(limits: Limits, world: ProviderCall.World, listener: ProviderCall.Listener) {
    this.limits = limits
    this.world = world
    this.listener = listener
    this.since = world.elapsed()
  }

  begin(running: ProviderCall.Running): void {
    this.running = running
    this.watch()
  }

  readonly events = (events: ProviderCall.Events): boolean => {
    if (events.some(isProgress)) this.reset()
    else this.waitedMs += this.waitingMs()
    this.since = undefined
    const goesOn = this.listener.events(events)
    if (goesOn) this.since = this.world.elapsed()
    return goesOn
  }

  readonly end = (end: ProviderCall.End): void => {
    if (this.settle()) this.listener.end(end)
  }

  readonly progress = (): void => {
    this.reset()
    if (this.since !== undefined) this.since = this.world.elapsed()
    this.listener.progress()
  }

  readonly more = (): void => {
    this.since = this.world.elapsed()
    this.running?.more()
    this.watch()
  }

  readonly cancel = (): void => {
    if (this.settle()) this.running?.cancel()
  }

  private reset(): void {
    this.isFirst = false
    this.waitedMs = 0
  }

  private waitingMs(): number {
    return this.since === undefined ? 0 : this.world.elapsed() - this.since
  }

  /** Limits.L5 */
  private watch(): void {
    if (this.since !== undefined && !this.isOver && this.stop === undefined) this.check()
  }

  private readonly check = (): void => {
    const { firstContentMs = Infinity, idleMs = Infinity } = this.limits
    const limitMs = this.isFirst ? firstContentMs : idleMs
    const leftMs = limitMs - this.waitedMs - this.waitingMs()
    if (leftMs <= 0 && this.since !== undefined) {
      this.cancel()
      const failure = Classification.timedOut(this.isFirst ? "first-content" : "idle", limitMs)
      return this.listener.end(Exit.fail(new Failure.ProviderFailure({ failure })))
    }
    // The first content may arrive while the watchdog sleeps, so it must not sleep past the idle limit that holds from then on.
    const nextMs = Math.min(leftMs > 0 ? leftMs : limitMs, idleMs)
    this.stop = nextMs < Infinity ? Deadline.after(this.world, nextMs, this.check) : nothing
  }

  private settle(): boolean {
    if (this.isOver) return false
    this.isOver = true
    this.stop?.()
    return true
  }
}

const nothing = (): void => {}

const isProgress = (event: Provider.ProviderEvent): boolean => !Provider.isEmptyDelta(event)

type Part = Message.InputPart | Message.AssistantPart | Message.ToolResultPart

/** Of a character in JSON: `\u0000`. */
const LONGEST_ESCAPE = 6

type LengthOf = (value: Schema.Json) => number

const sizeOf = (messages: ReadonlyArray<Message.Message>, system = "", lengthOf: LengthOf): number =>
  messages.reduce((size, { content }) => size + charactersIn(content, lengthOf), lengthOf(system))

const charactersIn = (parts: ReadonlyArray<Part>, lengthOf: LengthOf): number =>
  parts.reduce((size, part) => size + charactersOf(part, lengthOf), 0)

const charactersOf = (part: Part, lengthOf: LengthOf): number => {
  if ("text" in part) return lengthOf(part.text)
  if ("data" in part) return part.data.length // base64
  if ("input" in part) return lengthOf(part.input)
  if (!("output" in part)) return 0 // a file at an address
  const { content, output } = part
  return content ? charactersIn(content, lengthOf) : lengthOf(output)
}

/** The characters of a text within a text of JSON. Another value is sent as a text of JSON by most formats. */
const writtenLengthOf: LengthOf = (value) => {
  const text = typeof value === "string" ? value : JSON.stringify(value)
  let length = text.length
  for (const character of text)
    if (SHORT_ESCAPES.includes(character)) length++
    else if (character < " ") length += LONGEST_ESCAPE - 1
  return length
}

/** The characters whose escapes have two. */
const SHORT_ESCAPES = '\b\t\n\f\r"\\'
