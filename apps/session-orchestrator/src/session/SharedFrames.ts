/**
 * Marks arrays of frames that several subscribers may get, so that transports cache their encoding.
 *
 * Most arrays go to one subscriber: caching each would cost more than the rest of a read.
 */
import type { Frame } from "../conversation/Conversations.ts"

const marked = new WeakSet<ReadonlyArray<Frame>>()

/** The same array, marked. */
export const mark = (frames: ReadonlyArray<Frame>): ReadonlyArray<Frame> => {
  marked.add(frames)
  return frames
}

/** Whether several subscribers may get this array. */
export const isMarked = (frames: ReadonlyArray<Frame>): boolean => marked.has(frames)
