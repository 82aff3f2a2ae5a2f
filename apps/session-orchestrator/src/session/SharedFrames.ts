/**
 * Marks arrays of frames that several subscribers may get, so that transports cache their encoding.
 *
 * Most arrays go to one subscriber: caching each would cost more than the rest of a read.
 */
import type { Frame } from "../conversation/Conversations.ts"

/** Characters. Below this a copy for each client costs less than shared bytes (Encoding.E2). */
export const LONG = 8 * 1024

const marked = new WeakSet<ReadonlyArray<Frame>>()

/** The same array, marked. */
export const mark = (frames: ReadonlyArray<Frame>): ReadonlyArray<Frame> => {
  marked.add(frames)
  return frames
}

/** Whether frames have so much text that a copy for each subscriber costs more than a chunk of their own. */
export const isLong = (frames: ReadonlyArray<Frame>): boolean => {
  let characters = 0
  return frames.some(({ json }) => (characters += json.length) >= LONG)
}

/** Whether several subscribers may get this array. */
export const isMarked = (frames: ReadonlyArray<Frame>): boolean => marked.has(frames)
