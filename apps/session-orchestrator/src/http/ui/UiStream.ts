/**
 * Turns the events of a turn into a UI message stream of the AI SDK (`uiMessageStream` of @holdfast/ai-sdk), as server-sent events.
 *
 * UiStream.S1. Events that are pushed (`Push`) stay pushed: text costs no fiber here.
 */
import * as UiMessageParts from "@holdfast/ai-sdk/parts"
import { Push } from "@holdfast/kernel/host"
import { Sse } from "@holdfast/wire"
import { UiMessagesGroup } from "@holdfast/wire/api"
import { Array as Arr, Effect, Stream } from "effect"
import type { Frame } from "../../conversation/Conversations.ts"

/** How such a stream is sent. A stream that breaks off is cut, and `useChat` takes that for a disconnect. */
export const format = {
  contentType: Sse.CONTENT_TYPE,
  headers: UiMessagesGroup.STREAM_HEADER,
  keepAlive: Sse.KEEP_ALIVE,
  endless: false,
  encode: (texts: ReadonlyArray<string>) => texts.join("")
} as const

/** The stream of one turn, from its first event to its `turn-end`. */
export const ofTurn = <E>(frames: Stream.Stream<Frame, E>): Stream.Stream<string, E> =>
  Stream.transformPull(frames, (pull) =>
    Effect.sync(() => {
      let state = UiMessageParts.initial
      const texts = (chunk: ReadonlyArray<Frame>): Arr.NonEmptyReadonlyArray<string> | undefined => {
        const all: Array<string> = []
        for (const { event } of chunk) {
          const [after, parts] = UiMessageParts.next(state, event)
          state = after
          for (const part of parts) all.push(Sse.frame(JSON.stringify(part)))
          if (event.type === "turn-end") all.push(DONE)
        }
        return Arr.isReadonlyArrayNonEmpty(all) ? all : undefined
      }
      const next: typeof mapped = Effect.flatMap(pull, (chunk) => {
        const some = texts(chunk)
        return some === undefined ? next : Effect.succeed(some)
      })
      const mapped: Effect.Effect<Arr.NonEmptyReadonlyArray<string>, Effect.Error<typeof pull>> = next
      return Push.through(mapped, pull, texts) // UiStream.S1
    })
  )

// --- internal

/** The last frame, by which the AI SDK knows the end. */
const DONE = Sse.frame("[DONE]")
