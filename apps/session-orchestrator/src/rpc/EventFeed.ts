/**
 * Passes the events of a conversation, or of one turn, to one client for as long as the client stays.
 *
 * EventFeed.F1. A client that falls behind the limit of the hub is watched for again after its last event, so no event is lost (rule X3).
 * EventFeed.F2. A failure of the disk, and a turn that stopped, interrupt the events for `WATCH_AGAIN`; they do not end the feed.
 */
import { Push } from "@holdfast/kernel/host"
import { Channel, Duration, Effect, Pull, Stream } from "effect"
import type { ConversationNotFound, Conversations, Frame } from "../conversation/Conversations.ts"

/** Time until the events are watched again after a failure of the disk. */
const WATCH_AGAIN = Duration.seconds(1)

/** One feed. */
export interface Options {
  /** The events after an id. */
  readonly watch: (after: number) => ReturnType<Conversations["Service"]["watch"]>
  /** The id of the last event that the client was sent. */
  readonly after: () => number
  /** Sends events. Returns an effect that has to run before the next events, if there is one. */
  readonly forward: (frames: ReadonlyArray<Frame>) => Effect.Effect<void> | undefined
  /** Logs an interruption. */
  readonly onInterruption: (message: string) => Effect.Effect<void>
}

/** Runs the feed until its events end; those of a whole conversation never do. Fails if the conversation is deleted. */
export const run = ({ after, forward, onInterruption, watch }: Options): Effect.Effect<void, ConversationNotFound> => {
  const again = ({ message }: { readonly message: string }) =>
    Effect.andThen(
      onInterruption(`The events are interrupted, and watched again in a second. ${message}`),
      Effect.as(Effect.sleep(WATCH_AGAIN), false)
    )
  return Effect.scopedWith((scope) =>
    Effect.flatMap(Channel.toPullScoped(Stream.toChannel(watch(after())), scope), (pull) => Push.forEach(pull, forward))
  ).pipe(
    Pull.catchDone(() => Effect.succeed(true)),
    Effect.catchTags({
      SubscriberTooSlow: () => Effect.succeed(false), // EventFeed.F1
      StorageError: again, // EventFeed.F2
      TurnStopped: again
    }),
    Effect.repeat({ until: (isOver) => isOver }),
    Effect.asVoid
  )
}
