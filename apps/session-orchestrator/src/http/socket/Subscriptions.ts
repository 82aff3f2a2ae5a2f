/**
 * The subscriptions of one socket: each passes on the events of a conversation, or of one turn, for as long as the client stays.
 * A client that falls behind the limit of the hub is watched for again after its last event, so no event is lost (rule X3). A failure of the
 * disk, and a turn that stopped, interrupt the events for `WATCH_AGAIN`; they do not end the subscription.
 *
 * Events of different conversations wait for each other only where the client reads too slowly.
 *
 * Subscriptions.B1. A conversation, or a turn of it, has one subscription. A second one replaces the first, and begins after its own position.
 * Subscriptions.B2. A subscription that has ended sends nothing more.
 */
import { Push } from "@holdfast/kernel/host"
import { defined, type Ids } from "@holdfast/wire"
import type { SocketMessages } from "@holdfast/wire/rpc"
import type { Scope } from "effect"
import { Channel, Duration, Effect, Fiber, Pull, Stream } from "effect"
import type { ConversationNotFound, Conversations, Frame } from "../../engine/conversation/Conversations.ts"
import type { Outlet } from "../../rpc/Outlet.ts"
import * as EventStreams from "../EventStreams.ts"

/** More than a page shows, and few enough that one client cannot fill the memory. */
export const MOST_SUBSCRIPTIONS = 1_024

/** What is subscribed to. */
interface Subject {
  readonly conversationId: Ids.ConversationId
  readonly turnId?: Ids.TurnId
}

/** How the events are sent. */
interface Wanted {
  readonly after: number
  /** Bare deltas have this id. */
  readonly bare: SocketMessages.SocketResponse["id"]
}

interface Subscription {
  lastEventId: number
  fiber: Fiber.Fiber<void> | undefined
}

/** The subscriptions of one socket. */
export class Subscriptions {
  private readonly conversations: Conversations["Service"]
  private readonly output: Outlet
  private readonly scope: Scope.Scope
  private readonly byKey = new Map<string, Subscription>()

  constructor(conversations: Conversations["Service"], output: Outlet, scope: Scope.Scope) {
    this.conversations = conversations
    this.output = output
    this.scope = scope
  }

  /** Whether one more would be too many. */
  isFull(subject: Subject): boolean {
    return this.byKey.size >= MOST_SUBSCRIPTIONS && !this.byKey.has(keyOf(subject))
  }

  /** The id of the last event of a conversation that was sent; 0 before the first. */
  lastEventId(conversationId: Ids.ConversationId): number {
    return this.byKey.get(keyOf({ conversationId }))?.lastEventId ?? 0
  }

  /** Ends a subscription, if there is one (Subscriptions.B2). */
  end(subject: Subject): Effect.Effect<void> {
    const key = keyOf(subject)
    const fiber = this.byKey.get(key)?.fiber
    this.byKey.delete(key)
    return fiber === undefined ? Effect.void : Effect.asVoid(Fiber.interrupt(fiber))
  }

  /** Begins a subscription. */
  begin(subject: Subject, { after, bare }: Wanted): Effect.Effect<void> {
    const { conversations, output, scope } = this
    const { conversationId, turnId } = subject
    const key = keyOf(subject)
    const subscription: Subscription = { lastEventId: after, fiber: undefined }
    const encode = bare === undefined ? EventStreams.messages : EventStreams.bareMessages(bare)
    const events = feed({
      watch: (from) =>
        turnId === undefined
          ? conversations.watch(conversationId, from)
          : since(conversations.watchTurn(turnId, conversationId), from),
      after: () => subscription.lastEventId,
      forward: (frames) => {
        subscription.lastEventId = frames.findLast(({ id }) => id !== undefined)?.id ?? subscription.lastEventId
        return output.write(encode(frames))
      }
    }).pipe(
      Effect.catch(({ message }) => {
        const ended = { type: "unsubscribed", ...subject, code: "conversation-deleted", message } as const
        return output.send(EventStreams.ofMessages([JSON.stringify(ended)]))
      }),
      Effect.ensuring(
        Effect.sync(() => {
          if (this.byKey.get(key) === subscription) this.byKey.delete(key)
        })
      )
    )
    this.byKey.set(key, subscription)
    return Effect.map(Effect.forkIn(events, scope), (fiber) => {
      subscription.fiber = fiber
    })
  }
}

/** Time until the events are watched again after a failure of the disk. */
const WATCH_AGAIN = Duration.seconds(1)

/** What a client is sent. */
interface Feed {
  /** The events after an id. */
  readonly watch: (after: number) => ReturnType<Conversations["Service"]["watch"]>
  /** The id of the last event that the client was sent. */
  readonly after: () => number
  /** Sends events. Returns an effect that has to run before the next events, if there is one. */
  readonly forward: (frames: ReadonlyArray<Frame>) => Effect.Effect<void> | undefined
}

/** Feeds a client until its events end; those of a whole conversation never do. Fails if the conversation is deleted. */
export const feed = ({ after, forward, watch }: Feed): Effect.Effect<void, ConversationNotFound> => {
  const again = ({ message }: { readonly message: string }) =>
    Effect.andThen(
      Effect.logDebug(`The events are interrupted, and watched again in a second. ${message}`),
      Effect.as(Effect.sleep(WATCH_AGAIN), false)
    )
  return Effect.scopedWith((scope) =>
    Effect.flatMap(Channel.toPullScoped(Stream.toChannel(watch(after())), scope), (pull) => Push.forEach(pull, forward))
  ).pipe(
    Pull.catchDone(() => Effect.succeed(true)),
    Effect.catchTags({
      SubscriberTooSlow: () => Effect.succeed(false),
      StorageError: again,
      TurnStopped: again
    }),
    Effect.repeat({ until: (isOver) => isOver }),
    Effect.asVoid
  )
}

// --- internal

const keyOf = ({ conversationId, turnId }: Subject): string => JSON.stringify(defined({ conversationId, turnId }))

/** The events after an id. A turn's stream begins with the turn, so a client that has some of it gets the others. */
const since = <E>(frames: Stream.Stream<Frame, E>, after: number): Stream.Stream<Frame, E> =>
  after === 0 ? frames : Stream.filter(frames, ({ id }) => id === undefined || id > after)
