/**
 * One conversation's events, from the turn that runs to whoever watches.
 *
 * H1. Every subscriber gets every event after its subscription, in order, or is told that it was too slow. A slow one never
 *     holds up the turn, nor the others.
 * H2. An event is turned into text once, however many watch, and not at all when nobody does.
 * H3. What a turn says within one read of its provider reaches a subscriber as one chunk: it is woken in a microtask, when
 *     that read has been dealt with.
 * H4. A turn that is run again tells what it told before: what has passed here once does not pass again.
 */
import type { TurnStopped } from "@holdfast/kernel"
import type { Ids, TurnEvent } from "@holdfast/wire"
import { Cause, Effect, type Pull } from "effect"
import type { StoredEvent } from "../storage/Store.ts"
import { type Frame, SubscriberTooSlow } from "./Conversations.ts"
import { InProgress } from "./InProgress.ts"

/** What one subscriber may be behind, in characters of JSON: some minutes of tokens, and a thousand such still fit in memory. */
export const MAX_BEHIND = 4 * 1024 * 1024

/** What one event counts for at most: a large one by itself must not send away a client that keeps up. */
const MAX_COUNTED = MAX_BEHIND / 4

export class Hub {
  readonly inProgress = new InProgress()
  private readonly subscribers = new Set<Subscriber>()
  private last: number | undefined = undefined

  /** The id of the newest persisted event that has passed; `undefined` before the first. */
  get lastId(): number | undefined {
    return this.last
  }

  /** Whether anybody watches. */
  get isWatched(): boolean {
    return this.subscribers.size > 0
  }

  /** Passes a transient event on. */
  live(event: TurnEvent.TransientEvent): void {
    this.inProgress.live(event)
    this.tell(event)
  }

  /** The wait in progress goes on beyond its time: whoever watches is told how long. */
  held(until: number): void {
    const event = this.inProgress.hold(until)
    if (event !== undefined) this.tell(event)
  }

  /** Passes on events that are on disk by now. */
  persisted(events: ReadonlyArray<StoredEvent>): void {
    for (const { event, json, id } of events) {
      if (this.last !== undefined && id <= this.last) continue // H4
      this.last = id
      this.inProgress.persisted(event)
      for (const subscriber of this.subscribers) subscriber.push({ event, json, id })
    }
  }

  /**
   * Hears of events that were on disk before this process ran their turn: who watches reads them there. Where a wait is in
   * progress they lie before it, and it goes on being what was told (H4).
   */
  repeated(events: ReadonlyArray<TurnEvent.PersistedEvent>): void {
    if (this.last !== undefined || this.inProgress.retry !== undefined) return
    for (const event of events) this.inProgress.persisted(event)
  }

  /**
   * A turn has stopped unsealed. What was in progress of it is void; those who watch it, or the conversation, are told, and
   * those who watch another turn of it go on.
   */
  stopped(turnId: Ids.TurnId, error: TurnStopped.TurnStopped): void {
    this.again()
    for (const subscriber of this.subscribers) {
      if (subscriber.turnId === undefined || subscriber.turnId === turnId) subscriber.fail(error)
    }
  }

  /** The turn is run again from its records: what was in progress of it is void. */
  again(): void {
    this.inProgress.reset()
    this.last = undefined
  }

  /** Subscribes to one turn, or to all; what is in progress comes first. The subscriber must be closed. */
  subscribe(turnId?: Ids.TurnId): Subscriber {
    const subscriber = new Subscriber((self) => this.subscribers.delete(self), turnId)
    for (const event of this.inProgress.events()) {
      subscriber.push({ event, json: JSON.stringify(event), id: undefined })
    }
    this.subscribers.add(subscriber)
    return subscriber
  }

  private tell(event: TurnEvent.TransientEvent): void {
    if (this.subscribers.size === 0) return
    const frame: Frame = { event, json: JSON.stringify(event), id: undefined }
    for (const subscriber of this.subscribers) subscriber.push(frame)
  }
}

type Chunk = readonly [Frame, ...ReadonlyArray<Frame>]
type Failure = SubscriberTooSlow | TurnStopped.TurnStopped

export class Subscriber {
  /** The turn that it watches; `undefined` for one that watches the conversation. */
  readonly turnId: Ids.TurnId | undefined
  private frames: Array<Frame> = []
  private behind = 0
  private wake: (() => void) | undefined = undefined
  private isWaking = false
  private failure: Failure | undefined = undefined
  private readonly leave: (self: Subscriber) => void

  constructor(leave: (self: Subscriber) => void, turnId?: Ids.TurnId) {
    this.leave = leave
    this.turnId = turnId
  }

  push(frame: Frame): void {
    this.behind += Math.min(frame.json.length, MAX_COUNTED)
    if (this.behind > MAX_BEHIND) {
      this.frames = []
      return this.fail(new SubscriberTooSlow({ message: TOO_SLOW }))
    }
    this.frames.push(frame)
    this.ring()
  }

  /** Ends the subscription, behind what has come until now. */
  fail(failure: Failure): void {
    this.failure ??= failure
    this.close()
    this.ring()
  }

  /** Everything that has come since the last time; waits for the next when that is nothing. */
  readonly pull: Pull.Pull<Chunk, Failure> = Effect.suspend(() =>
    this.frames.length === 0 && this.failure === undefined ? Effect.andThen(this.arrival, this.taken) : this.taken
  )

  /** What is there now, without waiting. */
  take(): ReadonlyArray<Frame> {
    const frames = this.frames
    this.frames = []
    this.behind = 0
    return frames
  }

  close(): void {
    this.leave(this)
  }

  private readonly taken: Pull.Pull<Chunk, Failure> = Effect.suspend((): Pull.Pull<Chunk, Failure> => {
    const [first, ...rest] = this.take()
    if (first !== undefined) return Effect.succeed([first, ...rest] as const)
    return this.failure === undefined ? Cause.done() : Effect.fail(this.failure)
  })

  private ring(): void {
    if (this.wake === undefined || this.isWaking) return
    this.isWaking = true
    queueMicrotask(this.onMicrotask)
  }

  private readonly arrival: Effect.Effect<void> = Effect.callback((resume) => {
    this.wake = () => resume(Effect.void)
    return Effect.sync(() => {
      this.wake = undefined
    })
  })

  private readonly onMicrotask = (): void => {
    this.isWaking = false
    const wake = this.wake
    this.wake = undefined
    wake?.()
  }
}

// --- internal

const TOO_SLOW =
  "This client is too far behind and was let go of. Connect again with the id of the last event that came."
