/**
 * Passes one conversation's events from the running turn to its subscribers.
 *
 * Hub.H1. Every subscriber gets every event after its subscription, in order, or the error `SubscriberTooSlow`. A slow subscriber never
 *     delays the turn or the others.
 * Hub.H4. A turn that is run again emits its events again: an event that has passed here once does not pass again.
 * Hub.H5. Content counts as received as soon as a subscriber of its turn has been given it, read or not; so does a runner that passes it on.
 *     Content that was withdrawn is given to no later subscriber (rule X7).
 *
 * An event is encoded once, however many subscribers there are, and not encoded without subscribers. Events from one read of the provider reach
 * a subscriber as one chunk: a microtask resumes the subscriber or pushes to it (`Push`) after that read is processed, and the chunk is written
 * when the microtask returns. With many subscribers that holds for the first; the others follow in later turns of the event loop.
 */
import type { TurnStopped } from "@holdfast/kernel"
import { Push } from "@holdfast/kernel/host"
import type { Ids, TurnEvent } from "@holdfast/wire"
import { Array as Arr, Cause, Effect, type Pull } from "effect"
import type { StoredEvent } from "../../storage/Stored.ts"
import { Backlog, countedOf, MAX_BEHIND, type Reader } from "./Backlog.ts"
import { type ConversationNotFound, type Frame, SubscriberTooSlow } from "../conversation/Conversations.ts"
import { InProgress } from "./InProgress.ts"

/** Most subscribers written to in one turn of the event loop: all other requests wait that long. */
const MOST_AT_ONCE = 64

/** The events of one conversation and their subscribers. */
export class Hub {
  readonly inProgress = new InProgress()
  /** Absent until the first subscription: most parked turns are never watched. */
  private audience: Audience | undefined = undefined
  private last: number | undefined = undefined
  /** A subscriber has been given content of the step in progress (Hub.H5). */
  private isReceived = false

  /** The id of the newest persisted event that has passed; `undefined` before the first. */
  get lastId(): number | undefined {
    return this.last
  }

  /** Whether there are subscribers. */
  get isWatched(): boolean {
    return this.audience !== undefined && this.audience.size > 0
  }

  /** Passes a transient event on. */
  live(event: TurnEvent.TransientEvent): void {
    this.inProgress.live(event)
    this.emit(event)
    if (event.type === "step-start") this.isReceived = false
    else if (!this.isReceived && isContent(event)) this.isReceived = this.audience?.watches(event.turnId) === true
  }

  /**
   * Takes back the content of the turn's step in progress if no subscriber has been given any of it; returns whether none has (Hub.H5).
   * The answer and its effect are one synchronous step, so no subscriber comes between them.
   */
  withdraw(): boolean {
    if (this.isReceived) return false
    this.inProgress.withdraw()
    return true
  }

  /** The wait in progress continues beyond its time, to `until` (epoch milliseconds): its event is sent again with the new time. */
  held(until: number): void {
    const event = this.inProgress.hold(until)
    if (event !== undefined) this.emit(event)
  }

  /** Passes on events that are on disk by now. */
  persisted(events: ReadonlyArray<StoredEvent>): void {
    for (const { event, id, json } of events) {
      if (this.last !== undefined && id <= this.last) continue // Hub.H4
      this.last = id
      this.inProgress.persisted(event)
      this.audience?.push({ event, json, id })
    }
  }

  /** Passes on events of a turn that does not run: they end nothing of the turn that does. */
  beside(events: ReadonlyArray<StoredEvent>): void {
    for (const { event, id, json } of events) {
      if (this.last !== undefined && id <= this.last) continue // Hub.H4
      // The turn that runs may still have to repeat its events.
      if (this.last !== undefined) this.last = id
      this.audience?.push({ event, json, id })
    }
  }

  /**
   * Takes note of events that were on disk before this process ran their turn: watchers read them there. If a wait is in progress, they
   * precede it, and the wait that was emitted stays in progress (Hub.H4).
   */
  repeated(events: ReadonlyArray<TurnEvent.PersistedEvent>): void {
    if (this.last !== undefined || this.inProgress.retry !== undefined) return
    for (const event of events) this.inProgress.persisted(event)
  }

  /**
   * A turn has stopped unsealed. Its events in progress are void; watchers of the turn or of the whole conversation get the error, and
   * watchers of another turn continue.
   */
  stopped(turnId: Ids.TurnId, error: TurnStopped.TurnStopped): void {
    this.restarted()
    this.audience?.fail(error, turnId)
  }

  /** The conversation was deleted, or is another process's: its watchers get the error behind the events that have passed. */
  ended(error: ConversationNotFound | TurnStopped.TurnStopped): void {
    this.audience?.fail(error)
  }

  /** The turn is run again from its records: its events in progress are void. */
  restarted(): void {
    this.inProgress.reset()
    this.last = undefined
  }

  /** Subscribes to one turn, or to all; events in progress come first. The subscriber must be closed. */
  subscribe(turnId?: Ids.TurnId): Subscriber {
    this.audience ??= new Audience()
    const subscriber = this.audience.add(this.inProgress.frames(), turnId)
    const { contentOf } = this.inProgress
    if (contentOf !== undefined && subscriber.watches(contentOf)) this.isReceived = true
    return subscriber
  }

  private emit(event: TurnEvent.TransientEvent): void {
    if (this.isWatched) this.audience?.push({ event, json: JSON.stringify(event), id: undefined })
  }
}

/** The subscribers of one conversation, and the frames that they have not taken. */
class Audience {
  private readonly subscribers = new Set<Subscriber>()
  private readonly backlog = new Backlog()
  private isWaking = false
  /** An event arrived after the first subscriber was woken. */
  private isMissed = false
  /** The subscribers that are still to be woken. */
  private waking: IterableIterator<Subscriber> | undefined = undefined

  get size(): number {
    return this.subscribers.size
  }

  add(inProgress: ReadonlyArray<Frame>, turnId: Ids.TurnId | undefined): Subscriber {
    const subscriber = new Subscriber(this.backlog, inProgress, (self) => this.subscribers.delete(self), turnId)
    this.subscribers.add(subscriber)
    return subscriber
  }

  /** Whether a subscriber watches this turn. */
  watches(turnId: Ids.TurnId): boolean {
    for (const subscriber of this.subscribers) if (subscriber.watches(turnId)) return true
    return false
  }

  /** Ends the subscriptions to a turn, or all. */
  fail(failure: Failure, turnId?: Ids.TurnId): void {
    for (const subscriber of this.subscribers) {
      if (turnId === undefined || subscriber.watches(turnId)) subscriber.fail(failure)
    }
  }

  push(frame: Frame): void {
    if (this.subscribers.size === 0) return
    this.backlog.push(frame)
    this.isMissed = true
    if (this.isWaking) return
    this.isWaking = true
    soon(this.wake)
  }

  /** Wakes subscribers, at most `MOST_AT_ONCE` per turn of the event loop. Events that arrive meanwhile reach them with the rest. */
  private readonly wake = (): void => {
    if (this.waking === undefined) {
      this.waking = this.subscribers.values()
      this.isMissed = false
    }
    for (let n = 0; n < MOST_AT_ONCE; n++) {
      const { done, value } = this.waking.next()
      if (done === true) {
        this.waking = undefined
        this.isWaking = this.isMissed
        if (this.isMissed) setImmediate(this.wake)
        return
      }
      value.arrived()
    }
    setImmediate(this.wake)
  }
}

type Chunk = Arr.NonEmptyReadonlyArray<Frame>
type Failure = SubscriberTooSlow | TurnStopped.TurnStopped | ConversationNotFound

/** Takes pushed chunks (`Push`). */
interface Consumer {
  readonly take: (chunk: Chunk) => boolean
  readonly over: () => void
}

/** One client's subscription to a hub. */
export class Subscriber {
  /** The turn that it watches; `undefined` for the whole conversation. */
  readonly turnId: Ids.TurnId | undefined
  private readonly backlog: Backlog
  private readonly reader: Reader
  /** Frames that it gets before those of the backlog. */
  private own: ReadonlyArray<Frame>
  private wake: (() => void) | undefined = undefined
  private consumer: Consumer | undefined = undefined
  private failure: Failure | undefined = undefined
  private readonly leave: (self: Subscriber) => void

  constructor(
    backlog: Backlog,
    inProgress: ReadonlyArray<Frame>,
    leave: (self: Subscriber) => void,
    turnId?: Ids.TurnId
  ) {
    this.backlog = backlog
    this.reader = backlog.join()
    this.own = inProgress
    this.leave = leave
    this.turnId = turnId
  }

  /** Whether it watches this turn. */
  watches(turnId: Ids.TurnId): boolean {
    return this.turnId === undefined || this.turnId === turnId
  }

  /** Frames may have come into the backlog. */
  arrived(): void {
    if (this.isEmpty) return
    const own = this.own.reduce((sum, frame) => sum + countedOf(frame), 0)
    if (this.backlog.behind(this.reader) + own <= MAX_BEHIND) return this.ring()
    // Its unread frames are not worth their memory any more.
    this.own = []
    this.backlog.leave(this.reader)
    this.fail(new SubscriberTooSlow({ message: TOO_SLOW }))
  }

  /** Ends the subscription with an error, behind the frames that have arrived. */
  fail(failure: Failure): void {
    this.failure ??= failure
    this.own = this.take()
    this.close()
    soon(this.ring)
  }

  /** Pulls all frames since the last pull; waits for the next frame if there are none. */
  readonly pull: Pull.Pull<Chunk, Failure> = Push.attach(
    Effect.suspend(() => (this.isWaiting ? Effect.andThen(this.arrival, this.taken) : this.taken)),
    () => (this.isWaiting ? this.push : undefined)
  )

  /** Takes the frames that are there now, without waiting. */
  take(): ReadonlyArray<Frame> {
    const { own } = this
    this.own = []
    const since = this.backlog.take(this.reader)
    return since.length === 0 ? own : own.length === 0 ? since : [...own, ...since]
  }

  close(): void {
    this.leave(this)
    this.backlog.leave(this.reader)
  }

  private get isEmpty(): boolean {
    return this.own.length === 0 && !this.backlog.isBehind(this.reader)
  }

  private get isWaiting(): boolean {
    return this.isEmpty && this.failure === undefined
  }

  private takeSome(): ReadonlyArray<Frame> {
    const { own } = this
    if (own.length === 0) return this.backlog.takeSome(this.reader)
    this.own = []
    return own
  }

  private readonly push: Push.Push<Chunk> = (take, over) => {
    const consumer = { take, over }
    this.consumer = consumer
    return () => {
      if (this.consumer === consumer) this.consumer = undefined
    }
  }

  private pushTo(consumer: Consumer): void {
    while (this.consumer === consumer && !this.isWaiting) {
      const frames = this.takeSome()
      const isGiven = Arr.isReadonlyArrayNonEmpty(frames)
      if (isGiven && consumer.take(frames)) continue
      if (this.consumer === consumer) this.consumer = undefined
      if (!isGiven) consumer.over()
    }
  }

  private readonly taken: Pull.Pull<Chunk, Failure> = Effect.suspend((): Pull.Pull<Chunk, Failure> => {
    const frames = this.takeSome()
    if (Arr.isReadonlyArrayNonEmpty(frames)) return Effect.succeed(frames)
    return this.failure === undefined ? Cause.done() : Effect.fail(this.failure)
  })

  private readonly arrival: Effect.Effect<void> = Effect.callback((resume) => {
    this.wake = () => resume(Effect.void)
    return Effect.sync(() => {
      this.wake = undefined
    })
  })

  private readonly ring = (): void => {
    const { consumer, wake } = this
    if (consumer !== undefined) return this.pushTo(consumer)
    this.wake = undefined
    wake?.()
  }
}

// --- internal

const isContent = ({ type }: TurnEvent.TransientEvent): boolean =>
  type === "text-delta" || type === "reasoning-delta" || type === "file"

const settled = Promise.resolve()

/** Runs in a microtask, without the asynchronous context that `queueMicrotask` makes for each. */
const soon = (run: () => void): void => void settled.then(run)

const TOO_SLOW =
  "This client fell too far behind and was disconnected. Connect again with the id of the last event that it received."
