/**
 * One conversation's events, from the turn that runs to whoever watches.
 *
 * H1. Every subscriber gets every event after its subscription, in order, or is told that it was too slow. A slow one never
 *     holds up the turn, nor the others.
 * H2. An event is turned into text once, however many watch, and not at all when nobody does.
 * H3. What a turn says within one read of its provider reaches a subscriber as one chunk: it is pushed to (`Push`), or resumed, in a
 *     microtask, when that read has been dealt with, and has written it when that returns. Of many subscribers the first are; the others
 *     follow in later turns of the event loop.
 * H4. A turn that is run again tells what it told before: what has passed here once does not pass again.
 */
import { Push, type TurnStopped } from "@holdfast/kernel"
import type { Ids, TurnEvent } from "@holdfast/wire"
import { Array as Arr, Cause, Effect, type Pull } from "effect"
import type { StoredEvent } from "../storage/Store.ts"
import { Backlog, countedOf, MAX_BEHIND, type Reader } from "./Backlog.ts"
import { type Frame, SubscriberTooSlow } from "../conversation/Conversations.ts"
import { InProgress } from "./InProgress.ts"
import { Recent } from "./Recent.ts"

/** How many subscribers are written to in one turn of the event loop: everybody else's requests wait that long. */
const MOST_AT_ONCE = 64

export class Hub {
  readonly inProgress = new InProgress()
  readonly recent = new Recent()
  private readonly subscribers = new Set<Subscriber>()
  private readonly backlog = new Backlog()
  private isWaking = false
  /** Something has come since the first of them was woken. */
  private isMissed = false
  /** The subscribers that are still to be woken. */
  private waking: IterableIterator<Subscriber> | undefined = undefined
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
    for (const stored of events) {
      const { event, json, id } = stored
      if (this.last !== undefined && id <= this.last) continue // H4
      this.last = id
      this.recent.persisted(stored)
      this.inProgress.persisted(event)
      this.push({ event, json, id })
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
    this.recent.clear()
    this.last = undefined
  }

  /** Subscribes to one turn, or to all; what is in progress comes first. The subscriber must be closed. */
  subscribe(turnId?: Ids.TurnId): Subscriber {
    const subscriber = new Subscriber(
      this.backlog,
      this.inProgress.frames(),
      (self) => this.subscribers.delete(self),
      turnId
    )
    this.subscribers.add(subscriber)
    return subscriber
  }

  private tell(event: TurnEvent.TransientEvent): void {
    if (this.subscribers.size === 0) return
    this.push({ event, json: JSON.stringify(event), id: undefined })
  }

  private push(frame: Frame): void {
    this.backlog.push(frame)
    this.isMissed = true
    if (this.isWaking) return
    this.isWaking = true
    soon(this.wake)
  }

  /** Wakes subscribers, `MOST_AT_ONCE` of them in one turn of the event loop; what comes meanwhile they get with the rest. */
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
type Failure = SubscriberTooSlow | TurnStopped.TurnStopped

/** Takes what is pushed (`Push`). */
interface Consumer {
  readonly take: (chunk: Chunk) => boolean
  readonly over: () => void
}

export class Subscriber {
  /** The turn that it watches; `undefined` for one that watches the conversation. */
  readonly turnId: Ids.TurnId | undefined
  private readonly backlog: Backlog
  private readonly reader: Reader
  /** What it gets before what is in the backlog. */
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

  /** Frames may have come into the backlog. */
  arrived(): void {
    if (this.isEmpty) return
    const own = this.own.reduce((sum, frame) => sum + countedOf(frame), 0)
    if (this.backlog.behind(this.reader) + own <= MAX_BEHIND) return this.ring()
    // What it is behind is not worth its memory any more.
    this.own = []
    this.backlog.leave(this.reader)
    this.fail(new SubscriberTooSlow({ message: TOO_SLOW }))
  }

  /** Ends the subscription, behind what has come until now. */
  fail(failure: Failure): void {
    this.failure ??= failure
    this.own = this.take()
    this.close()
    soon(this.ring)
  }

  /** Everything that has come since the last time; waits for the next when that is nothing. */
  readonly pull: Pull.Pull<Chunk, Failure> = Push.attach(
    Effect.suspend(() => (this.isWaiting ? Effect.andThen(this.arrival, this.taken) : this.taken)),
    () => (this.isWaiting ? this.push : undefined)
  )

  /** What is there now, without waiting. */
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

const settled = Promise.resolve()

/** Runs in a microtask, without the asynchronous context that `queueMicrotask` makes for each. */
const soon = (run: () => void): void => void settled.then(run)

const TOO_SLOW =
  "This client is too far behind and was let go of. Connect again with the id of the last event that came."
