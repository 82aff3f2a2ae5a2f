/** Frames on their way to another runner, as messages. */
import { Push } from "@holdfast/kernel/host"
import { Array as Arr, Channel, Effect, type Pull, Stream } from "effect"
import type { Frame } from "../conversation/Conversations.ts"
import { AnswerablePull } from "./AnswerablePull.ts"
import type { Batch } from "./ConversationEntity.ts"
import * as Frames from "./Frames.ts"
import * as Owner from "./Owner.ts"

/** One message for the frames that have come since the last one, and empty ones by which the owner is known to be there (`Owner.O6`). */
export const of = <E>(frames: Stream.Stream<Frame, E>): Stream.Stream<Batch, E> =>
  Stream.fromChannel(
    Channel.fromTransform((_upstream, scope) =>
      Effect.gen(function* () {
        let opened: Pull.Pull<ReadonlyArray<Frame>, E> | undefined
        const open = Effect.flatMap(Channel.toPullScoped(Stream.toChannel(frames), scope), (pull) => (opened = pull))
        const source = Push.attach(
          Effect.suspend(() => opened ?? open),
          () => opened && Push.of(opened)
        )
        const answerable = new AnswerablePull<ReadonlyArray<Frame>, E, void>(source, scope)
        const sign = Effect.sync(() => answerable.answer(Effect.succeed(NO_FRAMES)))
        yield* Effect.forkIn(Effect.forever(Effect.delay(sign, Owner.SIGN_INTERVAL)), scope)
        // The subscription may wait for a database, and the first sign does not.
        yield* answerable.begin
        let isFirst = true
        return Effect.suspend((): Pull.Pull<Arr.NonEmptyReadonlyArray<Batch>, E> => {
          if (!isFirst) return Effect.map(answerable.next, (chunk) => Arr.of(Frames.toBatch(chunk)))
          isFirst = false
          return Effect.succeed(SIGN)
        })
      })
    )
  )

// --- internal

const NO_FRAMES: ReadonlyArray<Frame> = []

const SIGN = Arr.of<Batch>([])
